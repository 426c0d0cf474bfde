"""States x of a linear system: coordinates of an orthonormal basis of free motions, or named coordinates and rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from quirk.dynamics.model.directions import Directions
from quirk.errors import InputError
from quirk.events.names import Reading

from .null_space import NullSpaceBasis
from .operating_point import OperatingVariation, Point
from .outputs import Named, quantities, rows_of
from .quantity_derivatives import QuantityDerivatives

OWNER = "System.linearize"
# Coordinates are independent if the singular values of their normalized variations exceed this. Variations of a
# coordinate below this fraction of the largest variation that motions of its bodies could cause are round-off.
INDEPENDENT = 1e-8
# Names of the rates of quantities, by the last part of the name of the quantity.
RATE_NAMES = {"angle": "angle_rate", "rotation": "angle_rate", "travel": "travel_rate", "translation": "travel_rate"}


@dataclass(frozen=True)
class States:
    """The F states x of a linear system about an operating point.

    Attributes
    ----------
    free : basis of the motions that the constraints allow
    names : name of each state
    directions : motion of the bodies for a unit value of each state
    coordinates : named quantities that define the states; empty for the orthonormal basis
    rates : indices of the coordinates whose rates are states
    """

    free: NullSpaceBasis
    names: list[str]
    directions: Directions
    coordinates: list[Named]
    rates: list[int]

    @classmethod
    def of(cls, free: NullSpaceBasis, names: Sequence[str] | None) -> States:
        """Return the states of the linear system at an operating point.

        The states are the coordinates in `names` and their rates or, if `names` is None, coordinates of the orthonormal
        basis `free`.
        """
        point, basis = free.point, free.directions()
        internal = [f"{element}.{name}" for element, name in _internal(point)]
        p, v = free.poses.shape[1], free.velocities.shape[1]
        if names is None:
            free_names = [f"pose {k}" for k in range(p)] + [f"velocity {k}" for k in range(v)]
            return cls(free, [*free_names, *internal], basis, [], [])
        chosen = quantities(OWNER, "coordinates", point.system, names)
        _require_coordinates(chosen)
        changes = _changes(chosen, QuantityDerivatives(point, point.variation(basis)))
        values, speeds = changes[:, 0], changes[:, 1]
        _check_poses(point, chosen, values, basis.bodies[:, :6, :p])
        rates = _independent(speeds[:, p : p + v], v)
        to_names = np.eye(free.size)
        to_names[:p], to_names[p : p + v] = values, speeds[rates]
        back = np.linalg.inv(to_names)
        listed = [named.name for named in chosen]
        listed += [_rate_name(chosen[k].name) for k in rates]
        return cls(free, [*listed, *internal], _combined(basis, back), chosen, rates)

    def system_matrix(self, frame: OperatingVariation) -> np.ndarray:
        """Return the matrix A (F, F) of the linear system x' = A x.

        `frame` contains the time derivatives of the directions of the states, in the co-moving axes of the steady
        motion.
        """
        if not self.coordinates:
            return self.free.coordinates(frame.bodies, frame.internal)
        return self._rates_of_names(frame)

    def input_matrix(self, directions: Directions) -> tuple[np.ndarray, OperatingVariation]:
        """Return the input matrix B (F, i) of the linear system, and the variations of the motion at constant states x.

        `directions` contains the i variations of parameters.
        """
        point = self.free.point
        completed = self.free.completed(directions)
        if not self.coordinates:
            varied = point.variation(completed)
            return self.free.coordinates(varied.bodies, varied.internal), varied
        moved = _changes(self.coordinates, QuantityDerivatives(point, point.variation(completed)))
        missing = np.concatenate([moved[:, 0], moved[self.rates, 1], completed.internal[: point.internal]])
        own = _combined(self.directions, missing)
        completed.bodies[:] -= own.bodies
        completed.internal[:] -= own.internal
        varied = point.variation(completed)
        return self._rates_of_names(varied), varied

    def _rates_of_names(self, varied: OperatingVariation) -> np.ndarray:
        found = _changes(self.coordinates, QuantityDerivatives(self.free.point, varied))
        return np.concatenate([found[:, 1], found[self.rates, 2], varied.internal])


def _changes(chosen: list[Named], changes: QuantityDerivatives) -> np.ndarray:
    """Return the derivatives (c, 3, D) of c coordinates along D directions.

    The middle axis contains the derivatives of the coordinate, of its rate and of its second time derivative. `chosen`
    are the coordinates, and `changes` contains the derivatives of the motion along the directions.
    """
    point = changes.point
    found = [changes.coordinate(one.of, rows_of(point, one.of))[1] for one in chosen]  # type: ignore[arg-type]
    return np.array(found).reshape(len(chosen), 3, changes.variation.directions.count)


def _combined(basis: Directions, columns: np.ndarray) -> Directions:
    """Return D linear combinations of the F directions in `basis`, with the coefficients `columns` (F, D)."""
    size = columns.shape[1]
    internal = np.einsum("kf,fd->kd", basis.internal, columns)
    bodies = np.einsum("ncf,fd->ncd", basis.bodies, columns)
    n = len(bodies)
    return replace(
        basis,
        bodies=bodies,
        internal=internal,
        time=np.zeros(size),
        mass=np.zeros((n, size)),
        inertia=np.zeros((n, 3, 3, size)),
        gravity=np.zeros((3, size)),
    )


def _internal(point: Point) -> list[tuple[str, str]]:
    """Return the name of the force element and of the variable for each internal variable at an operating point."""
    by_name = {element.name: element for element in point.system.forces}
    return [(own, name) for own in point.model.auxiliary.internal for name in by_name[own].internal]


def _require_coordinates(chosen: list[Named]) -> None:
    for one in chosen:
        if isinstance(one.of, Reading):
            raise InputError(
                f'{OWNER}: coordinates: "{one.name}" is not a coordinate of joints or bodies, such as "hinge.angle", '
                '"slider.travel" or "rod.position.x"'
            )


def _check_poses(point: Point, chosen: list[Named], values: np.ndarray, moved: np.ndarray) -> None:
    """Raise an InputError unless c coordinates determine all poses near an operating point.

    `chosen` are the coordinates, and `values` (c, F) are their derivatives with respect to the states; `moved` (n, 6,
    p) are the motions of the n bodies along the p free coordinates of poses.
    """
    p = moved.shape[2]
    for one, row in zip(chosen, values, strict=True):
        if not np.isfinite(row).all() or np.abs(row[p:]).max(initial=0.0) > INDEPENDENT * np.abs(row[:p]).max(
            initial=0.0
        ):
            raise InputError(f'{OWNER}: coordinates: "{one.name}" depends on more than poses, or is not smooth here')
    lengths = np.linalg.norm(values[:, :p], axis=1)
    for one, size, most in zip(chosen, lengths, _upper_bounds(point, chosen, moved), strict=True):
        if size <= INDEPENDENT * most:
            raise InputError(
                f'{OWNER}: coordinates: "{one.name}" does not change at this state, for any motion of the system; '
                "name another, such as the angle of a joint that turns"
            )
    scaled = values[:, :p] / lengths[:, None]
    sizes = np.linalg.svd(scaled, compute_uv=False) if scaled.size else np.zeros(0)
    rank = int((sizes > INDEPENDENT).sum())
    if rank < len(chosen):
        names = ", ".join(one.name for one in chosen)
        raise InputError(
            f"{OWNER}: coordinates: of the {len(chosen)} given ({names}) only {rank} are independent at this state; "
            f"it has {p} free coordinates"
        )
    if rank < p:
        raise InputError(
            f"{OWNER}: coordinates: {rank} do not determine all poses: the system has {p} free coordinates; name "
            f"{p - rank} more, such as the angle of another joint, or omit coordinates to use an orthonormal basis"
        )


def _upper_bounds(point: Point, chosen: list[Named], moved: np.ndarray) -> np.ndarray:
    """Return upper bounds (c,) of the variations of c coordinates for any combination of motions of the bodies.

    `chosen` are the coordinates, and `moved` (n, 6, p) are p motions from the operating point `point`. Translation and
    rotation of each body are bounded separately, by the product of the norms of gradient and motion, so that the bounds
    are independent of units and of other bodies.
    """
    rows = sorted({row for one in chosen for row in rows_of(point, one.of) if row < len(moved)})  # type: ignore[arg-type]
    alone = Directions.none(point.model, 6 * len(rows))
    for k, row in enumerate(rows):
        alone.bodies[row, :6, 6 * k : 6 * k + 6] = np.eye(6)
    gradients = _changes(chosen, QuantityDerivatives(point, point.variation(alone)))[:, 0].reshape(
        len(chosen), 2 * len(rows), 3
    )
    motions = np.linalg.norm(moved[rows].reshape(2 * len(rows), 3 * moved.shape[2]), axis=1)
    return np.linalg.norm(gradients, axis=2) @ motions


def _independent(rates: np.ndarray, count: int) -> list[int]:
    """Return the indices of the first `count` independent rows of `rates` (c, v).

    The rows are the rates of c coordinates for v free velocities.
    """
    found: list[int] = []
    left = rates.copy()
    for k, row in enumerate(left):
        size = float(np.linalg.norm(row))
        if len(found) < count and size > INDEPENDENT * float(np.linalg.norm(rates[k])):
            found.append(k)
            unit = row / size
            left[k + 1 :] -= np.outer(left[k + 1 :] @ unit, unit)
    return found


def _rate_name(name: str) -> str:
    head, _, last = name.rpartition(".")
    if last in RATE_NAMES and head:
        return f"{head}.{RATE_NAMES[last]}"
    middle, _, kind = head.rpartition(".")
    return f"{middle}.velocity.{last}" if kind == "position" and last in "xyz" else f"{name} rate"
