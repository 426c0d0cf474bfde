"""A magnet pinned by a type-II superconductor, by the frozen-image model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..autodiff.jet import where
from ..bodies import rotation
from ..bodies.body import Body, Ground
from ..bodies.frame import Frame, axes_with_z
from ..constraints.constraint import checked_ends
from ..errors import InputError
from ..util import validate
from .element import ForceElement
from .place import Place

# Vacuum permeability divided by 4 pi, N/A^2, CODATA 2018.
PERMEABILITY = 1.25663706212e-6 / (4 * np.pi)
# Signs of the mirror image of positions and moments, in the axes of the surface with normal z.
MIRROR = np.array([1.0, 1.0, -1.0])


class FluxPinning(ForceElement):
    """Flux pinning of a magnetic dipole in body j by the flat surface of a type-II superconductor in body i.

    The field at cooling is frozen into the superconductor, as the field of an image behind its surface (frozen image);
    later changes of the field are shielded by a second image, which moves with the magnet (mobile image). At the pose
    of cooling the fields of both images cancel. The potential is the interaction with the frozen image plus half the
    interaction with the mobile image, which is induced. The two image dipoles exert forces and torques on the magnet,
    and the opposite loads on the superconductor (Kordyuk, J. Appl. Phys. 83 (1998) 610; for spacecraft Jones, Wilson,
    Gorman and Peck, 2012).

    The superconductor is assumed large and the magnet small in comparison with their distance.

    Parameters
    ----------
    body_i, body_j : Body or GROUND
        Bodies of the superconductor and of the magnet.
    moment : (3,)
        Dipole moment of the magnet, A m^2, in the axes of body j.
    point_i : (3,), body axes
        A point of the surface in the coordinates of body i, m.
    normal : "x", "y", "z" or (3,)
        Outward normal of the surface in the axes of body i.
    point_j : (3,), body axes
        Position of the magnet in the coordinates of body j, m.
    cooled : Frame, optional
        Pose of body j in the coordinates of body i when the superconductor was cooled; default: that of the initial
        poses.

    Examples
    --------
    >>> port = quirk.Body.sphere("port", 1.0, 0.1)
    >>> visitor = quirk.Body.sphere("visitor", 1.0, 0.1, position=[0, 0, 0.05])
    >>> pin = quirk.FluxPinning("pin", port, visitor, moment=[0, 0, 1.0])
    >>> system = quirk.System([port, visitor, pin])
    >>> system.acceleration(system.initial_state()).linear.round(6) + 0.0
    array([[0., 0., 0.],
           [0., 0., 0.]])
    """

    parameters = ("moment", "image", "cooled_axes")
    undefined = "the magnet has come to the surface of the superconductor"

    def __init__(
        self,
        name: str,
        body_i: Body | Ground,
        body_j: Body | Ground,
        moment: ArrayLike,
        *,
        point_i: ArrayLike = (0, 0, 0),
        normal: ArrayLike = "z",
        point_j: ArrayLike = (0, 0, 0),
        cooled: Frame | None = None,
    ) -> None:
        owner = checked_ends("FluxPinning", name, body_i, body_j)
        self.moment = validate.array(owner, "moment", moment, (3,))
        if not self.moment.any():
            raise InputError(f"{owner}: moment must not be zero; give that of the magnet in A m^2, in body axes")
        axes = axes_with_z(validate.direction(owner, "normal", normal))
        surface = Frame(validate.array(owner, "point_i", point_i, (3,)), rotation.from_matrix(axes))
        magnet = Frame(validate.array(owner, "point_j", point_j, (3,)))
        if cooled is None:
            cooled = _relative(body_i, body_j)
        elif not isinstance(cooled, Frame):
            raise InputError(f"{owner}: cooled must be a quirk.Frame in the coordinates of {body_i}; got {cooled!r}")
        at = surface.matrix.T @ (cooled.origin + cooled.matrix @ magnet.origin - surface.origin)
        if at[2] <= 0:
            raise InputError(
                f"{owner}: the magnet must be in front of the surface when it is cooled; it is {-at[2]:.3g} m behind: "
                "turn the normal over, or check point_i, point_j and the poses"
            )
        self.image = MIRROR * at
        # Axes of body j in those of the surface at cooling.
        self.cooled_axes = surface.matrix.T @ cooled.matrix
        super().__init__(name, (body_i, surface), (body_j, magnet))

    def potential(self, t: Any, i: Place, j: Place) -> Any:
        """Return the potential energy of the magnet with the frozen and the mobile image, J."""
        at = i.rotation.T @ (j.position - i.position)
        moment = i.rotation.T @ (j.rotation @ self.moment)
        d, height = at - self.image, where(at[2] > 0.0, at[2], np.nan)
        square = d @ d
        image_moment = -MIRROR * (self.cooled_axes @ self.moment)
        frozen = moment @ image_moment - 3.0 * (moment @ d) * (image_moment @ d) / square
        # Half of the interaction energy with the mirrored moment, at twice the height.
        mobile = (moment @ moment + moment[2] ** 2) / 16.0
        return PERMEABILITY * (frozen / (square * np.sqrt(square)) + mobile / height**3)


def _relative(body_i: Body | Ground, body_j: Body | Ground) -> Frame:
    """Return the initial pose of body j as a Frame in the coordinates of body i."""
    turn = rotation.multiply(rotation.conjugate(body_i.orientation), body_j.orientation)
    return Frame(body_i.local(body_j.position), turn)
