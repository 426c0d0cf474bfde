"""Directions of sliding friction at the instant at which slip ends.

The slip velocities of friction elements are zero at this instant, t_end. Just before it they are s(t) = (t - t_end) a,
with the accelerations a of the slip. These depend on the directions e of the slip, as friction does. The limits of the
directions are therefore solutions of G(e) = e - w(e) = 0, with w = -a / |a| for each element. Eigenvalues of the
derivative of G are 1 for changes of the directions that no motion of the bodies causes. Other eigenvalues are -p, for
deviations from the limit in proportion to (t_end - t)^p. If p is positive, the deviation vanishes. If p is small or
negative, the direction at the end depends on the earlier motion, and is the last direction of the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from quirk.bodies.state import STATE_SIZE
from quirk.dynamics.model.layout import OMEGA, VELOCITY
from quirk.forces.friction import Friction
from quirk.forces.law_layout import COORDINATE

from .solver import Solver

# Interval before the end of slip in which its acceleration is computed, relative to the free-fall time over the length
# of the system and to the time of rotation by one radian. Truncation errors are proportional to its square, and
# round-off to its inverse.
STEP_BACK = 1e-5
# Change of a direction, rad, in difference quotients of G, which is smooth and of order one.
VARIED = 1e-6
# Smallest exponent p of a deviation that counts as vanished: 1e-10 s before the end, when slip is too small to be
# resolved, 1e-10^p of the deviation is left.
SLOWEST = 0.2
# Smallest eigenvalue of changes that no motion causes. It is 1 at the limit, and differs from 1 at other directions.
NO_MOTION = 0.5
# Newton's method: maximum number of iterations, largest change of a direction (rad), and change at convergence.
MOST, LARGEST, CONVERGED = 30, 0.5, 1e-9


def last_slip_directions(solver: Solver) -> dict[str, tuple[float, ...]]:
    """Return unit vectors (d,) along the slip at the last step of a run with slip, by name of the friction element.

    Only sliding `Friction` elements with several slip components are included. `solver` is the solver of the run.
    """
    inputs = solver.applied.table.inputs
    return {one.name: tuple(inputs[into].tolist()) for one, into, _ in _sliding_elements(solver)}


@contextmanager
def directions_before_rest(
    solver: Solver, t: float, y: np.ndarray, last: Mapping[str, Sequence[float]]
) -> Iterator[dict[str, np.ndarray]]:
    """Set the directions of friction whose slip ends to their limits before the end, within the context.

    The context variable contains these directions by name of the friction element, unit vectors (d,).

    Parameters
    ----------
    solver : Solver
    t, y : time, s, and state (size,) at which slip ends
    last : directions of the slip at the last step of the run, by name; see `last_slip_directions`
    """
    inputs = solver.applied.table.inputs
    before = inputs.copy()
    try:
        ending = _EndingSlip(solver, t, y, last)
        yield ending.limits()
    finally:
        inputs[:] = before


def _sliding_elements(solver: Solver) -> list[tuple[Friction, slice, slice]]:
    """Return the sliding `Friction` elements with several slip components.

    Each item consists of the element, the places of its direction among the inputs of all force laws, and the places of
    its slip components among their outputs.
    """
    table = solver.frictions
    elements = [element for element, _ in solver.model.forces if isinstance(element, Friction)]
    found = []
    for element, out, into in zip(elements, table.slip.tolist(), table.direction.tolist(), strict=True):
        d = element.slip.size
        if d > 1:
            found.append(
                (element, slice(into, into + d), slice(out + COORDINATE, out + COORDINATE * (d + 1), COORDINATE))
            )
    return found


class _EndingSlip:
    """Friction elements whose slip ends at a state.

    Parameters
    ----------
    solver : Solver
    t, y : time, s, and state (size,) at which slip ends
    last : directions of the slip at the last step of the run, by name
    """

    def __init__(self, solver: Solver, t: float, y: np.ndarray, last: Mapping[str, Sequence[float]]) -> None:
        self._solver, self._t, self._state = solver, t, solver.slots.state_from_lanes(y)
        self._velocities = np.zeros(self._state.shape, dtype=bool)
        self._velocities[: STATE_SIZE * solver.slots.bodies].reshape(-1, STATE_SIZE)[:, VELOCITY:] = True
        inputs, outputs = solver.applied.table.inputs, solver.applied.table.outputs
        solver.rates(t, y)
        self._elements = [
            (one, into, out)
            for one, into, out in _sliding_elements(solver)
            if one.name in last and np.linalg.norm(outputs[out]) <= one.floor
        ]
        self._set([np.array(last[one.name]) for one, _, _ in self._elements])
        accelerations = self._accelerations_before()
        slowing = [a @ inputs[into] < 0.0 for a, (_, into, _) in zip(accelerations, self._elements, strict=True)]
        for (one, into, _), slows in zip(self._elements, slowing, strict=True):
            inputs[into] = inputs[into] if slows else one.direction
        self._elements = [one for one, slows in zip(self._elements, slowing, strict=True) if slows]
        self._directions = [inputs[into].copy() for _, into, _ in self._elements]
        self._accelerations = self._accelerations_before()

    def limits(self) -> dict[str, np.ndarray]:
        """Set the directions in the solver to their limits, and return them by name.

        If Newton's method does not find the limits, they are the last directions of the run.
        """
        directions = self._directions
        for _ in range(MOST if directions else 0):
            tangents = _tangents(directions)
            G = self._deviations(directions)
            if G is None:
                break
            columns = [self._deviations(_turned(directions, VARIED * tangent)) for tangent in tangents.T]
            if any(column is None for column in columns):
                break
            slopes = np.stack([column - G for column in columns if column is not None], axis=1) / VARIED
            turn = tangents @ _newton_step(tangents.T @ slopes, tangents.T @ G)
            largest = np.abs(turn).max()
            directions = _turned(directions, -turn * min(1.0, LARGEST / max(largest, LARGEST)))
            if largest <= CONVERGED:
                self._directions = directions
                break
        self._set(self._directions)
        return {one.name: e for (one, _, _), e in zip(self._elements, self._directions, strict=True)}

    def _deviations(self, directions: Sequence[np.ndarray]) -> np.ndarray | None:
        """Return e - w(e), concatenated, for the directions e; None if the slip of an element does not decrease.

        Here, w is scaled to w . e = 1. Rates of velocities change the acceleration of the slip as velocities change the
        slip, which is linear in them.
        """
        rates = self._rates
        self._set(directions)
        change = np.where(self._velocities, self._rates_now() - rates, 0.0)
        found = []
        still, moved = self._slips(0.0 * change), self._slips(change)
        for e, a, s0, s1 in zip(directions, self._accelerations, still, moved, strict=True):
            w = -(a + s1 - s0)
            if not w @ e > 0.0:
                return None
            found.append(e - w / (w @ e))
        return np.concatenate(found)

    def _set(self, directions: Sequence[np.ndarray]) -> None:
        for (_, into, _), e in zip(self._elements, directions, strict=True):
            self._solver.applied.table.inputs[into] = e

    def _rates_now(self) -> np.ndarray:
        """Return the rates (13 n + k,) of the state with the directions that are set."""
        return np.asarray(self._solver.slots.state_from_lanes(self._solver.rates(self._t, self._lanes(self._state))))

    def _lanes(self, state: np.ndarray) -> np.ndarray:
        return np.asarray(self._solver.slots.state_to_lanes(state))

    def _slips(self, change: np.ndarray, before: float = 0.0) -> list[np.ndarray]:
        """Return the slip (d,) of each element, m/s, at the state plus `change` (13 n + k,).

        The slip is evaluated at the time `before` (s) the instant.
        """
        self._solver.rates(self._t - before, self._lanes(self._state + change))
        return [self._solver.applied.table.outputs[out].copy() for _, _, out in self._elements]

    def _accelerations_before(self) -> list[np.ndarray]:
        """Return the acceleration (d,) of the slip of each element, m/s^2, with the directions that are set.

        It is a difference quotient of second order of the slip at the instant and before it. The rates of the state are
        stored.
        """
        self._rates = self._rates_now()
        length, n = self._solver.model.length, self._solver.slots.bodies
        state, rates = (array[: STATE_SIZE * n].reshape(n, -1) for array in (self._state, self._rates))
        size = np.abs(rates[:, VELOCITY:OMEGA]).max() + length * np.abs(rates[:, OMEGA:]).max()
        fastest = max(np.sqrt(size / length), np.abs(state[:, OMEGA:]).max(), np.finfo(float).tiny)
        h = STEP_BACK / fastest
        now, half, whole = (self._slips(-part * h * self._rates, part * h) for part in (0.0, 0.5, 1.0))
        return [(3.0 * a - 4.0 * b + c) / h for a, b, c in zip(now, half, whole, strict=True)]


def _tangents(directions: Sequence[np.ndarray]) -> np.ndarray:
    """Return an orthonormal basis (r, m) of the changes of unit vectors, which are concatenated, as columns."""
    ends = np.cumsum([0, *(len(e) for e in directions)])
    columns = []
    for e, first in zip(directions, ends, strict=False):
        for across in np.linalg.svd(e[None])[2][1:]:
            columns.append(np.zeros(ends[-1]))
            columns[-1][first : first + len(e)] = across
    return np.stack(columns, axis=1)


def _turned(directions: Sequence[np.ndarray], change: np.ndarray) -> list[np.ndarray]:
    """Return the unit vectors along the sums of `directions` and the parts of `change`, which is concatenated."""
    ends = np.cumsum([len(e) for e in directions])[:-1]
    sums = (e + part for e, part in zip(directions, np.split(change, ends), strict=True))
    return [e / np.linalg.norm(e) for e in sums]


def _newton_step(slopes: np.ndarray, G: np.ndarray) -> np.ndarray:
    """Return the solution x (m,) of slopes x = G in the directions in which deviations vanish or cannot occur.

    `slopes` (m, m) is the derivative of G. The components along its other eigenvectors are zero.
    """
    values, vectors = np.linalg.eig(slopes)
    moves = (values.real >= NO_MOTION) | (values.real <= -SLOWEST)
    parts = np.linalg.solve(vectors, G.astype(complex))
    return np.asarray((vectors @ np.where(moves, parts / np.where(moves, values, 1.0), 0.0)).real)
