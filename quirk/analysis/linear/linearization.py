"""Linear equations of small motions about a state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from quirk.bodies.state import State
from quirk.errors import InputError
from quirk.util.misuse import explained

from .eigenvalues import eigenvalues, units_of
from .inputs import directions_of, inputs_of
from .null_space import NullSpaceBasis
from .operating_point import Point
from .outputs import quantities
from .quantity_derivatives import QuantityDerivatives
from .states import States
from .steady_motion import SteadyMotion, kind_of, rate_of

if TYPE_CHECKING:
    from quirk.system.system import System


@explained
@dataclass(frozen=True)
class Linearization:
    """Linear system x' = A x + B u, y = C x + D u for small variations x, u, y of F states, i inputs and o outputs.

    Attributes
    ----------
    A, B, C, D : (F, F), (F, i), (o, F) and (o, i)
    states, inputs, outputs : names of states, inputs and outputs
    about : "equilibrium"; "steady motion", in the co-moving axes of `frame`; or "instant" of a motion with time-varying
        coefficients
    directions : (n, 12, F)
        Motion of the n bodies for a unit value of each state: displacements of the centers of mass in the inertial
        frame, m, rotations in body axes, rad, variations of velocities in the inertial frame, and of angular velocities
        in body axes.
    output_values : (o,) values of the outputs at the state
    state, time : the operating point
    frame : the steady motion, with `velocity` of the point at the inertial origin, angular velocity `turning` in the
        inertial frame, and `spin` (n, 3) of each body in body axes
    units : (F,) scales of the states for which the entries of A have similar magnitudes
    """

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    states: list[str]
    inputs: list[str]
    outputs: list[str]
    about: str
    directions: np.ndarray
    output_values: np.ndarray
    state: State
    time: float
    frame: SteadyMotion = field(repr=False)
    units: np.ndarray = field(repr=False)

    @cached_property
    def eigenvalues(self) -> np.ndarray:
        """All eigenvalues (F,) of A, complex, 1/s, by increasing absolute value."""
        return eigenvalues(self.A, self.units)

    def motion(self, x: Any) -> np.ndarray:
        """Return the motion of the n bodies (n, 12) for states x (F,), or (k, n, 12) for several states (k, F).

        The 12 components are described at the attribute `directions`.
        """
        given = np.asarray(x)
        if given.shape[-1:] != (len(self.states),) or given.dtype.kind not in "iufc":
            raise InputError(f"Linearization.motion: x must have {len(self.states)} numbers, one per state; got {x!r}")
        return np.einsum("ncf,...f->...nc", self.directions, given)

    def to_scipy(self) -> Any:
        """Return the system as a `scipy.signal.StateSpace`."""
        from scipy.signal import StateSpace

        inputs, outputs = max(1, len(self.inputs)), max(1, len(self.outputs))
        B, C, D = np.zeros((len(self.A), inputs)), np.zeros((outputs, len(self.A))), np.zeros((outputs, inputs))
        # SciPy requires at least one input and output: a zero one is added.
        B[:, : self.B.shape[1]], C[: self.C.shape[0]], D[: self.D.shape[0], : self.D.shape[1]] = self.B, self.C, self.D
        return StateSpace(self.A, B, C, D)

    def to_control(self) -> Any:
        """Return the system as a `control.StateSpace` with named signals.

        This requires python-control, the extra `quirk-dynamics[control]`.
        """
        try:
            import control
        except ImportError as error:
            raise InputError(
                "Linearization.to_control needs python-control: pip install quirk-dynamics[control]"
            ) from error
        names = {"states": self.states, "inputs": self.inputs, "outputs": self.outputs}
        # python-control uses dots to separate names of systems and signals.
        renamed = {what: [name.replace(".", "_") for name in given] for what, given in names.items()}
        return control.StateSpace(self.A, self.B, self.C, self.D, remove_useless_states=False, **renamed)

    def __repr__(self) -> str:
        sizes = f"{len(self.states)} states, {len(self.inputs)} inputs, {len(self.outputs)} outputs"
        return f"<Linearization about {'an' if self.about[0] in 'ei' else 'a'} {self.about}: {sizes}>"


def linearize(
    system: System,
    state: State,
    t: float,
    inputs: Iterable[Any] = (),
    outputs: Iterable[Any] = (),
    coordinates: Sequence[str] | None = None,
) -> Linearization:
    """Return the linear equations of small motions about a state at time t (s).

    `inputs`, `outputs` and `coordinates` are names as described for `System.linearize`.
    """
    point = Point(system, state, t)
    listed, asked = inputs_of(point.model, inputs), quantities("System.linearize", "outputs", point.system, outputs)
    free = NullSpaceBasis.at(point)
    basis = point.variation(free.directions())
    about, frame = kind_of(free, basis)
    states = States.of(free, coordinates)
    varied = basis if coordinates is None else point.variation(states.directions)
    A = states.system_matrix(varied if states.coordinates else frame.relative_rates(varied))
    units = units_of(A, free.poses.shape[1], free.velocities.shape[1], rate_of(point))
    B, driven = states.input_matrix(directions_of(point.model, listed))
    by_state, by_input = QuantityDerivatives(point, varied), QuantityDerivatives(point, driven)
    C, D = np.zeros((len(asked), free.size)), np.zeros((len(asked), len(listed)))
    values = np.zeros(len(asked))
    for k, one in enumerate(asked):
        values[k], C[k] = one.read(by_state)
        if listed:
            D[k] = one.read(by_input)[1]
    return Linearization(
        A, B, C, D, states.names, [one.name for one in listed], [one.name for one in asked], about,
        states.directions.bodies, values, point.state, t, frame, units,
    )  # fmt: skip
