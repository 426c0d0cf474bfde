"""What a force is to the rest of QuIRK."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from quirk.body import Body, Ground
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

    def __init__(self, count: int, dtype: Any = float) -> None:
        self.force = np.zeros((count + 1, 3), dtype=dtype)
        self.torque = np.zeros((count + 1, 3), dtype=dtype)

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
    def add_load(self, t: Any, kin: Kinematics, rows: tuple[int, ...], loads: Wrenches) -> None:
        """Add this element's loads at time `t` s to `loads`.

        Numbers may be jets, for the derivatives of loads along a motion: so use operators and numpy's functions.
        """

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
