"""The Taylor series of the motion of one model: its elements in groups of eight that share a tape."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quirk.constraints.relation import layout_of
from quirk.errors import InputError
from quirk.forces import Friction
from quirk.lanes import WIDTH, aligned
from quirk.motion import Motion
from quirk.motion_table import MotionTable

from ...as_relations import as_relations
from ...layout import KINEMATICS_SIZE
from ...model import Model, PlacedRelation
from ..kernels.applied import ELEMENT_SIZE, INPUT
from ..plan.forms import Form, law_form, relation_form
from ..taylor.tables import Elements
from ..taylor.tapes import Tapes
from .solver import Solver


class NoSeriesError(InputError):
    """Raised where a part of a model has no Taylor series; says which, and why."""


@dataclass(frozen=True)
class Member:
    """An element of a model as a group sees it.

    Attributes
    ----------
    places : of fixed numbers the first, the bodies of all frames, motions, multipliers, the first internal variable,
        and works of the element and of its rows, -1 for none; as `Elements.places` has them
    """

    form: Form
    places: tuple[int, ...]


def require_series(model: Model, orders: int) -> None:
    """Raise NoSeriesError if forces, constraints or functions of time have no series of so many terms."""
    for element, _ in model.forces:
        if isinstance(element, Friction):
            raise NoSeriesError(f"{element}: the load of friction is not differentiated")
        for name in element.motions:
            _require_motion(f"{element}, {name}", element.motion(name), orders)
        _tried(f"{element}", lambda element=element: law_form(element, element.layout(), False))
    for placed in model.relations:
        for motion in placed.relation.motions:
            _require_motion(f"{placed.owner}, motion", motion, orders)
        _tried(placed.owner, lambda placed=placed: _form_of(placed, False))


def _require_motion(owner: str, motion: Motion, orders: int) -> None:
    if motion.known < orders:
        raise NoSeriesError(f"{owner}: {motion!r} has {motion.known:g} derivatives, and {orders} are needed")


def _tried(owner: str, make: Any) -> None:
    try:
        make()
    except Exception as error:  # of whatever kind a user's function raises
        raise NoSeriesError(f"{owner}: there is no series of its function: {type(error).__name__}: {error}") from error


def _form_of(placed: PlacedRelation, working: bool) -> Form:
    order = 1 if placed.relation.of_velocities else 0
    return relation_form(placed.relation, layout_of(placed.relation, len(placed.bodies), order), working)


def elements_of(solver: Solver, orders: int) -> Elements:
    """Return the tables of all constraints and force elements of a solver, for series of so many terms."""
    members, motions, fixed = _constraints(solver)
    laws = _laws(solver, motions)
    groups = _grouped(members)
    first_law = len(groups)
    groups += _grouped(laws)
    forms = list(dict.fromkeys(id(group[0].form) for group in groups))
    by_id = {id(group[0].form): group[0].form for group in groups}
    tables = _Tables()
    for key in forms:
        tables.add(by_id[key])
    entries, places = [], []
    values = histories = used = 0
    for group in groups:
        programs = group[0].form.programs
        entries.append((forms.index(id(group[0].form)), len(group), values, histories, used))
        filled = list(group) + [group[0]] * (WIDTH - len(group))
        places += [member.places[k] for k in range(len(group[0].places)) for member in filled]
        values += WIDTH * programs.values
        histories += WIDTH * orders * programs.histories
        used = len(places)
    return Elements(
        forms=np.array(tables.forms, dtype=np.int64).ravel(),
        inputs=np.array(tables.inputs, dtype=np.int64).ravel(),
        outputs=np.array(tables.outputs, dtype=np.int64).ravel(),
        groups=np.array(entries, dtype=np.int64).ravel(),
        places=np.array(places, dtype=np.int64),
        fixed=fixed,
        laws=first_law,
        motions=MotionTable.of(motions),
        taylor=np.zeros(orders * len(motions)),
        tapes=Tapes(
            code=np.array(tables.code, dtype=np.int64).ravel(),
            numbers=np.array(tables.numbers),
            values=aligned(values),
            histories=aligned(histories),
            orders=orders,
        ),
    )


def _constraints(solver: Solver) -> tuple[list[Member], list[Motion], np.ndarray]:
    """All rows as members of groups, the functions of time that they follow, and their numbers."""
    model, slots, row_lane = solver.model, solver.slots, solver.tables.row_lane
    members: list[Member] = []
    motions: list[Motion] = []
    numbers: list[np.ndarray] = [np.zeros(0)]
    first = 0
    for placed in as_relations(model):
        work = model.carried.work.get(model.owner(placed.rows.start))
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
            first, *(slots.offset(body, KINEMATICS_SIZE) for body in placed.bodies),
            *range(len(motions), len(motions) + layout.motions), *(int(row_lane[row]) for row in rows), 0, -1, *works,
        )))  # fmt: skip
        motions += list(relation.motions)
        numbers.append(mine)
        first += mine.size
    return members, motions, np.concatenate(numbers)


def _laws(solver: Solver, motions: list[Motion]) -> list[Member]:
    """All force elements as members of groups; adds the functions of time that they follow."""
    model, slots = solver.model, solver.slots
    members: list[Member] = []
    for e, (element, bodies) in enumerate(model.forces):
        layout, carried = element.layout(), model.carried
        work = carried.work.get(element.name)
        variables = carried.internal.get(element.name, slice(0, 0))
        members.append(Member(law_form(element, layout, work is not None), (
            int(solver.applied.table.entries[ELEMENT_SIZE * e + INPUT]),
            *(slots.offset(body, KINEMATICS_SIZE) for body in bodies),
            *range(len(motions), len(motions) + layout.motions), variables.start, -1 if work is None else work,
        )))  # fmt: skip
        motions += [element.motion(name) for name in element.motions]
    return members


def _grouped(members: Sequence[Member]) -> list[list[Member]]:
    """Members of the same form, eight at a time, in the order in which forms come first."""
    by_form: dict[int, list[Member]] = {}
    for member in members:
        by_form.setdefault(id(member.form), []).append(member)
    return [same[k : k + WIDTH] for same in by_form.values() for k in range(0, len(same), WIDTH)]


class _Tables:
    """Programs of all forms, one after the other."""

    def __init__(self) -> None:
        self.forms: list[tuple[int, ...]] = []
        self.inputs: list[tuple[int, ...]] = []
        self.outputs: list[tuple[int, ...]] = []
        self.code: list[tuple[int, ...]] = []
        self.numbers: list[float] = [math.nan]

    def add(self, form: Form) -> None:
        """Append the programs of a form."""
        made, entry = form.programs, []
        first = len(self.numbers)
        self.numbers += made.constants
        for inputs, code in zip(made.inputs, made.code, strict=True):
            entry += [len(self.inputs), len(self.inputs) + len(inputs)]
            self.inputs += inputs
            entry += [len(self.code), len(self.code) + len(code)]
            self.code += [made.shifted(line, first) for line in code]
        entry += [form.level, len(self.outputs), len(self.outputs) + len(made.outputs)]
        self.outputs += made.outputs
        self.forms.append((*entry, form.frames, form.motions, form.rows))
