"""Masses, inertias, gravity, joint geometry and force law inputs of all members of a batch, as arrays.

The arrays are derived from the system of the batch and its varied parameters. The system of a member is constructed
only if parts other than bodies and force elements differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..bodies.body import Body
from ..constraints import Constraint
from ..dynamics.model.applied_loads import fixed_inputs
from ..dynamics.sparse.kernels.applied import ELEMENT_SIZE, INPUT
from ..dynamics.sparse.solver.solver import Solver
from ..forces import ForceElement
from ..forces.law_layout import REFERENCE
from ..forces.state_function import in_state
from ..simulation.run_inputs import place_of, settable_inputs
from ..system.system import System
from ..util.construction import made_with
from .batch_inputs import BatchInputs
from .lanes.functions import call_nothing, law_print, write_law
from .lanes.numbers import MemberNumbers, geometry_of
from .lanes.plan import LanePlan
from .mass_reads import watched
from .variation import MemberMaker, VariedNumber, changes_of, refuse_moved, varied_system

# Functions that make bodies whose inertia is proportional to their mass.
SOLIDS = (Body.box, Body.cylinder, Body.bar, Body.sphere, Body.ellipsoid)


def member_numbers(
    system: System, solver: Solver, plan: LanePlan, varied: Sequence[VariedNumber], count: int
) -> MemberNumbers | None:
    """Return the parameters of all members; None if their force laws differ in more than input values.

    Parameters
    ----------
    system : system of the batch, with the values of inputs that are not varied
    solver : compiled solver of the system
    plan : tables for computing the system in SIMD lanes
    varied : parameters that differ between members
    count : number of members
    """
    numbers = MemberNumbers.repeated(system.model, plan, solver.applied.table.inputs, count)
    call_nothing(numbers.inputs, elements_of(solver))
    filled, base = True, numbers.inputs[0].copy()
    for one in varied:
        if not one.part:
            numbers.gravity[:] = one.values
        elif not one.of_state:
            filled &= _try_fill(system, solver, one, numbers, base)
    checked = _extremes(varied, count)
    expected = numbers.of(np.array(checked))
    if not all(_try_construct(system, solver, plan, varied, numbers, k) for k in checked):
        return None
    if filled and numbers.of(np.array(checked)).equals(expected):
        return numbers
    others = (k for k in range(count) if k not in checked)
    return numbers if all(_try_construct(system, solver, plan, varied, numbers, k) for k in others) else None


def _extremes(varied: Sequence[VariedNumber], count: int) -> list[int]:
    """Return the indices of the first and last member, and of the members with extreme values of a parameter.

    Extreme values are the smallest and largest of each parameter. `count` is the number of members.
    """
    of_parts = (one.values for one in varied if one.part and not one.of_state and one.values.ndim == 1)
    return sorted({0, count - 1}.union(*((int(values.argmin()), int(values.argmax())) for values in of_parts)))


def _try_construct(
    system: System, solver: Solver, plan: LanePlan, varied: Sequence[VariedNumber], numbers: MemberNumbers, k: int
) -> bool:
    """Write the parameters of member k to `numbers`, read from its constructed parts.

    `system`, `solver`, `plan` and `varied` are as for `member_numbers`. Returns False if a force law differs in more
    than input values. An invalid value raises the error of the part.
    """
    # All changes are applied, because the parameters of a constructed part overwrite those written before.
    changes = changes_of(varied, k)
    maker = MemberMaker(system, changes)
    # Constraints on a body depend only on its pose, which does not change.
    if any(isinstance(system[name], Constraint) for name in changes):
        model = varied_system(system, changes).model
        numbers.joints[k], numbers.closing[k] = geometry_of(model, plan)
    for row, old in enumerate(system.bodies):
        new = maker.member_part(old)
        if new is not old:
            refuse_moved(old, new, changes)
            numbers.mass[k, row], numbers.inertia[k, row] = new.mass, new.inertia
    return _try_fill_laws(system, solver, maker, numbers.inputs[k])


def _try_fill_laws(system: System, solver: Solver, maker: MemberMaker, inputs: np.ndarray) -> bool:
    """Write the inputs of the force laws of one member that differ from the system to `inputs`.

    These are the laws of the force elements that `maker` constructs anew. Returns False if a force law differs in more
    than input values.
    """
    bodies, constraints = ([maker.member_part(one) for one in parts] for parts in (system.bodies, system.constraints))
    by_name = {part.name: part for part in (*bodies, *constraints)}
    for element in system.forces:
        new = maker.member_part(element)
        if new is not element:
            new = in_state(new.placed(bodies, constraints), by_name)
            if not _try_fill_law(solver, element, new, inputs):
                return False
    return True


def with_inputs(numbers: MemberNumbers, solver: Solver, inputs: BatchInputs) -> None:
    """Write the present values of the inputs set by the caller to the law inputs of all members, `numbers.inputs`."""
    for name, one in inputs.slots.items():
        for first, element in elements_of(solver):
            if element.name == one.element.name:
                place = first + place_of(element, one.argument)
                numbers.inputs[:, place : place + one.initial_value.size] = inputs[name].reshape(
                    len(numbers.inputs), -1
                )


def turning_places(solver: Solver) -> list[tuple[int, str, int]]:
    """Return the joint angles whose full turns are counted by force elements, as (index, name of the joint, axis).

    The index is that of the reference angle, from which turns are counted, among the inputs of all force laws.
    """
    return [
        (first + element.layout().parameters + REFERENCE * k, name, axis)
        for first, element in elements_of(solver)
        for k, (name, axis) in enumerate(element.counted)
    ]


def elements_of(solver: Solver) -> list[tuple[int, Any]]:
    """Return pairs (index of the first input of a force element, force element), for the inputs of all force laws."""
    entries = solver.applied.table.entries
    return [(int(entries[ELEMENT_SIZE * e + INPUT]), element) for e, (element, _) in enumerate(solver.model.forces)]


def _try_fill_law(solver: Solver, old_element: ForceElement, new_element: ForceElement, inputs: np.ndarray) -> bool:
    """Overwrite the law inputs of `old_element` by the law inputs of `new_element` in `inputs`.

    `inputs` are the inputs of all force laws of one member. Returns False, and writes nothing, if the elements differ
    in more than input values.
    """
    layout, own = old_element.layout(), settable_inputs(new_element)
    if own and new_element.structure != old_element.structure:
        new_element = next(
            iter(own.values())
        ).element  # the law of an element whose input may be set, see `BatchInputs.settable`
    if (
        new_element.layout() != layout
        or new_element.structure != old_element.structure
        or law_print(new_element) != law_print(old_element)
    ):
        return False
    first = next(place for place, element in elements_of(solver) if element is old_element)
    write_law(inputs[first : first + layout.inputs], fixed_inputs(new_element, layout), layout)
    return True


def _try_fill(system: System, solver: Solver, varied: VariedNumber, numbers: MemberNumbers, base: np.ndarray) -> bool:
    """Try to write a varied parameter of all members to `numbers` without constructing the parts of each member.

    This is possible for the mass of a body with a given inertia and of a solid, unless a force law depends on it, and
    for a parameter of a force element that is an input of its law. Returns whether the parameter has been written.
    `base` are the inputs of all force laws without variation.
    """
    part, values = system[varied.part], varied.values
    if values.ndim > 1 or "." in varied.parameter or isinstance(part, Constraint):
        return False
    if isinstance(part, Body):
        return varied.parameter == "mass" and _try_fill_mass(system, solver, part, values, numbers, base)
    maker = MemberMaker(system, changes_of([varied], 0))
    others = (force for force in system.forces if force is not part)
    if varied.parameter not in part.parameters or any(maker.member_part(other) is not other for other in others):
        return False
    first = next(place for place, element in elements_of(solver) if element is part)
    numbers.inputs[:, first + place_of(part, varied.parameter)] = values
    return True


def _try_fill_mass(
    system: System, solver: Solver, body: Body, values: np.ndarray, numbers: MemberNumbers, base: np.ndarray
) -> bool:
    """Try to write the masses `values` (count,) of a body to `numbers`; return whether they have been written.

    The force elements are constructed for a copy of the body that records whether its mass or inertia is read. `base`
    are the inputs of all force laws without variation.
    """
    call, reads, inputs = made_with(body), list[str](), base.copy()
    if call is None or call.maker not in (Body, *SOLIDS):
        return False
    maker = MemberMaker(system, {}, [(body, watched(body, reads))])
    if not _try_fill_laws(system, solver, maker, inputs) or reads or inputs.tobytes() != base.tobytes():
        return False
    row = system.bodies.index(body)
    numbers.mass[:, row] = values
    if call.maker is not Body:
        assert body.shape is not None
        numbers.inertia[:, row] = body.shape.inertia(values)
    return True
