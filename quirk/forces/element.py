"""What a force is to the rest of QuIRK, and the checks of what a user's function returns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from quirk import validate
from quirk.body import Body, Ground
from quirk.errors import InputError, QuirkError
from quirk.sealed import Sealed
from quirk.state import Kinematics


class Wrenches:
    """Loads summed up per body; the last row collects what acts on the ground.

    Attributes
    ----------
    force : (n + 1, 3) in N
    torque : (n + 1, 3) about the centres of mass, in N
    """

    def __init__(self, count: int) -> None:
        self.force = np.zeros((count + 1, 3))
        self.torque = np.zeros((count + 1, 3))

    def add_force(self, kin: Kinematics, body: int, force: np.ndarray, point: np.ndarray) -> None:
        """Add a force at a point, (3,) each, in N."""
        self.force[body] += force
        self.torque[body] += np.cross(point - kin.position[body], force)


class ForceElement(Sealed):
    """A force or torque on one or two bodies.

    Attributes
    ----------
    name : str
        Unique in a system.
    bodies : tuple of Body or GROUND
        On which it acts; `add_load` gets their rows in the same order.
    """

    name: str
    bodies: tuple[Body | Ground, ...]

    @abstractmethod
    def add_load(self, t: float, kin: Kinematics, rows: tuple[int, ...], loads: Wrenches) -> None:
        """Add this element's loads at time `t` s to `loads`."""

    @property
    def conservative(self) -> bool:
        """Whether all its work comes out of `potential_energy`."""
        return False

    def potential_energy(self, kin: Kinematics, rows: tuple[int, ...]) -> float:
        """Stored energy, J; none unless the element says otherwise."""
        return 0.0

    def __str__(self) -> str:
        return f'{type(self).__name__} "{self.name}"'

    def __repr__(self) -> str:
        return f"<{self}>"


def constant_or_function(
    owner: str, argument: str, value: Any, shape: tuple[int, ...], call: str
) -> Callable[..., Any]:
    """Return a function that gives an array of `shape`, from such an array or a user's function.

    `call` says how the function is called. Its results are checked at every call: a wrong shape or a value that
    is not finite stops the run with an InputError that names the element.
    """
    if not callable(value):
        constant = validate.array(owner, argument, value, shape)
        return lambda *_: constant

    def checked(t: float, *arguments: Any) -> np.ndarray:
        try:
            returned = value(t, *arguments)
        except QuirkError:
            raise
        except Exception as error:
            raise InputError(
                f"{owner}: its {argument} function, called as {call}, failed at t = {t:g} s: "
                f"{type(error).__name__}: {error}"
            ) from error
        return validate.array(f"{owner}, at t = {t:g} s", f"what its {argument} function returns", returned, shape)

    return checked
