"""Force elements on many bodies: fields of acceleration, force and energy, damping, and potentials of poses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..bodies.body import Body, Ground
from ..bodies.frame import Frame
from ..errors import InputError
from ..functions.motion import as_motion
from ..util import validate
from .element import ForceElement
from .on_bodies import OnBodies, as_list
from .on_body import CALL, FRAMES, SIZES, value_for
from .place import Place
from .value import LoadLike, Value, motions_of


class UniformField(OnBodies):
    """A uniform acceleration field, such as gravity: force m a at each center of mass.

    Parameters
    ----------
    bodies : list of Body, optional
        Default: all bodies of the system; constant gravity on all bodies is also `System(..., gravity=a)`.
    acceleration : (3,) numbers or Motions
        Acceleration a in the inertial frame, m/s^2.

    Examples
    --------
    >>> ball = quirk.Body.sphere("ball", 2.0, 0.1)
    >>> system = quirk.System([ball, quirk.UniformField("wave", acceleration=["sin(t)", 0, -9.81])])
    >>> system.acceleration(system.initial_state()).linear
    array([[ 0.  ,  0.  , -9.81]])
    """

    parameters = ("masses", "acceleration")

    def __init__(self, name: str, bodies: Body | Iterable[Body] | None = None, *, acceleration: LoadLike) -> None:
        super().__init__(name, bodies)
        if isinstance(acceleration, list | tuple) and any(isinstance(x, str) for x in acceleration):
            acceleration = [as_motion(f"{self}", "acceleration", x) for x in acceleration]
        given = motions_of(f"{self}", "acceleration", acceleration)
        self.acceleration = None if given else validate.array(f"{self}", "acceleration", acceleration, (3,))
        self.motions = tuple(given)
        vars(self).update(given)

    def potential(self, t: Any, *bodies: Place) -> Any:
        """Return the potential energy (J), minus the sum of m a . r over all bodies at positions r."""
        a = np.array([getattr(self, name) for name in self.motions]) if self.motions else self.acceleration
        energy: Any = 0.0
        for mass, body in zip(self.masses, bodies, strict=True):
            energy = energy - mass * (a @ body.center)
        return energy

    @property
    def conservative(self) -> bool:
        """Whether energy is conserved, which holds if the acceleration is constant in time."""
        return not self.motions


class Damping(OnBodies):
    """Linear damping of the motion of bodies in the inertial frame: force -c v at each center of mass, torque -d omega.

    Parameters
    ----------
    bodies : list of Body, optional
        Default: all bodies of the system.
    translational : float
        Damping coefficient c of each body, N s/m, not negative.
    rotational : float
        Rotational damping coefficient d of each body, N m s, not negative.

    Examples
    --------
    >>> ball = quirk.Body.sphere("ball", 2.0, 0.1, velocity=[3.0, 0, 0])
    >>> system = quirk.System([ball, quirk.Damping("air", translational=0.5)])
    >>> system.acceleration(system.initial_state()).linear + 0.0
    array([[-0.75,  0.  ,  0.  ]])
    """

    parameters = ("translational", "rotational")
    aside = ("everywhere", "masses")

    def __init__(
        self,
        name: str,
        bodies: Body | Iterable[Body] | None = None,
        *,
        translational: float = 0.0,
        rotational: float = 0.0,
    ) -> None:
        super().__init__(name, bodies)
        self.translational = validate.non_negative(f"{self}", "translational", translational)
        self.rotational = validate.non_negative(f"{self}", "rotational", rotational)

    def load(self, t: Any, *bodies: Place) -> Any:
        """Return the damping force (N) and torque (N m) on each body, in the inertial frame."""
        return [(-self.translational * body.center_velocity, -self.rotational * body.spin) for body in bodies]


class ForceField(OnBodies):
    """A force and a torque on each of several bodies as functions of its motion; forces act at the center of mass.

    The functions are called for each body as ``f(t, position, orientation, velocity, angular_velocity)``, with the time
    (s), the position (m) and velocity (m/s) in the inertial frame, the quaternion (4,), and the angular velocity
    (rad/s) in body axes.

    Parameters
    ----------
    bodies : list of Body, optional
        Default: all bodies of the system.
    force : (3,) or function, optional
        Force on each body, N.
    torque : (3,) or function, optional
        Torque on each body, N m.
    frame : "inertial" or "body"
        Axes of force and torque.

    Examples
    --------
    >>> balls = [quirk.Body.sphere(name, 2.0, 0.1, position=[k, 0, 0]) for k, name in enumerate("ab")]
    >>> field = quirk.ForceField("field", force=lambda t, position, *motion: -4.0 * position)
    >>> system = quirk.System([*balls, field])
    >>> system.acceleration(system.initial_state()).linear + 0.0
    array([[ 0.,  0.,  0.],
           [-2.,  0.,  0.]])
    """

    aside = ("everywhere", "masses", "force", "torque")

    def __init__(
        self,
        name: str,
        bodies: Body | Iterable[Body] | None = None,
        *,
        force: LoadLike | None = None,
        torque: LoadLike | None = None,
        frame: str = "inertial",
    ) -> None:
        owner = f'ForceField "{validate.name("ForceField", name)}"'
        if force is None and torque is None:
            raise InputError(f"{owner}: needs force, torque or both")
        self.force = None if force is None else Value(owner, "force", force, (3,), CALL, SIZES)
        self.torque = None if torque is None else Value(owner, "torque", torque, (3,), CALL, SIZES)
        self.frame = validate.choice(owner, "frame", frame, FRAMES)
        super().__init__(name, bodies)

    def _on(self, bodies: Sequence[Body]) -> dict[str, Any]:
        return super()._on(bodies) | for_each(bodies, force=self.force, torque=self.torque)

    def load(self, t: Any, *bodies: Place) -> Any:
        """Return the force (N) and torque (N m) on each body, in the inertial frame."""
        return [(self._load("force", k, t, body), self._load("torque", k, t, body)) for k, body in enumerate(bodies)]

    def _load(self, quantity: str, number: int, t: Any, body: Place) -> Any:
        value = getattr(self, f"{quantity}_{number}", None)
        if value is None:
            return 0
        load = value_for(value, t, body)
        return body.rotation @ load if self.frame == "body" else load


class PotentialField(OnBodies):
    """A potential energy of the position of each body: forces are its negative gradient at the centers of mass.

    Parameters
    ----------
    bodies : list of Body, optional
        Default: all bodies of the system.
    energy : function
        ``f(t, r)`` returns the energy (J) of one body, from the time (s) and the position (3,) of its center of mass in
        the inertial frame, m. It is differentiated, and must therefore use only + - * / ** @, numpy's functions and
        `quirk.where`.

    Examples
    --------
    >>> ball = quirk.Body.sphere("ball", 2.0, 0.1, position=[1.0, 0, 0])
    >>> system = quirk.System([ball, quirk.PotentialField("bowl", energy=lambda t, r: 3.0 * (r @ r))])
    >>> system.acceleration(system.initial_state()).linear + 0.0
    array([[-3.,  0.,  0.]])
    """

    aside = ("everywhere", "masses", "energy")

    def __init__(
        self, name: str, bodies: Body | Iterable[Body] | None = None, *, energy: str | Callable[..., Any]
    ) -> None:
        owner = f'PotentialField "{validate.name("PotentialField", name)}"'
        self.energy = Value(owner, "energy", checked_energy(owner, energy), (), "f(t, r)", (3,))
        super().__init__(name, bodies)

    def _on(self, bodies: Sequence[Body]) -> dict[str, Any]:
        return super()._on(bodies) | for_each(bodies, energy=self.energy)

    def potential(self, t: Any, *bodies: Place) -> Any:
        """Return the sum of the energies of all bodies, J."""
        total: Any = 0.0
        for k, body in enumerate(bodies):
            total = total + getattr(self, f"energy_{k}")(t, body.position)
        return total


class Potential(ForceElement):
    """Forces and torques of a potential energy of the poses of one or more bodies: its exact negative gradient.

    Parameters
    ----------
    bodies : Body, or list of Body and GROUND
    energy : function
        ``f(t, r, R)`` returns the energy (J) from the time (s), the position (3,) of the center of mass in the inertial
        frame, m, and the rotation matrix (3, 3), body to inertial; for several bodies
        ``f(t, r_1, R_1, r_2, R_2, ...)``. It is differentiated, and must therefore use only + - * / ** @, numpy's
        functions and `quirk.where`.

    Examples
    --------
    >>> bead = quirk.Body.sphere("bead", 2.0, 0.1, position=[1.0, 0, 0])
    >>> system = quirk.System([bead, quirk.Potential("bowl", bead, lambda t, r, R: 3.0 * (r @ r))])
    >>> system.acceleration(system.initial_state()).linear + 0.0
    array([[-3.,  0.,  0.]])
    """

    drawing = ""

    parameters = ("energy",)

    def __init__(self, name: str, bodies: Body | Iterable[Body | Ground], energy: str | Callable[..., Any]) -> None:
        owner = f'Potential "{validate.name("Potential", name)}"'
        listed = as_list(bodies)
        numbered = "".join(f", r_{k}, R_{k}" for k in range(1, len(listed) + 1))
        call = "f(t, r, R)" if len(listed) == 1 else f"f(t{numbered})"
        self.energy = Value(owner, "energy", checked_energy(owner, energy), (), call, (3, (3, 3)) * len(listed))
        super().__init__(name, *((body, Frame()) for body in listed))

    def potential(self, t: Any, *bodies: Place) -> Any:
        """Return the potential energy (J) of the poses of the bodies."""
        return self.energy(t, *(part for body in bodies for part in (body.position, body.rotation)))


def for_each(bodies: Sequence[Body], **values: Value | None) -> dict[str, Any]:
    """Return the attributes of an element on several bodies: each parameter is copied once per body.

    The value `energy` of body k becomes the attribute `energy_k`. Parameters that are None are omitted.
    """
    made = {f"{name}_{k}": value for name, value in values.items() if value is not None for k in range(len(bodies))}
    return {"parameters": tuple(made), **made}


def checked_energy(owner: str, energy: Any) -> Any:
    """Return `energy`, which must be a function or an expression as a string; otherwise an InputError is raised."""
    if not callable(energy) and not isinstance(energy, str):
        raise InputError(f"{owner}: energy must be a function that returns J; got {energy!r}")
    return energy
