"""Unilateral constraints in statics; unknowns are the poses and the contact forces.

Each gap is replaced by a force element whose load is the gradient of the gap times an internal variable, the contact
force. The resulting smooth system has derivatives with respect to poses and contact forces; the closed gaps follow from
complementarity: gap >= 0, force >= 0, one of them zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from quirk.bodies.state import State
from quirk.constraints.unilateral import Unilateral
from quirk.dynamics.contact.lcp import solve_lcp
from quirk.dynamics.model.applied_loads import coordinate_at
from quirk.events.quantity import Gap

from .operating_point import Point

if TYPE_CHECKING:
    from quirk.system.system import System

# Relative cutoff of singular values in least-squares steps, so that directions without stiffness are not moved; also
# the relative tolerance for negative gaps.
INDIFFERENT = 1e-11
# Contact forces below this fraction of the largest contact force are round-off.
NO_PUSH = 1e-9


class ContactForce(Gap):
    """Force of a unilateral constraint along one of its gaps, as an internal variable with rate zero.

    Parameters
    ----------
    constraint : the unilateral constraint
    number : index of the gap in the constraint
    """

    internal = ("push",)
    aside: tuple[str, ...] = ("title", "turned_joint", "label", "constraint", "number")

    def __init__(self, constraint: Unilateral, number: int) -> None:
        super().__init__(constraint, number)
        self.name = f"{constraint.name} pushes {number}"
        self.constraint, self.number = constraint, number

    push: float = 0.0
    constraint: Unilateral
    number: int

    def along(self, t: Any, x: Any, rate: Any) -> Any:
        """Return the contact force along the gap, N or N m.

        It does not depend on the time `t`, s, nor on the gap `x` and its `rate`.
        """
        return self.push

    def internal_rates(self, t: Any, x: Any, rate: Any) -> Any:
        """Return zero, the rate of the contact force, which does not change during a motion."""
        return 0.0


@dataclass(frozen=True)
class StaticContacts:
    """The c gaps of all enabled unilateral constraints of a system, with their contact forces.

    Attributes
    ----------
    system : copy of the system with one force element for each gap
    elements : the c force elements that exert the contact forces
    """

    system: System
    elements: tuple[ContactForce, ...]

    @classmethod
    def of(cls, system: System) -> StaticContacts:
        """Return the gaps and contact forces of a system, which is not modified."""
        acting = [
            constraint
            for constraint in system.constraints
            if isinstance(constraint, Unilateral) and system.is_active(constraint.name)
        ]
        elements = tuple(ContactForce(one, k) for one in acting for k in range(len(one.gaps)))
        return cls(system.with_parts(*elements) if elements else system, elements)

    def gaps(self, point: Point) -> np.ndarray:
        """Return the values (c,) of all gaps at an operating point, m or rad."""
        rows: dict[Any, tuple[int, ...]] = dict(point.model.forces)
        angles = point.state.angles
        found = [
            coordinate_at(element, rows[element], point.motion, point.t, angles).value for element in self.elements
        ]
        return np.array(found, dtype=float).reshape(len(self.elements))

    def at(self, state: State) -> np.ndarray:
        """Return the contact forces (c,), N or N m, from the internal variables of a state."""
        return np.array([float(np.ravel(state.internal.get(element.name, 0.0))[0]) for element in self.elements])

    def with_forces(self, state: State, x: np.ndarray) -> State:
        """Return a copy of the state with the contact forces x (c,), N or N m, as internal variables."""
        named = {**state.internal, **{one.name: np.array([push]) for one, push in zip(self.elements, x, strict=True)}}
        return State(*state.parts, angles=state.angles, internal=named, bodies=state.bodies)

    def complementarity_violation(self, x: np.ndarray, gaps: np.ndarray) -> float:
        """Return the largest violation of complementarity for contact forces `x` (c,) and `gaps` (c,).

        The violation at a gap is its size if a force acts, otherwise the penetration. Lengths are relative to the
        characteristic length of the system, angles are in rad.
        """
        if not len(x):
            return 0.0
        return float((np.where(x > 0, np.abs(gaps), np.maximum(-gaps, 0.0)) / self.units).max())

    @property
    def units(self) -> np.ndarray:
        """Units (c,) of the gaps: the characteristic length of the system (m) for lengths, and 1 rad for angles."""
        return np.array([1.0 if element.turning else self.system.model.length for element in self.elements])

    def without(self, state: State) -> State:
        """Return a copy of the state without internal variables for contact forces, for the original system."""
        own = {element.name for element in self.elements}
        internal = {name: numbers for name, numbers in state.internal.items() if name not in own}
        parts = (np.array(part) for part in state.parts)
        return State(*parts, angles=state.angles, internal=internal, bodies=state.bodies)

    def with_closed_gaps(self, system: System, x: np.ndarray) -> System:
        """Return a copy of `system` in which bilateral constraint rows keep the gaps that carry a contact force closed.

        These are the gaps with a positive entry in `x` (c,), the contact forces, N or N m. `system` is the system
        without elements for contact forces.
        """
        # Torques are compared with moments of forces about a point at the characteristic length.
        moments = x * self.units
        rows = {
            one.constraint.name: one.constraint.closed[one.number]
            for one, moment in zip(self.elements, moments, strict=True)
            if moment > NO_PUSH * moments.max()
        }
        on = system.configuration.with_constraints(on=frozenset(rows)).with_others(rows)
        return system.as_computed_by(system.plant_for(on)) if rows else system


def far_step(B: np.ndarray, g: np.ndarray, G: np.ndarray, gaps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a step toward equilibrium without an initial guess of the closed gaps.

    The step consists of a displacement du (v,) in free coordinates and contact forces x (c,). They satisfy B du = g + G
    x, and the linearized gaps, gaps + G^T du, are not negative. The symmetric part of B must be positive definite; a
    least-squares problem with this part provides the guess of the closed gaps for `near_step`.

    Parameters
    ----------
    B : (v, v) damping minus stiffness: minus the derivative of the accelerations, plus a multiple of the unit matrix
    g : (v,) accelerations along the free coordinates
    G : (v, c) accelerations due to unit contact forces, equal to the gradients of the gaps
    gaps : (c,) present gaps
    """
    alike = 0.5 * (B + B.T)
    by_push = np.linalg.solve(alike, G)
    held = solve_lcp(G.T @ by_push, gaps + by_push.T @ g)
    return near_step(B, g, G, gaps, np.zeros(len(gaps), dtype=bool) if held is None else held > 0)


def near_step(
    B: np.ndarray, g: np.ndarray, G: np.ndarray, gaps: np.ndarray, closed: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return a step toward equilibrium from a guess of the closed gaps: displacement du (v,) and contact forces x (c,).

    The step satisfies B du = g + G x, as in `far_step`. `closed` (c,), bool, is the guess: an active-set method opens
    gaps with negative force and closes penetrating gaps until there are none. B (v, v) is minus the derivative of the
    accelerations plus damping, g (v,) are the accelerations, G (v, c) the gradients of the gaps, and `gaps` (c,) the
    present gaps.
    """
    v, closed = len(g), closed.copy()
    tried: set[bytes] = set()
    while True:
        x, k = np.zeros(len(gaps)), int(closed.sum())
        A = np.block([[B, -G[:, closed]], [G[:, closed].T, np.zeros((k, k))]])
        found = _least(A, np.concatenate([g, -gaps[closed]]), v)
        x[closed] = found[v:]
        wrong = np.where(closed, x < 0, gaps + G.T @ found[:v] < -INDIFFERENT * np.abs(gaps).max(initial=1e-300))
        tried.add(closed.tobytes())
        closed = closed ^ wrong
        if not wrong.any() or closed.tobytes() in tried:
            return found[:v], x


def _least(A: np.ndarray, b: np.ndarray, v: int) -> np.ndarray:
    """Return the least-norm solution of A z = b, for unknowns z of two kinds.

    The first `v` unknowns are displacements, the others are forces. They are scaled so that all columns of A have
    similar norms.
    """
    size = np.abs(A[:, :v]).max(initial=0.0)
    across = np.abs(A[:, v:]).max(axis=0, initial=0.0)
    unit = np.ones(len(b))
    unit[v:] = np.where(across > 0, (size if size > 0 else 1.0) / np.where(across > 0, across, 1.0), 1.0)
    return np.asarray(unit * np.linalg.lstsq(unit[:, None] * A * unit, unit * b, rcond=INDIFFERENT)[0])
