"""Closure errors of loops with redundant constraint rows.

If a loop does not close exactly because of rounded coordinates, assembly subtracts the closure error of each row as an
offset, which is stored in the system.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..bodies.state import Kinematics, State
from ..constraints import Constraint
from ..constraints.offsets import as_amounts, coincidences, may_be_offset, with_offsets
from ..errors import AssemblyError, InputError
from ..util import validate
from ..util.misuse import explained
from .assembly import constraint_of, violations

if TYPE_CHECKING:
    from ..system.system import System

# Violations below this fraction of the system's length (or of 1 rad) are round-off; no offset is stored for them.
ROUND_OFF = 1e-14

# Number of passes that compute the offsets. An offset moves the origin of a frame, which changes other rows of the
# constraint; the second pass corrects them.
PASSES = 2


@dataclass(frozen=True)
class Absorbed:
    """Closure error of one constraint row.

    Attributes
    ----------
    constraint : name of the constraint
    row : label of the row; components of a coincidence of two points are along the axes of body i
    amount : signed error in `unit`
    unit : "m" or "rad"
    """

    constraint: str
    row: str
    amount: float
    unit: str


@explained
@dataclass(frozen=True)
class Closure:
    """Closure errors that assembly has subtracted from constraint rows; see `System.assemble`.

    Attributes
    ----------
    tolerance : closure tolerance, m
    offsets : by name of the constraint, the offset of each of its rows; see `quirk.constraints.offsets`
    errors : list of Absorbed, largest first
    """

    tolerance: float
    offsets: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    errors: tuple[Absorbed, ...] = ()

    @classmethod
    def of(cls, constraints: Iterable[Constraint], tolerance: float, offsets: Mapping[str, Any]) -> Closure:
        """Return the closure errors for given offsets of constraint rows.

        `tolerance` is the closure tolerance, m. `offsets` contains the offsets of each constraint's rows by its name.

        Raises
        ------
        InputError
            If a constraint is unknown, or has a wrong number of offsets.
        """
        by_name = {constraint.name: constraint for constraint in constraints}
        checked: dict[str, tuple[float, ...]] = {}
        errors: list[Absorbed] = []
        for name, numbers in offsets.items():
            if name not in by_name:
                raise InputError(f'closure: offsets name "{name}", which is no constraint of the system')
            constraint = by_name[name]
            found = validate.array("closure", f"offsets[{name!r}]", numbers, (len(constraint.labels),))
            checked[name] = tuple(found.tolist())
            errors += _offset_sizes(constraint, found)
        errors.sort(key=lambda error: -abs(error.amount))
        return cls(validate.positive("closure", "tolerance", tolerance), checked, tuple(errors))

    def among(self, constraints: Iterable[Constraint]) -> Closure:
        """Return a `Closure` that contains only the offsets and errors of the given constraints."""
        listed = list(constraints)
        names = {constraint.name for constraint in listed}
        return Closure.of(listed, self.tolerance, {name: x for name, x in self.offsets.items() if name in names})

    def applied(self, constraint: Constraint) -> Constraint:
        """Return a copy of the constraint with its offsets, or the constraint itself if it has none."""
        offsets = self.offsets.get(constraint.name)
        return constraint if offsets is None else with_offsets(constraint, offsets)

    def __str__(self) -> str:
        if not self.errors:
            return f"no closure errors (tolerance {self.tolerance:g} m)"
        width = max(len(error.row) for error in self.errors)
        lines = [f"{error.row:<{width}}   {error.amount:12.4e} {error.unit}" for error in self.errors]
        head = f"closure errors absorbed, tolerance {self.tolerance:g} m (coincidences along the axes of body i)"
        return "\n".join([head, *lines])


def _offset_sizes(constraint: Constraint, offsets: np.ndarray) -> list[Absorbed]:
    """Return the nonzero offsets of a constraint as closure errors, that is, as lengths and angles.

    `offsets` contains the offset of each row of the constraint.
    """
    rows = zip(constraint.labels, offsets, as_amounts(constraint, offsets.tolist()), strict=True)
    return [Absorbed(constraint.name, label, *amount) for label, offset, amount in rows if offset != 0.0]


def absorbed(system: System, state: State, t: float) -> Closure:
    """Return the closure errors of an assembled state; with their offsets it satisfies all constraint rows.

    Raises
    ------
    AssemblyError
        If a row is violated by more than the closure tolerance of the system.
    """
    closure = system.closure
    assert closure is not None
    rotation = Kinematics.of(state).rotation
    for _ in range(PASSES):
        model, solver = system.model, system.plant.for_residuals
        amount, _, angular = violations(system, state, t)
        _check_tolerance(system, closure, np.where(angular, amount * model.length, amount))
        phi = solver.residuals(solver.slots.state_to_lanes(model.auxiliary.flat(state)), t)[:, 0]
        phi[amount <= ROUND_OFF * np.where(angular, 1.0, model.length)] = 0.0
        offsets = dict(closure.offsets)
        for constraint, (i, _) in model.joint_bodies:
            own = np.where(may_be_offset(constraint), phi[model.joint_rows[constraint.name]], 0.0)
            for rows, inertial, in_body in coincidences(constraint):
                own[rows] = in_body.T @ rotation[i].T @ inertial @ own[rows]
            if own.any():
                offsets[constraint.name] = tuple(own + offsets.get(constraint.name, 0.0))
        closure = Closure.of(system.constraints, closure.tolerance, offsets)
        system = system.with_closure(closure)
    return closure


def _check_tolerance(system: System, closure: Closure, amount: np.ndarray) -> None:
    """Raise an AssemblyError if a violation exceeds the closure tolerance.

    `amount` (m,) contains the violations of all m rows as lengths, m.
    """
    worst = int(np.argmax(amount))
    if amount[worst] > closure.tolerance:
        raise AssemblyError(
            f"{constraint_of(system, worst)}: cannot be assembled; its closure error is {amount[worst]:.3g} m (row "
            f"{system.model.labels[worst]}), more than closure_tolerance = {closure.tolerance:g} m: correct the "
            "drawing, or give a larger closure_tolerance"
        )
