"""A bushing: an elastic connection in all six directions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..bodies.body import Body, Ground
from ..bodies.frame import Frame
from ..constraints.angle import relative_rotation_vector
from ..constraints.constraint import checked_ends, frame_in, placement
from ..errors import InputError
from ..util import validate
from .element import ForceElement
from .place import Place

COORDINATES = ("x", "y", "z", "about x", "about y", "about z")


class Bushing(ForceElement):
    """A massless bushing between two frames: loads preload - K x - C x' along six coordinates x.

    The coordinates are the displacement (3,) of the origin of frame j from that of frame i, in the axes of frame i, m,
    and the rotation vector (3,), rad, of frame j relative to frame i, which is smooth for angles below pi. If
    rotational stiffness, damping and preload are all zero, the frames rotate freely. The loads
    include all moments that are conjugate to the coordinates, so that forces and torques balance at any displacement.
    The energy x.K x / 2 - preload.x of the symmetric part of K is stored.

    Parameters
    ----------
    body_i, body_j : Body or GROUND
    point : (3,)
        Location in the inertial frame at the initial poses, m; the axes are those of the inertial frame.
    frame_i, frame_j : Frame
        Alternatively, both frames in body coordinates, or names of frames of the bodies.
    stiffness : (6, 6) or (6,)
        Stiffness matrix K, or its diagonal: N/m, N/rad, N m/m and N m/rad.
    damping : (6, 6) or (6,)
        Damping matrix C, or its diagonal: N s/m, N s/rad, N m s/m and N m s/rad; it must be dissipative.
    preload : (6,)
        Force (N) and torque (N m) on body j at x = 0.

    Examples
    --------
    >>> block = quirk.Body.box("block", 2.0, [1, 1, 1], position=[0, 0, -0.01])
    >>> frames = {"frame_i": quirk.Frame(), "frame_j": quirk.Frame()}
    >>> mount = quirk.Bushing("mount", quirk.GROUND, block, **frames, stiffness=[100, 100, 200, 1, 1, 1])
    >>> system = quirk.System([block, mount])
    >>> system.acceleration(system.initial_state()).linear
    array([[0., 0., 1.]])
    """

    drawing = "force"

    parameters = ("stiffness", "damping", "preload")
    undefined = "its frames are turned by half a turn, where a rotation vector may point either way,"

    def __init__(
        self,
        name: str,
        body_i: Body | Ground,
        body_j: Body | Ground,
        *,
        point: ArrayLike | None = None,
        frame_i: Frame | str | None = None,
        frame_j: Frame | str | None = None,
        stiffness: ArrayLike,
        damping: ArrayLike = (0, 0, 0, 0, 0, 0),
        preload: ArrayLike = (0, 0, 0, 0, 0, 0),
    ) -> None:
        owner = checked_ends("Bushing", name, body_i, body_j)

        def frames() -> tuple[Frame, Frame]:
            where = validate.array(owner, "point", point, (3,))
            return frame_in(body_i, where, np.eye(3)), frame_in(body_j, where, np.eye(3))

        i, j = placement(owner, {"point": point}, ("point",), frames, (body_i, frame_i), (body_j, frame_j))
        self.stiffness = _matrix(owner, "stiffness", stiffness)
        self.damping = _matrix(owner, "damping", damping)
        symmetric = self.damping + self.damping.T
        least, largest = np.linalg.eigvalsh(symmetric)[[0, -1]]
        if least < -1e-12 * largest:
            raise InputError(f"{owner}: damping must be dissipative in all directions; got {damping!r}")
        self.preload = validate.array(owner, "preload", preload, (6,))
        # A symmetric matrix has no circulatory part, so no code is generated for it.
        self.circulates = bool((self.stiffness != self.stiffness.T).any())
        self.damps = bool(self.damping.any())
        # Without rotational terms there is no rotation vector, and no limit of half a turn.
        given = self.stiffness, self.stiffness.T, self.damping, self.damping.T, self.preload
        self.coordinates = COORDINATES if any(part[3:].any() for part in given) else COORDINATES[:3]
        super().__init__(name, (body_i, i), (body_j, j))

    def coordinate(self, t: Any, i: Place, j: Place) -> Any:
        """Return the displacement (3,) of frame j in the axes of frame i, m, and its rotation vector (3,), rad.

        The rotation vector is omitted if rotations have no load.
        """
        displacement = i.rotation.T @ (j.position - i.position)
        return [*displacement, *(relative_rotation_vector(i, j) if len(self.coordinates) == 6 else ())]

    def stored(self, t: Any, x: Any) -> Any:
        """Return the stored energy x.K x / 2 - preload.x, J, for coordinates x, m and rad."""
        x, n = np.array(x), len(x)
        return x @ (0.5 * (self.stiffness[:n, :n] @ x) - self.preload[:n])

    def along(self, t: Any, x: Any, rate: Any) -> Any:
        """Return the nonconservative loads on body j along the coordinates, N and N m.

        These loads are due to damping and to the antisymmetric part of the stiffness matrix K. `x` and `rate` are the
        coordinates, m and rad, and their rates.
        """
        n = len(x)
        loads = -(self.damping[:n, :n] @ np.array(rate)) if self.damps else [0] * n
        if self.circulates:
            loads = loads - 0.5 * ((self.stiffness - self.stiffness.T)[:n, :n] @ np.array(x))
        return list(loads)

    @property
    def conservative(self) -> bool:
        """Whether the loads conserve energy: the stiffness matrix is symmetric and there is no damping."""
        return not (self.circulates or self.damps)


def _matrix(owner: str, argument: str, value: Any) -> np.ndarray:
    """Return a matrix (6, 6) from the user's `value`, which is the matrix or its diagonal (6,)."""
    given = validate.numbers(value)
    if given is not None and given.shape == (6,):
        diagonal = validate.array(owner, argument, value, (6,))
        for k, x in enumerate(diagonal):
            validate.non_negative(owner, f"{argument}[{k}]", x)
        return np.diag(diagonal)
    if given is None or given.shape != (6, 6):
        raise InputError(f"{owner}: {argument} must be 6 numbers or a 6 x 6 matrix; got {value!r}")
    return validate.array(owner, argument, value, (6, 6))
