"""Taylor series in time of the motion of one model.

The operations of each constraint and force element are recorded on a tape, a list of operations. Elements with equal
tapes are evaluated simultaneously, in groups of up to eight.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from quirk.autodiff.condition import BranchingError
from quirk.constraints.relation import layout_of
from quirk.dynamics.model.layout import KINEMATICS_SIZE, SPIN, Slots
from quirk.dynamics.model.model import Model, PlacedRelation
from quirk.dynamics.model.primitives_as_relations import as_relations
from quirk.dynamics.user_functions import owners_of
from quirk.errors import InputError
from quirk.forces import Friction
from quirk.functions.motion import Motion
from quirk.functions.motion_kernels import MotionTable
from quirk.jit.compilation import plain_python
from quirk.jit.simd import WIDTH, aligned

from ..kernels.applied import ELEMENT_SIZE, INPUT
from ..kernels.bodies import KIN
from ..taylor.code import series_code
from ..taylor.tables import (
    ARGUMENTS,
    AT_FIXED,
    AT_FIXED_OF_LAWS,
    AT_MOTIONS,
    AT_MULTIPLIERS,
    AT_RIGHT_SIDES,
    COUNT,
    ORDERS,
    SIZE,
    TaylorElements,
)
from ..taylor.tapes import Form, law_form, relation_form
from .solver import Solver

# Group sizes for which machine code is generated. A group uses the smallest size that holds all its elements.
WIDTHS = (2, 4, WIDTH)


class NoSeriesError(InputError):
    """Error raised if a part of a model has no Taylor series; the message names the part and the reason."""


@dataclass(frozen=True)
class Member:
    """A constraint or force element as a member of a group of elements that are evaluated together.

    Attributes
    ----------
    form : the recorded operations of the member, shared by all members of equal structure
    places : indices in other arrays, or -1, in the order of `TaylorElements.places`: of the constants of the member,
        the bodies of its frames, its motions, multipliers and internal variables, and the work of the element and of
        its rows
    """

    form: Form
    places: tuple[int, ...]


def require_series(model: Model, orders: int, changed: Callable[[Any], bool]) -> None:
    """Raise NoSeriesError if a force, constraint or function of time has no Taylor series with `orders` terms.

    The error is also raised if machine code is disabled. `changed` is a predicate for user functions that read data
    which other functions modify during the run.
    """
    if plain_python():
        raise NoSeriesError("NUMBA_DISABLE_JIT is set: Taylor series need machine code")
    owner = next(owners_of(model, changed), None)
    if owner is not None:
        raise NoSeriesError(f"{owner}: its function reads values that another function may change during the run")
    for element, _ in model.forces:
        if isinstance(element, Friction):
            raise NoSeriesError(f"{element}: friction proportional to constraint loads has no Taylor series")
        for name in element.motions:
            _require_motion(f"{element}, {name}", element.motion(name), orders)
        _tried(f"{element}", lambda element=element: law_form(element, element.layout(), False))
    for placed in model.relations:
        for motion in placed.relation.motions:
            _require_motion(f"{placed.owner}, motion", motion, orders)
        _tried(placed.owner, lambda placed=placed: _form_of(placed, False))


def may_wake(model: Model) -> bool:
    """Return whether a load may act within a step only, with no effect on the Taylor series at both ends.

    Force laws that branch, such as springs whose ends meet, and user functions, also in constraints, may cause such
    loads.
    """
    laws = (law_form(element, element.layout(), False) for element, _ in model.forces)
    return chosen_by_user(model) or any(form.guards for form in laws)


def chosen_by_user(model: Model) -> bool:
    """Return whether the model has user functions, which may branch on conditions that are not monitored."""
    return any(element.of_user for element, _ in model.forces) or any(p.relation.of_user for p in model.relations)


def may_jump(model: Model) -> bool:
    """Return whether accelerations may be discontinuous while the same constraints and forces are enabled.

    Only prescribed motions, user functions, friction, and force laws that branch may cause discontinuities.
    """
    if chosen_by_user(model) or any(placed.relation.motions for placed in model.relations):
        return True
    return any(
        isinstance(element, Friction) or element.motions or law_form(element, element.layout(), False).chooses
        for element, _ in model.forces
    )


def _require_motion(owner: str, motion: Motion, orders: int) -> None:
    if motion.known < orders:
        raise NoSeriesError(f"{owner}: {motion!r} has {motion.known:g} derivatives; {orders} are needed")


def _tried(owner: str, make: Any) -> None:
    try:
        make()
    except BranchingError as error:
        why = "its function has no Taylor series, as it branches, selects values or accepts floats only"
        raise NoSeriesError(f"{owner}: {why} ({error})") from error
    except Exception as error:  # user functions may raise any exception
        raise NoSeriesError(f"{owner}: its function has no Taylor series: {type(error).__name__}: {error}") from error


def _form_of(placed: PlacedRelation, working: bool) -> Form:
    order = 1 if placed.relation.of_velocities else 0
    return relation_form(placed.relation, layout_of(placed.relation, len(placed.bodies), order), working)


@dataclass(frozen=True)
class ElementTables:
    """Tables of all constraints and force elements of a model, with the objects that own their memory.

    Attributes
    ----------
    table : the tables, for compiled code
    bodies : Taylor coefficients of the motion of bodies, two sets, at the address in `table`
    auxiliary : Taylor coefficients of auxiliary states, two sets, at the address in `table`
    owners : objects that own the memory at all other addresses
    """

    table: TaylorElements
    bodies: np.ndarray
    auxiliary: np.ndarray
    owners: tuple[Any, ...]


def elements_of(solver: Solver, orders: int) -> ElementTables:
    """Return the tables of all constraints and force elements of a solver, for Taylor series of `orders` terms."""
    members, motions, fixed = _constraints(solver, orders)
    laws = _laws(solver, motions, orders)
    groups = _grouped(members)
    constraints = len(groups)
    groups += _grouped(laws)
    code = _code_of(groups, orders)
    numbers, taylor = aligned(code.used), np.zeros(orders * len(motions))
    count = solver.size - solver.slots.first_auxiliary
    bodies, auxiliary = aligned(2 * orders * len(solver.work.kin)), aligned(2 * orders * count)
    arguments, at = np.zeros(ARGUMENTS, dtype=np.int64), np.array(code.places, dtype=np.int64)
    arguments[SIZE], arguments[COUNT], arguments[ORDERS] = KIN, count, orders
    addressed = {
        AT_MOTIONS: taylor, AT_FIXED: fixed, AT_FIXED_OF_LAWS: solver.applied.table.inputs,
        AT_MULTIPLIERS: solver.work.x, AT_RIGHT_SIDES: solver.work.rhs,
    }  # fmt: skip
    for which, array in addressed.items():
        arguments[which] = array.ctypes.data
    table = TaylorElements(
        groups=np.array(code.entries, dtype=np.int64).ravel(),
        constraints=constraints,
        spinning=any(SPIN <= which < SPIN + 3 for group in groups for which in group[0].form.components),
        places=at,
        numbers=numbers,
        motions=MotionTable.of(motions),
        taylor=taylor,
        arguments=arguments,
        handed=arguments.view(float),
        first_places=at.ctypes.data,
        first_numbers=numbers.ctypes.data,
        first_bodies=bodies.ctypes.data,
        first_auxiliary=auxiliary.ctypes.data,
        full_blocks=_whole_blocks(solver.slots),
        guards=np.array([] if chosen_by_user(solver.model) else code.guards, dtype=np.int64).ravel(),
        polynomial=np.zeros(orders),
        orders=orders,
    )
    return ElementTables(table, bodies, auxiliary, (code.owners, fixed, solver.applied.table.inputs, solver.work))


class _GroupCode(NamedTuple):
    """Machine code of groups of elements that are evaluated together.

    A guard is a quantity whose sign changes when a force law switches its branch.

    Attributes
    ----------
    entries : for each group the address of its code; its level, see `Form`; its first index in `places`; and the index
        of its first element in the array of values
    places : indices of the inputs and outputs of all members in the arrays of the solver
    guards : for each guard the index of its first element in the array of values, the width of its group and the number
        of members
    used : number of elements of the array of values
    owners : objects that own the machine code
    """

    entries: list[tuple[int, int, int, int]]
    places: list[int]
    guards: list[tuple[int, int, int]]
    used: int
    owners: list[Any]


def _code_of(groups: Sequence[Sequence[Member]], orders: int) -> _GroupCode:
    """Return the machine code for groups of elements of the same form, for Taylor series of `orders` terms."""
    entries: list[tuple[int, int, int, int]] = []
    used, kept = 0, list[Any]()
    guards: list[tuple[int, int, int]] = []
    places: list[int] = []
    for group in groups:
        form = group[0].form
        width = next(width for width in WIDTHS if width >= len(group))
        programs, code = series_code(form, width)
        entries.append((code.address, form.level, len(places), used))
        filled = list(group) + [group[0]] * (WIDTH - len(group))
        places += [member.places[k] for k in range(len(group[0].places)) for member in filled]
        places.append(len(group))
        guards += [(used + start, width, len(group)) for start in programs.starts_of_guards(orders, width)]
        used += programs.size(orders, width)
        kept.append(code)
    return _GroupCode(entries, places, guards, used, kept)


def _whole_blocks(slots: Slots) -> int:
    """Return the number of leading blocks of bodies that are computed with vectors of eight elements.

    Bodies are in blocks of eight. All later blocks contain at most four bodies, and are computed with vectors of four.
    """
    upper = [slot // WIDTH for slot in slots.slot[: slots.bodies] if slot % WIDTH >= WIDTH // 2]
    return 1 + int(max(upper, default=-1))


def _constraints(solver: Solver, orders: int) -> tuple[list[Member], list[Motion], np.ndarray]:
    """Return all constraints as members of groups, their functions of time, and their constants.

    Taylor series have `orders` terms.
    """
    model, slots, row_lane = solver.model, solver.slots, solver.tables.row_lane
    members: list[Member] = []
    motions: list[Motion] = []
    numbers: list[np.ndarray] = [np.zeros(0)]
    first = 0
    owners = {rows.start + k: name for name, rows in model.joint_rows.items() for k in range(rows.stop - rows.start)}
    for placed in as_relations(model):
        work = model.auxiliary.work.get(owners[placed.rows.start])
        form, relation = _form_of(placed, work is not None), placed.relation
        layout = layout_of(relation, len(placed.bodies), 1 if relation.of_velocities else 0)
        mine = np.zeros(layout.inputs)
        mine[: layout.numbers] = relation.numbers
        for f, frame in enumerate(placed.frames):
            o = layout.first_frame + f * layout.frame_size
            mine[o : o + frame.size] = frame
        rows = range(placed.rows.start, placed.rows.stop)
        works = [-1 if work is None else work for _ in rows]
        members.append(Member(form, (
            first, *(slots.offset(body, orders * KINEMATICS_SIZE) for body in placed.bodies),
            *(orders * (len(motions) + m) for m in range(layout.motions)),
            *(int(row_lane[row]) for row in rows), 0, -1, *works,
        )))  # fmt: skip
        motions += list(relation.motions)
        numbers.append(mine)
        first += mine.size
    return members, motions, np.concatenate(numbers)


def _laws(solver: Solver, motions: list[Motion], orders: int) -> list[Member]:
    """Return all force elements as members of groups; their functions of time are appended to `motions`.

    Taylor series have `orders` terms.
    """
    model, slots = solver.model, solver.slots
    members: list[Member] = []
    for e, (element, bodies) in enumerate(model.forces):
        layout, auxiliary = element.layout(), model.auxiliary
        work = auxiliary.work.get(element.name)
        variables = auxiliary.internal.get(element.name, slice(0, 0))
        members.append(Member(law_form(element, layout, work is not None), (
            int(solver.applied.table.entries[ELEMENT_SIZE * e + INPUT]),
            *(slots.offset(body, orders * KINEMATICS_SIZE) for body in bodies),
            *(orders * (len(motions) + m) for m in range(layout.motions)),
            variables.start, -1 if work is None else work,
        )))  # fmt: skip
        motions += [element.motion(name) for name in element.motions]
    return members


def _grouped(members: Sequence[Member]) -> list[list[Member]]:
    """Return groups of up to eight members of the same form, ordered by the first member of each form."""
    by_form: dict[int, list[Member]] = {}
    for member in members:
        by_form.setdefault(id(member.form), []).append(member)
    return [same[k : k + WIDTH] for same in by_form.values() for k in range(0, len(same), WIDTH)]
