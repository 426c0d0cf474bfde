"""The gaps of unilateral constraints at a state: how far they are open, how fast, and where they push."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .constraints.relation import LANES
from .constraints.unilateral import Unilateral
from .dynamics.applied import coordinate_at
from .dynamics.impulsive import Impulse
from .dynamics.sparse.host.solver import Solver
from .dynamics.sparse.host.watch import Guard, Watch
from .dynamics.sparse.kernels.applied import ELEMENT_SIZE, OUTPUT
from .dynamics.sparse.march.watched import VALUES, quantities_at
from .dynamics.towers import MotionTower
from .dynamics.turns import angles_by_name
from .errors import InputError
from .events.quantity import Gap
from .rotation import matrix
from .state import Kinematics
from .system import System


@dataclass(frozen=True)
class Touch:
    """A gap of a unilateral constraint.

    Attributes
    ----------
    constraint, number : which
    gap : the law of it
    rows : of its bodies among all, the ground last
    """

    constraint: Unilateral
    number: int
    gap: Gap
    rows: tuple[int, ...]

    @property
    def key(self) -> tuple[str, int]:
        """Name of the constraint, and number of the gap."""
        return self.constraint.name, self.number

    @property
    def angular(self) -> bool:
        """Whether the gap is an angle."""
        return self.constraint.turning is not None


@dataclass(frozen=True)
class Opening:
    """Gaps at a state.

    Attributes
    ----------
    value, rate : (c,) m and m/s, or rad and rad/s
    push : (c, n, 6) force and moment about the centre of mass on each body, in N, of a unit multiplier
    push_in_body : the same with moments in body axes
    """

    value: np.ndarray
    rate: np.ndarray
    push: np.ndarray
    push_in_body: np.ndarray

    def of(self, which: Sequence[int]) -> Opening:
        """Return the same of some gaps."""
        chosen = list(which)
        return Opening(self.value[chosen], self.rate[chosen], self.push[chosen], self.push_in_body[chosen])

    def changed(self, change: np.ndarray) -> np.ndarray:
        """Return by how much rates (c,) change with velocities (n, 6), in N and in body axes."""
        by: np.ndarray = np.einsum("cni,ni->c", self.push_in_body, change)
        return by


class Gaps:
    """All gaps of a system's unilateral constraints."""

    def __init__(self, system: System) -> None:
        n = len(system.bodies)
        number = {id(body): k for k, body in enumerate(system.bodies)}
        self._system = system
        self.touches = [
            Touch(one, k, gap := Gap(one, k), tuple(number.get(id(body), n) for body in gap.bodies))
            for one in system.constraints
            if isinstance(one, Unilateral)
            for k in range(len(one.gaps))
        ]
        self._watches: dict[Solver, Watch] = {}

    def at(self, solver: Solver, t: float, y: np.ndarray, angles: np.ndarray) -> Opening:
        """Return all gaps at a state (13 n + k,), with angles (K, 3) of joints."""
        if solver not in self._watches:
            guards = [Guard(touch.key, f"{touch.constraint}", touch.gap, 0, False) for touch in self.touches]
            self._watches[solver] = Watch(guards, solver)
        watch, count = self._watches[solver], len(self.touches)
        watch.laws.refer(t, angles)
        out, lanes = np.zeros(2 * count), solver.slots.state_to_lanes(y)
        with watch.laws.calling(), solver.applied.calling():
            known = quantities_at(VALUES, solver.mechanism, watch.table, float(t), lanes, out)
        if not known:
            watch.table.end[:] = out
            raise watch.trouble(t) or InputError(f"a gap is not a number at t = {t:g} s")
        push = np.zeros((count, solver.slots.bodies + 1, 6))
        outputs, entries = watch.table.laws.outputs, watch.table.laws.entries
        for c, touch in enumerate(self.touches):
            first = entries[ELEMENT_SIZE * c + OUTPUT]
            for f, row in enumerate(touch.rows):
                push[c, row] += outputs[first + LANES * f : first + LANES * f + 6]
        push = push[:, :-1]
        in_body = push.copy()
        R = matrix(solver.model.carried.state(y).orientation)
        in_body[..., 3:] = np.einsum("nji,cnj->cni", R, push[..., 3:])
        return Opening(out[::2], out[1::2], push, in_body)

    def accelerations(
        self, t: float, y: np.ndarray, angles: np.ndarray, which: Sequence[int], accelerations: np.ndarray
    ) -> np.ndarray:
        """Return second derivatives of some gaps (c,) with accelerations (n, 6), in N and in body axes."""
        model = self._system.model
        kin = Kinematics.of(model.carried.state(y))
        motion = MotionTower.of(kin, 2)
        motion.position[:-1, 2] = accelerations[:, :3]
        motion.spin[:-1, 1] = np.einsum("nij,nj->ni", kin.rotation[:-1], accelerations[:, 3:])
        by_name = angles_by_name(model.joints, angles)
        chosen = [self.touches[c] for c in which]
        jets = [coordinate_at(touch.gap, touch.rows, motion, t, by_name) for touch in chosen]
        return np.array([2.0 * float(jet.taylor[2]) for jet in jets])

    def impulses(self, y: np.ndarray, opening: Opening, which: Sequence[int], x: np.ndarray) -> dict[str, Impulse]:
        """Return the impulses of gaps that push with x (c,) on their bodies j, by name."""
        found = {}
        state, n = self._system.model.carried.state(y), len(self._system.bodies)
        for c, touch, size in zip(range(len(x)), (self.touches[k] for k in which), x, strict=True):
            # What acts on the ground is read off body i.
            row, sign = (touch.rows[1], 1.0) if touch.rows[1] < n else (touch.rows[0], -1.0)
            if size > 0:
                load = sign * size * opening.push[c, row]
                origin, on = touch.constraint.ends[1][1].origin, touch.rows[1]
                point = state.position[on] + matrix(state.orientation[on]) @ origin if on < n else origin
                arm = state.position[row] - point
                found[touch.constraint.name] = Impulse(load[:3], load[3:] + np.cross(arm, load[:3]))
        return found
