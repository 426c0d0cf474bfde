"""Elements on many bodies at once: a field of acceleration, damping, and any potential of their poses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from quirk import validate
from quirk.body import Body, Ground
from quirk.errors import InputError
from quirk.frame import Frame

from .element import ForceElement
from .place import Place
from .value import Value, motions_of


class _OnBodies(ForceElement):
    """Base of elements that act at the centres of mass of given bodies, or of all bodies of a system.

    Attributes
    ----------
    masses : of the bodies, kg
    """

    drawing = ""
    between = False

    aside: tuple[str, ...] = ("everywhere",)
    masses: Any

    def __init__(self, name: str, bodies: Any) -> None:
        owner = f'{type(self).__name__} "{validate.name(type(self).__name__, name)}"'
        self.everywhere = bodies is None
        listed = checked_bodies(owner, bodies or ())
        if not listed and not self.everywhere:
            raise InputError(f"{owner}: bodies must be one body or more, or None for all of the system; got {bodies!r}")
        self.name = name
        vars(self).update(self._on(listed))

    @staticmethod
    def _on(bodies: Sequence[Body]) -> dict[str, Any]:
        """Return the attributes that depend on the bodies: frames at their centres of mass, and masses."""
        ends = tuple((body, Frame()) for body in bodies)
        return {"ends": ends, "masses": np.array([body.mass for body in bodies])}

    @property
    def needs(self) -> tuple[Body | Ground, ...]:
        """The bodies that were given; none, if it acts on all that there are."""
        return () if self.everywhere else self.bodies

    def placed(self, bodies: Sequence[Body]) -> Self:
        """Return the element for a system: one that acts on all its bodies, if no bodies were given."""
        return self.with_values(self._on(bodies)) if self.everywhere else self


class UniformField(_OnBodies):
    """The same acceleration for several bodies, as gravity is: force m a at each centre of mass.

    Parameters
    ----------
    bodies : list of Body, optional
        Default: all bodies of the system; for constant gravity on all, `System(..., gravity=a)` does the same.
    acceleration : (3,) numbers or Motions
        a in N, m/s^2.
    """

    parameters = ("masses", "acceleration")

    def __init__(self, name: str, bodies: Any = None, *, acceleration: Any) -> None:
        super().__init__(name, bodies)
        given = motions_of(f"{self}", "acceleration", acceleration)
        self.acceleration = None if given else validate.array(f"{self}", "acceleration", acceleration, (3,))
        self.motions = tuple(given)
        vars(self).update(given)

    def potential(self, t: Any, *bodies: Place) -> Any:
        """Return minus the sum of m a.r."""
        a = np.array([getattr(self, name) for name in self.motions]) if self.motions else self.acceleration
        energy: Any = 0.0
        for mass, body in zip(self.masses, bodies, strict=True):
            energy = energy - mass * (a @ body.centre)
        return energy

    @property
    def conservative(self) -> bool:
        """Whether the field is constant."""
        return not self.motions


class Damping(_OnBodies):
    """Linear damping of the motion of bodies in N: force -c v at the centre of mass, torque -d omega.

    Parameters
    ----------
    bodies : list of Body, optional
        Default: all bodies of the system.
    translational : float
        c of each body, N s/m, not negative.
    rotational : float
        d of each body, N m s, not negative.
    """

    parameters = ("translational", "rotational")
    aside = ("everywhere", "masses")

    def __init__(self, name: str, bodies: Any = None, *, translational: float = 0.0, rotational: float = 0.0) -> None:
        super().__init__(name, bodies)
        self.translational = validate.non_negative(f"{self}", "translational", translational)
        self.rotational = validate.non_negative(f"{self}", "rotational", rotational)

    def load(self, t: Any, *bodies: Place) -> Any:
        """Return force and torque on each body."""
        return [(-self.translational * body.centre_velocity, -self.rotational * body.spin) for body in bodies]


class Potential(ForceElement):
    """Forces and torques of a potential energy of the poses of one or more bodies: its exact negative gradient.

    Parameters
    ----------
    bodies : Body, or list of Body and GROUND
    energy : function
        ``f(t, r, R)`` returns the energy, J: s, the centre of mass (3,) in N, m, and the rotation matrix (3, 3), body
        to inertial; for several bodies ``f(t, r_1, R_1, r_2, R_2, ...)``. It is differentiated, and so must use
        + - * / ** @, numpy's functions and `quirk.where` alone.
    """

    drawing = ""

    parameters = ("energy",)

    def __init__(self, name: str, bodies: Any, energy: Any) -> None:
        owner = f'Potential "{validate.name("Potential", name)}"'
        listed = [bodies] if isinstance(bodies, Body | Ground) else list(bodies)
        if not callable(energy):
            raise InputError(f"{owner}: energy must be a function that returns J; got {energy!r}")
        call = "f(t, r, R)" if len(listed) == 1 else "f(t, r_1, R_1, r_2, R_2, ...)"
        self.energy = Value(owner, "energy", energy, (), call, (3, (3, 3)) * len(listed))
        super().__init__(name, *((body, Frame()) for body in listed))

    def potential(self, t: Any, *bodies: Place) -> Any:
        """Return the energy."""
        return self.energy(t, *(part for body in bodies for part in (body.position, body.rotation)))


def checked_bodies(owner: str, bodies: Any) -> list[Body]:
    """Return bodies, given as a list or one alone."""
    listed = [bodies] if isinstance(bodies, Body) else list(bodies)
    for body in listed:
        if not isinstance(body, Body):
            raise InputError(f"{owner}: bodies must be quirk.Body objects; got {body!r}")
    if len({id(body) for body in listed}) < len(listed):
        raise InputError(f"{owner}: bodies must differ; got one of them twice")
    return listed
