"""Choice of the systems that are computed in SIMD lanes, and the tables common to all members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quirk.bodies.rotation import multiply
from quirk.constraints.primitives import COINCIDENCE, DISTANCE, DOT1, DOT2
from quirk.constraints.unilateral import Unilateral
from quirk.dynamics.model.model import Model
from quirk.dynamics.sparse.solver.solver import Solver
from quirk.dynamics.sparse.symbolic.placed_joint import PlacedJoint
from quirk.forces.flanks import Flanks
from quirk.forces.stick_slip import StickSlip
from quirk.integrators import TABLEAUX
from quirk.system.system import System

from .functions import law_print
from .links import link_entries, placed_joints, suits
from .records import AT_REST, LOADED, MOVED, LaneTables

# Kinds of primitive constraints that can close loops in lanes; see `closing`.
KINDS = {COINCIDENCE, DOT1, DOT2, DISTANCE}
# Maximum number of closing rows in lanes: the cost of a step grows with its square.
MOST_CLOSING = 48
# Minimum distance of a closing row from the span of the rows before it, relative to that of the first row. Below this
# limit the initial state counts as close to a singular configuration.
INDEPENDENT = 1e-3


@dataclass(frozen=True)
class LanePlan:
    """Tables of a system whose members are computed in SIMD lanes.

    Attributes
    ----------
    tables : structure and settings that all members have in common
    rows : for each joint of the spanning forest, the indices of its primitive constraints: its coincidence, -1 for
        none, and its rotation rows
    closing : index of the primitive constraint of each loop-closing row
    drops : whether redundant loop-closing rows are omitted
    recursive : joints of a forest without loops, if its accelerations are computed by recursion over the joints instead
        of a spanning forest; otherwise empty
    """

    tables: LaneTables
    rows: list[tuple[int, list[int]]]
    closing: list[int]
    drops: bool
    recursive: Sequence[PlacedJoint] = ()


def unsuited(system: System, options: Mapping[str, Any]) -> str:
    """Return the reason why members of a system cannot be computed in SIMD lanes; "" if they can.

    `options` are the settings of the run by name, as in `simulate`.
    """
    model = system.model
    if options["step"] is None or options["method"] not in TABLEAUX:
        return "no explicit method with a fixed step"
    if options["stabilization"] not in ("projection", None) or options["projection_interval"] != 1:
        return "stabilization other than projection at each step"
    if options["max_step"] is not None:
        return "max_step"
    if system.events:
        return f"{system.events[0]}"
    for constraint in system.constraints:
        if isinstance(constraint, Unilateral):
            return f"{constraint}"
    if model.relations:
        return f"{model.relations[0].owner}"
    for force, _ in model.forces:
        if isinstance(force, Flanks) or (isinstance(force, StickSlip) and force.sticks):
            return f"{force}"
        if force.internal or not force.built_in or len(force.turning) != len(force.counted):
            return f"{force}"
        if any(force.motion(name).kinks.size for name in force.motions):
            return f"{force}, whose motion has kinks"
        if law_print(force) is None:
            return f"{force}, whose functions may change"
    return ""


def planned(model: Model, solver: Solver, state: Any, start: float, project: bool) -> LanePlan | str:
    """Return the tables for computing the members of a batch in SIMD lanes, or the reason why lanes cannot be used.

    Independent rows are selected at the initial state `state` and time `start` (s). If `project`, states are projected
    onto the constraints after each integration step.
    """
    if solver.applied.laws_in_python or solver.applied.called:
        return "force laws or functions that run in Python"
    nothing, length = np.zeros(0, dtype=np.int64), float(model.length)
    if suits(solver):
        joints = placed_joints(solver)
        return LanePlan(
            LaneTables(nothing, nothing, nothing, link_entries(model, joints), length, project), [], [], False, joints
        )
    trees, loops = _joints(model)
    forest, rows = _forest(model, trees, loops)
    closing = [(p, k) for primitives in loops for p in primitives for k in range(3 if _coincides(model, p) else 1)]
    kept = _independent(model, solver, rows, closing, state, start)
    if isinstance(kept, str):
        return kept
    t = model.table
    if not KINDS.issuperset(t.kind[p] for p, _ in kept):
        return "elementary constraints of other kinds that close loops"
    if len(kept) > MOST_CLOSING:
        return f"{len(kept)} rows that close loops, more than {MOST_CLOSING}"
    entries = [(t.kind[p], k, *t.body[p]) for p, k in kept]
    tables = LaneTables(
        joints=np.array(forest, dtype=np.int64).ravel(),
        closing=np.array(entries, dtype=np.int64).reshape(-1),
        reached=np.array(_reached(forest, [entry[2:] for entry in entries]), dtype=np.int64).reshape(-1),
        links=nothing,
        length=length,
        project=project and model.rows > 0,
    )
    return LanePlan(tables, rows, [p for p, _ in kept], len(kept) < len(closing))


def _coincides(model: Model, p: int) -> bool:
    return bool(model.table.kind[p] == COINCIDENCE)


def _joints(model: Model) -> tuple[list[list[int]], list[list[int]]]:
    """Return the joints that may be part of the spanning forest, and all other joints.

    Each joint is a list of indices of its primitive constraints. A joint of the forest consists of one coincidence of
    points and at most three dot-1 primitives: a ball joint, universal joint, hinge or fixed joint.
    """
    trees: list[list[int]] = []
    loops: list[list[int]] = []
    for rows in model.joint_rows.values():
        primitives = np.flatnonzero((model.table.row >= rows.start) & (model.table.row < rows.stop)).tolist()
        kinds = model.table.kind[primitives].tolist()
        if not primitives:
            continue
        fits = kinds[0] == COINCIDENCE and len(kinds) <= 4 and all(kind == DOT1 for kind in kinds[1:])
        (trees if fits else loops).append(primitives)
    return trees, loops


def _forest(
    model: Model, trees: Sequence[list[int]], loops: list[list[int]]
) -> tuple[list[tuple[int, ...]], list[tuple[int, list[int]]]]:
    """Return the integer data and the primitives of each joint of a spanning forest, from the ground outward.

    The integer data are CHILD to ROTATIONS (`quirk.batches.lanes.records`); the primitives are the indices of its
    coincidence, -1 for none, and its rotation rows. Joints in `trees` that would close a loop are added to `loops`. A
    body without a path of joints to the ground is connected with it by a joint without rows, which has six degrees of
    freedom.
    """
    n = len(model.mass)
    left, reached = list(trees), {n}
    joints: list[tuple[int, ...]] = []
    rows: list[tuple[int, list[int]]] = []
    while True:
        grown = False
        for primitives in list(left):
            i, j = model.table.body[primitives[0]].tolist()
            if (i in reached) == (j in reached):
                continue
            child, parent = (j, i) if i in reached else (i, j)
            joints.append((child, parent, int(child == j), 1, len(primitives) - 1))
            rows.append((primitives[0], primitives[1:]))
            reached.add(child)
            left.remove(primitives)
            grown = True
        if grown:
            continue
        free = [body for body in range(n) if body not in reached]
        if not free:
            break
        joints.append((free[0], n, 1, 0, 0))
        rows.append((-1, []))
        reached.add(free[0])
    loops += left
    return joints, rows


def _reached(forest: Sequence[tuple[int, ...]], closing: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return, for each loop-closing row and each joint of the forest, the effect of the load of the row on the joint.

    LOADED: the joint transmits the load. MOVED: the child of the joint moves, but the joint carries no load. AT_REST:
    the child does not move. `forest` holds the integer data of the joints (CHILD to ROTATIONS) from the roots to the
    tips, `closing` the two bodies of each row.
    """
    table = []
    for bodies in closing:
        loaded, moving = set(bodies), set()
        for child, parent, *_ in reversed(forest):
            if child in loaded:
                loaded.add(parent)
        for child, parent, *_ in forest:
            if child in loaded or parent in moving:
                moving.add(child)
        table.append([LOADED if row[0] in loaded else MOVED if row[0] in moving else AT_REST for row in forest])
    return table


def _independent(
    model: Model,
    solver: Solver,
    rows: Sequence[tuple[int, list[int]]],
    closing: Sequence[tuple[int, int]],
    state: Any,
    start: float,
) -> list[tuple[int, int]] | str:
    """Return a maximal set of independent loop-closing rows at a state, or the reason why it cannot be determined.

    Parameters
    ----------
    model, solver : compiled model and its solver
    rows : primitives of the joints of the spanning forest, see `LanePlan.rows`
    closing : loop-closing rows, each as the index of its primitive and its index in this primitive
    state : initial state
    start : initial time, s
    """
    from scipy.linalg import null_space, qr

    if not closing:
        return []
    A = jacobian(model, state)
    t = model.table
    of_forest = [
        t.row[p] + k
        for p, turns in rows
        for p, count in [(p, 3), *((q, 1) for q in turns)]
        if p >= 0
        for k in range(count)
    ]
    of_loops = np.array([t.row[p] + k for p, k in closing])
    count = solver.settle_state(state, start) - len(of_forest)
    if count <= 0:
        return "redundant rows in the forest" if count < 0 else []
    free = null_space(A[of_forest]) if of_forest else np.eye(A.shape[1])
    _, R, order = qr((A[of_loops] @ free).T, pivoting=True, mode="economic")
    sizes = np.abs(np.diag(R))
    if len(sizes) < count or sizes[count - 1] < INDEPENDENT * sizes[0]:
        return "an initial state close to a singular configuration"
    return [closing[k] for k in sorted(order[:count])]


def jacobian(model: Model, state: Any) -> np.ndarray:
    """Return the constraint rows (m, 6 n) of a model with n bodies at a state.

    The six columns of a body multiply its translation, and its rotation in body axes times the characteristic length.
    """
    from quirk.bodies.state import Kinematics
    from quirk.dynamics.dense.rows import constraint_rows

    A = constraint_rows(model, Kinematics.of(state), 0.0).A
    n = len(model.mass)
    found = np.zeros((len(A), 6 * n))
    for b in range(n):
        found[:, 6 * b : 6 * b + 3] = A[:, 7 * b : 7 * b + 3]
        # q' = q (0, omega) / 2.
        q = state.orientation[b]
        rates = np.stack([0.5 * multiply(q, np.array([0.0, *axis])) for axis in np.eye(3)], axis=1)
        found[:, 6 * b + 3 : 6 * b + 6] = A[:, 7 * b + 3 : 7 * b + 7] @ rates / model.length
    return found
