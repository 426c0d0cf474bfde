"""Sensitivities of a result, accessible by parameter and by name of a body, constraint or force."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from quirk.analysis.linear.outputs import quantities as quantities_of
from quirk.bodies.body import Body
from quirk.bodies.rotation import multiply
from quirk.bodies.state import STATE_SIZE
from quirk.constraints import Constraint
from quirk.errors import InputError
from quirk.forces import ForceElement
from quirk.result.segment import joined
from quirk.util.misuse import explained

from .at_instant import OWNER, Instant, instants
from .change import ParameterChange
from .loads import SegmentLoads, is_load, loads_along

if TYPE_CHECKING:
    from quirk.result.result import Result

    from .parameters import Parameter


@explained
class Sensitivities:
    """Derivatives of a motion with respect to parameters.

    ``result.sensitivity[("rod", "mass")]["rod"].position`` is the derivative of a position with respect to a mass.

    Attributes
    ----------
    result : result whose motion is differentiated
    parameters : keys of the parameters: pairs (part, parameter), or "gravity"
    """

    def __init__(
        self,
        result: Result,
        parameters: Sequence[Parameter],
        variations: Sequence[np.ndarray],
        event_times: np.ndarray,
    ) -> None:
        self._event_times = event_times
        self.result, self._parameters, self._segments = result, tuple(parameters), tuple(variations)
        ends = np.cumsum([0, *(parameter.size for parameter in parameters)])
        self._quantities: dict[str, np.ndarray] = {}
        self._columns = {parameter.key: slice(int(ends[n]), int(ends[n + 1])) for n, parameter in enumerate(parameters)}

    @property
    def parameters(self) -> list[Any]:
        """Parameters as they were passed to `simulate`."""
        return [parameter.key for parameter in self._parameters]

    @property
    def all_parameters(self) -> tuple[Parameter, ...]:
        """All parameters with the derivatives of the system, in the order of their elements' columns in `states`."""
        return self._parameters

    def __getitem__(self, key: Any) -> Sensitivity:
        """Return the derivatives with respect to one parameter, a pair or "gravity", as passed to `simulate`."""
        for parameter in self._parameters:
            if parameter.key == (tuple(key) if isinstance(key, list) else key):
                return Sensitivity(self, parameter)
        listed = ", ".join(repr(parameter) for parameter in self.parameters)
        raise InputError(f"Result: no sensitivity to parameter {key!r}; available: {listed}")

    def __iter__(self) -> Any:
        return iter(self.parameters)

    def __len__(self) -> int:
        return len(self._parameters)

    def __repr__(self) -> str:
        return f"<Sensitivities by {', '.join(repr(one) for one in self.parameters)}>"

    @cached_property
    def states(self) -> np.ndarray:
        """Derivatives (nt, D, 13 n + k) of the states at nt times with respect to all D elements of the parameters.

        A state consists of 13 values for each of n bodies (position, quaternion, velocity, angular velocity in body
        axes) and k auxiliary states, such as integrals of controllers.
        """
        return joined(self._segments)

    @cached_property
    def accelerations(self) -> np.ndarray:
        """Derivatives (nt, n, 6, D) of accelerations: linear in the inertial frame, angular in body axes."""
        return joined([
            np.array([instant.variation.bodies[:, 6:].copy() for instant in self._instants(k)])
            if loads is None
            else loads.accelerations
            for k, loads in enumerate(self._loads)
        ])  # fmt: skip

    def quantities(self, names: Sequence[str]) -> list[np.ndarray]:
        """Return a list of the derivatives (nt, D) of named quantities with respect to all D parameter elements."""
        missing = [name for name in names if name not in self._quantities]
        if missing:
            by_segment = [self._in_segment(k, missing) for k in range(len(self._segments))]
            self._quantities.update({name: joined([part[name] for part in by_segment]) for name in missing})
        return [self._quantities[name] for name in names]

    def _in_segment(self, k: int, names: Sequence[str]) -> dict[str, np.ndarray]:
        """Return the derivatives (nt, D) of named quantities at the nt outputs of segment k, by name."""
        named = {one.name: one.of for one in quantities_of(OWNER, "a quantity", self.result.system, names)}
        self._refuse_shared(k, named)
        loads = self._loads[k] if any(is_load(of) for of in named.values()) else None
        derivatives = {}
        if loads is not None:
            derivatives = {
                name: loads.of(of) for name, of in named.items() if is_load(of) and loads.has_derivatives(of)
            }
        rest = [name for name in names if name not in derivatives]
        if rest:
            read = np.array([one.read(rest) for one in self._instants(k)])
            derivatives.update(zip(rest, np.moveaxis(read, 1, 0), strict=True))
        return derivatives

    def _refuse_shared(self, k: int, named: Mapping[str, object]) -> None:
        """Raise an InputError if a quantity is a load shared by contacts or joints, not determined by the motion.

        `k` is the index of the segment, and `named` are the quantities by name.
        """
        if not any(is_load(of) for of in named.values()):
            return
        result = self.result
        contacts, joints = result._contact_loads[k], result._shares[k].shared(result.system.model.length)
        for name, of in named.items():
            if not is_load(of):
                continue
            part = getattr(of.of, "name", "")
            if part in joints or (contacts is not None and part in contacts.shared):
                raise InputError(
                    f'{OWNER}: "{name}" has no derivative, since {of.of} shares its load with contacts, joints or '
                    "sticking friction, and rigid bodies determine only the sum: use finite differences, or hold the "
                    "body by fewer of them"
                )

    @cached_property
    def _loads(self) -> list[SegmentLoads | None]:
        """Derivatives of accelerations and loads along each segment; None for segments evaluated time by time."""
        pairs = zip(self.result.segments, self._segments, strict=True)
        return [loads_along(self.result.system, segment, states, self._changes) for segment, states in pairs]

    @property
    def _changes(self) -> list[ParameterChange]:
        return [change for parameter in self._parameters for change in parameter.changes]

    def _instants(self, k: int) -> Iterator[Instant]:
        """Return an iterator over the states of segment k with their derivatives."""
        return instants(self.result.system, self.result.segments[k], self._segments[k], self._changes)


@explained
class Sensitivity:
    """Derivatives of a run with respect to one parameter.

    Arrays have the shape of the corresponding array of the result, followed by the shape of the parameter.

    Attributes
    ----------
    parameter : key of the parameter
    shape : shape of the parameter's value
    """

    def __init__(self, sensitivities: Sensitivities, parameter: Parameter) -> None:
        self._sensitivities, self._of = sensitivities, parameter
        self.parameter, self.shape = parameter.key, parameter.shape

    def __repr__(self) -> str:
        return f"<Sensitivity by {self.parameter!r}>"

    def __getitem__(self, name: str) -> Any:
        """Return the derivatives of the motion of a body, or of the load of a constraint or force element, by name."""
        part = self._sensitivities.result.system[name]
        if isinstance(part, Body):
            return BodySensitivity(self, self._sensitivities.result.system.bodies.index(part))
        if isinstance(part, Constraint | ForceElement):
            return LoadSensitivity(self, part)
        raise InputError(f"Result: sensitivity: {part} has no states or loads")

    def of(self, name: str) -> np.ndarray:
        """Return the derivative (nt, ...) of a quantity, such as "hinge.angle" or "rod.velocity.x".

        The dots stand for the shape of the parameter.
        """
        (derivative,) = self._sensitivities.quantities([name])
        return self.shaped(derivative[:, None, self.columns])[:, 0]

    @property
    def event_times(self) -> np.ndarray:
        """Derivatives (events, ...) of the times of `result.events`, s per unit.

        The dots stand for the shape of the parameter. They are NaN where a contact opens that shares its load.
        """
        times = self._sensitivities._event_times
        return times[:, self.columns].reshape(len(times), *self.shape)

    @property
    def columns(self) -> slice:
        """Columns of this parameter in arrays with a column for each of the D elements of all parameters."""
        return self._sensitivities._columns[self.parameter]

    def shaped(self, array: np.ndarray) -> np.ndarray:
        """Return derivatives (nt, c, d) by the d elements of the parameter in the shape (nt, c, ...).

        The dots stand for the shape of the parameter.
        """
        return array.reshape(*array.shape[:-1], *self.shape)


@explained
class BodySensitivity:
    """Derivatives of the motion of a body with respect to a parameter.

    Arrays are (nt, 3, ...), where the dots stand for the shape of the parameter.
    """

    def __init__(self, sensitivity: Sensitivity, row: int) -> None:
        self._of, self._row = sensitivity, row

    def __repr__(self) -> str:
        return f"<Sensitivity of {self._of._sensitivities.result.system.bodies[self._row]} by {self._of.parameter!r}>"

    def _components(self, first: int, count: int) -> np.ndarray:
        start = STATE_SIZE * self._row + first
        changes = self._of._sensitivities.states[:, self._of.columns, start : start + count]
        return self._of.shaped(np.swapaxes(changes, 1, 2))

    @property
    def position(self) -> np.ndarray:
        """Derivative of the position of the center of mass, inertial frame, m."""
        return self._components(0, 3)

    @property
    def orientation(self) -> np.ndarray:
        """Derivative of the quaternion of the body, (nt, 4, ...)."""
        return self._components(3, 4)

    @property
    def turn(self) -> np.ndarray:
        """Derivative of the orientation as a small rotation vector, body axes, rad."""
        q = self._of._sensitivities.result.state.orientation[:, self._row] * [1.0, -1.0, -1.0, -1.0]
        start = STATE_SIZE * self._row + 3
        changes = self._of._sensitivities.states[:, self._of.columns, start : start + 4]
        turn = 2.0 * multiply(np.broadcast_to(q[:, None], changes.shape), changes)[..., 1:]
        return self._of.shaped(np.swapaxes(turn, 1, 2))

    @property
    def velocity(self) -> np.ndarray:
        """Derivative of the velocity of the center of mass, inertial frame, m/s."""
        return self._components(7, 3)

    @property
    def angular_velocity(self) -> np.ndarray:
        """Derivative of the angular velocity, body axes, rad/s."""
        return self._components(10, 3)

    @property
    def acceleration(self) -> np.ndarray:
        """Derivative of the acceleration of the center of mass, inertial frame, m/s^2."""
        return self._of.shaped(self._of._sensitivities.accelerations[:, self._row, :3, self._of.columns])

    @property
    def angular_acceleration(self) -> np.ndarray:
        """Derivative of the angular acceleration, body axes, rad/s^2."""
        return self._of.shaped(self._of._sensitivities.accelerations[:, self._row, 3:, self._of.columns])


@explained
class LoadSensitivity:
    """Derivatives of the load of a constraint or force element with respect to one parameter.

    Arrays are (nt, 3, ...), where the dots stand for the shape of the parameter.
    """

    def __init__(self, sensitivity: Sensitivity, part: Constraint | ForceElement) -> None:
        self._of, self._part = sensitivity, part

    def __repr__(self) -> str:
        return f"<Sensitivity of {self._part} by {self._of.parameter!r}>"

    def force(self) -> np.ndarray:
        """Return the derivative (nt, 3, ...) of the force (N), inertial frame.

        The force acts on body j of a constraint, or on the last body of a force element.
        """
        return self._load("force")

    def torque(self) -> np.ndarray:
        """Return the derivative (nt, 3, ...) of the torque about the joint point, N m, inertial frame.

        The torque acts on body j of a constraint, or on the last body of a force element.
        """
        return self._load("torque")

    def _load(self, kind: str) -> np.ndarray:
        names = [f"{self._part.name}.{which}.{axis}" for which in ("force", "torque") for axis in "xyz"]
        components = self._of._sensitivities.quantities(names)[0 if kind == "force" else 3 :][:3]
        return self._of.shaped(np.stack([part[:, self._of.columns] for part in components], axis=1))
