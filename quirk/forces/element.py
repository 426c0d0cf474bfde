"""What a force is to the rest of QuIRK, and the checks of what a user's function returns."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from quirk import validate
from quirk.body import Body, Ground
from quirk.errors import InputError, QuirkError
from quirk.sealed import Sealed
from quirk.state import Kinematics

from .law import Law


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

    def law(self) -> Law | None:
        """What compiled kernels are to do in place of `add_load`; without a law they call that."""
        return None

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


class Value:
    """A load given as numbers or as a user's function.

    What a function returns is checked at every call: a wrong shape or a value that is not finite stops the run
    with an InputError that names the element.

    Parameters
    ----------
    owner, argument : who asks for it, for messages
    value : array of `shape`, or function
    call : how the function is called

    Attributes
    ----------
    constant : array of `shape`, or None
    function : the user's function, or None
    """

    def __init__(self, owner: str, argument: str, value: Any, shape: tuple[int, ...], call: str) -> None:
        self.owner, self.argument, self.shape, self.form = owner, argument, shape, call
        self.function = value if callable(value) else None
        self.constant = None if callable(value) else validate.array(owner, argument, value, shape)

    def __call__(self, t: float, *arguments: Any) -> np.ndarray:
        """Return the load at one state."""
        if self.function is None:
            assert self.constant is not None
            return self.constant
        try:
            returned = self.function(t, *arguments)
        except QuirkError:
            raise
        except Exception as error:
            raise InputError(
                f"{self.owner}: its {self.argument} function, called as {self.form}, failed at t = {t:g} s: "
                f"{type(error).__name__}: {error}"
            ) from error
        what = f"what its {self.argument} function returns"
        return validate.array(f"{self.owner}, at t = {t:g} s", what, returned, self.shape)

    @property
    def numbers(self) -> np.ndarray:
        """The constant as three numbers; zeros for a function."""
        numbers = np.zeros(3)
        if self.constant is not None:
            numbers[: self.constant.size] = self.constant
        return numbers
