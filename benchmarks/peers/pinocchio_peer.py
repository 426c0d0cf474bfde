"""Pinocchio: the articulated-body algorithm on trees, proximal constraint dynamics on loops, motions with SciPy.

The articulated-body algorithm is measured on batches of states inside the library (`abaInParallel` on one thread), so
that times do not include calls from Python; `calls` measures it with a call from Python for each evaluation.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np
import pinocchio as pin
from scipy.integrate import solve_ivp

import quirk

from ..measure import Task
from .pinocchio_model import PinocchioModel
from .tree import disagreement

NAME = "Pinocchio"
BATCH = 64  # states for each call: few enough that they stay in the caches

# constraintDynamics solves redundant ladders to 1e-12 or better after two to four proximal iterations, for any mu from
# 1e-10 to 1e-4. lcaba is far quicker but reaches 1e-9 for no mu within twenty iterations: these are its quickest.
LOOP_SETTINGS = {
    "constraintDynamics": {"absolute_accuracy": 1e-12, "relative_accuracy": 1e-12, "mu": 1e-10, "max_iter": 10},
    "lcaba": {"absolute_accuracy": 1e-12, "relative_accuracy": 1e-12, "mu": 1e-6, "max_iter": 2},
}


def evaluations(system: quirk.System) -> Task:
    """Return the task of evaluating the accelerations of a tree, by abaInParallel on one thread."""
    peer = PinocchioModel(system)
    pool = pin.ModelPool(peer.model, 1)
    q, v, tau = (np.asfortranarray(np.repeat(x[:, None], BATCH, axis=1)) for x in (peer.q, peer.v, peer.tau))
    result = np.asfortranarray(np.zeros_like(v))

    def run(count: int) -> None:
        for _ in range(count // BATCH):
            pin.abaInParallel(1, pool, q, v, tau, result)
        if rest := count % BATCH:
            pin.abaInParallel(1, pool, q[:, :rest], v[:, :rest], tau[:, :rest], result[:, :rest])

    return run


def calls(system: quirk.System) -> Task:
    """Return the task of evaluating the accelerations of a tree by separate calls of `pin.aba` from Python."""
    peer = PinocchioModel(system)
    aba, arguments = pin.aba, (peer.model, peer.data, peer.q, peer.v, peer.tau, pin.Convention.WORLD)

    def run(count: int) -> None:
        for _ in range(count):
            aba(*arguments)

    return run


def overhead() -> Task:
    """Return the task of calling `pin.aba` from Python on a model without bodies, which measures the cost of a call."""
    model = pin.Model()
    data, nothing = model.createData(), np.zeros(0)
    aba, world = pin.aba, pin.Convention.WORLD

    def run(count: int) -> None:
        for _ in range(count):
            aba(model, data, nothing, nothing, nothing, world)

    return run


def loop_evaluations(system: quirk.System, algorithm: str = "constraintDynamics") -> Task:
    """Return the task of evaluating the accelerations of a mechanism with loops.

    Parameters
    ----------
    system : quirk.System
    algorithm : "constraintDynamics" or "lcaba"
    """
    evaluate = _loop_evaluation(PinocchioModel(system), algorithm)

    def run(count: int) -> None:
        for _ in range(count):
            evaluate()

    return run


def model_error(system: quirk.System) -> float:
    """Return the difference of the translated tree's accelerations from QuIRK's, from the mass matrix of the tree.

    The mass matrix is used because the articulated-body algorithm loses digits on long ball chains: see `error`.
    """
    peer = PinocchioModel(system)
    bias = pin.nonLinearEffects(peer.model, peer.data, peer.q, peer.v).copy()
    upper = np.triu(pin.crba(peer.model, peer.data, peer.q))
    mass = upper + np.triu(upper, 1).T
    return disagreement(system, peer.accelerations(peer.q, peer.v, np.linalg.solve(mass, -bias)))


def error(system: quirk.System) -> float:
    """Return the difference of a tree's accelerations by `pin.aba` from QuIRK's, relative to the largest one."""
    peer = PinocchioModel(system)
    vdot = pin.aba(peer.model, peer.data, peer.q, peer.v, peer.tau, pin.Convention.WORLD)
    return disagreement(system, peer.accelerations(peer.q, peer.v, vdot.copy()))


def loop_error(system: quirk.System, algorithm: str = "constraintDynamics") -> float:
    """Return the difference of a loop mechanism's accelerations from QuIRK's, relative to the largest one."""
    peer = PinocchioModel(system)
    vdot = _loop_evaluation(peer, algorithm)()
    return disagreement(system, peer.accelerations(peer.q, peer.v, vdot.copy()))


def error_and_seconds(
    system: quirk.System, duration: float, positions: np.ndarray, rtol: float, repeats: int = 3
) -> tuple[float, float]:
    """Integrate a chain of ball joints with ABA and SciPy's DOP853.

    The state is (q, v): unit quaternions, normalized at each evaluation, and angular velocities relative to the
    parents. ABA is called in its LOCAL convention, which is as fast and more accurate.

    Parameters
    ----------
    system : quirk.System
    duration : float
        s.
    positions : (n, 3)
        Reference for the centers of mass at the end, m.
    rtol : float
        Relative tolerance; the absolute one is a tenth of it.
    repeats : int
        Number of runs; the run time is that of the fastest one.

    Returns
    -------
    error : float
        The largest distance of a center of mass from the reference, m.
    seconds : float
        Run time, s.
    """
    peer = PinocchioModel(system)
    model, data, tau, nq = peer.model, peer.data, peer.tau, peer.model.nq
    if nq * 3 != model.nv * 4:
        raise ValueError("only ball joints are integrated")
    rate = np.empty(nq + model.nv)
    q_rate = rate[:nq].reshape(-1, 4)

    def derivative(_: float, y: np.ndarray) -> np.ndarray:
        q = y[:nq].reshape(-1, 4)
        q = q / np.sqrt(np.einsum("ij,ij->i", q, q))[:, None]
        v = y[nq:]
        # Half the quaternion product q (0, omega), the scalar part last.
        x, y_, z, w = q.T
        a, b, c = v.reshape(-1, 3).T * 0.5
        q_rate[:, 0] = w * a + y_ * c - z * b
        q_rate[:, 1] = w * b + z * a - x * c
        q_rate[:, 2] = w * c + x * b - y_ * a
        q_rate[:, 3] = -(x * a + y_ * b + z * c)
        rate[nq:] = pin.aba(model, data, q.ravel(), v, tau)
        return rate.copy()

    start = np.concatenate([peer.q, peer.v])
    options = {"method": "DOP853", "rtol": rtol, "atol": 0.1 * rtol, "t_eval": [duration]}
    seconds = np.inf
    for _ in range(repeats):
        began = time.perf_counter()
        run = solve_ivp(derivative, (0, duration), start, **options)
        seconds = min(seconds, time.perf_counter() - began)
    q = run.y[:nq, -1].reshape(-1, 4)
    q = q / np.linalg.norm(q, axis=1, keepdims=True)
    return float(np.linalg.norm(peer.positions(q.ravel()) - positions, axis=1).max()), seconds


def _loop_evaluation(peer: PinocchioModel, algorithm: str) -> Callable[[], np.ndarray]:
    """Return a function that evaluates the accelerations once."""
    settings = pin.ProximalSettings(*LOOP_SETTINGS[algorithm].values())
    if algorithm == "lcaba":
        pin.computeJointMinimalOrdering(peer.model, peer.data, peer.contacts)
    else:
        pin.initConstraintDynamics(peer.model, peer.data, peer.contacts, peer.contact_data)
    arguments = (peer.model, peer.data, peer.q, peer.v, peer.tau, peer.contacts, peer.contact_data, settings)
    return partial(getattr(pin, algorithm), *arguments)
