"""An elastic beam as one part of a system."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..bodies import rotation
from ..bodies.body import Body
from ..bodies.frame import Frame
from ..bodies.shape import ColorLike
from ..errors import InputError
from ..util import validate
from ..util.immutable import Immutable
from .center_line import center_line
from .lumping import BeamPiece, pieces
from .mass_damping import MassDamping
from .section import Section
from .segment import BeamSegment, relative_strains


class Beam(Immutable):
    """An elastic beam with large displacements and rotations: a chain of rigid bodies joined by elastic segments.

    The beam is divided into equal segments, with a node at each of their ends. A body at each node carries the mass of
    half a segment on either side, so that mass, center of mass and inertia of the unloaded beam are exact. Each segment
    has the stiffness of a geometrically exact, shear-deformable beam. Errors decrease with the square of the segment
    length; see docs/beams.md.

    The beam is passed to `System` as one part; the system then contains its bodies "NAME body 0" to "NAME body N" and
    its segments "NAME segment 0" to "NAME segment N-1". Joints and forces act on the bodies; the node of each body is
    its frame "node".

    Parameters
    ----------
    name : str
        Unique in a system.
    start, end : (3,)
        Ends of a straight beam in the inertial frame, m.
    section : Section
        Stiffness and inertia per length.
    elements : int
        Number of segments, N.
    curve : (n, 3) or function, optional
        Instead of `start` and `end`: points in the inertial frame, m, through which a smooth curve passes, or a smooth
        function of 0 to 1 that returns a point (3,). The beam is not loaded in this shape.
    up : (3,), optional
        Direction of the sections' z axis, in the inertial frame; its part perpendicular to the beam is used. Default:
        z, or y for a beam that starts along z.
    twist : float or function
        Rotation of the end section about the beam axis, rad, increasing linearly from the start; or a function of the
        fraction of the length that returns the angle. The twisted beam is unloaded.
    damping : float or (6,)
        Stiffness-proportional damping: section loads are this coefficient, s, times the stiffness K times the strain
        rates. Six numbers are coefficients of the six strains.
    mass_damping : float
        Mass-proportional damping, 1/s: the load on each body is minus this coefficient times its momentum. It also
        damps rigid-body motions. Rayleigh damping is the sum of both kinds of damping.
    color : optional
        Color for graphics: any matplotlib color.

    Attributes
    ----------
    bodies : tuple of N + 1 Body, from start to end
    segments : tuple of N BeamSegment
    parts : tuple of all bodies and force elements of the beam
    start_point, end_point : (3,)
        Start of the beam in the axes of the first body, and end in the axes of the last body, relative to the body's
        center of mass, m.
    length : float
        Unloaded length, m.

    Raises
    ------
    InputError
        If an argument is invalid, or `up` is parallel to the beam.

    Examples
    --------
    >>> steel = quirk.Section.rectangle(0.02, 0.01, young=2e11, poisson=0.3, density=7800.0)
    >>> beam = quirk.Beam("beam", [0, 0, 0], [1, 0, 0], section=steel, elements=8)
    >>> clamp = quirk.Fixed("clamp", quirk.GROUND, beam.bodies[0], point=[0, 0, 0])
    >>> load = quirk.Force("load", beam.bodies[-1], [0, 0, -10.0], point=beam.end_point)
    >>> system = quirk.System([beam, clamp, load])
    >>> len(system.bodies)
    9
    """

    def __init__(
        self,
        name: str,
        start: ArrayLike | None = None,
        end: ArrayLike | None = None,
        *,
        section: Section,
        elements: int,
        curve: ArrayLike | Callable[[float], ArrayLike] | None = None,
        up: ArrayLike | None = None,
        twist: float | Callable[[float], float] = 0.0,
        damping: ArrayLike = 0.0,
        mass_damping: float = 0.0,
        color: ColorLike | None = None,
    ) -> None:
        self.name = validate.name("Beam", name)
        owner = f"{self}"
        if not isinstance(section, Section):
            raise InputError(f"{owner}: section must be a quirk.Section; got {section!r}")
        self.section, self.elements, self.color = section, validate.whole(owner, "elements", elements), color
        line = center_line(owner, start, end, curve, up, twist, self.elements)
        self.length = line.length
        self.bodies = tuple(self._body(k, piece) for k, piece in enumerate(pieces(line, section, self.elements)))
        nodes = np.linspace(0.0, line.length, self.elements + 1)
        self.segments = self._segments(line.point(nodes), line.axes(nodes), _damping(owner, damping, section))
        rate = validate.non_negative(owner, "mass_damping", mass_damping)
        damps = (MassDamping(f"{body.name} damping", body, rate) for body in self.bodies) if rate else ()
        self.parts = (*self.bodies, *self.segments, *damps)
        self.companions = self.parts

    def _body(self, k: int, piece: BeamPiece) -> Body:
        node = Frame(-piece.center)
        position = piece.node + piece.axes @ piece.center
        turn = rotation.from_matrix(piece.axes)
        return Body(
            f"{self.name} body {k}",
            piece.mass,
            piece.inertia,
            position=position,
            orientation=turn,
            frames={"node": node},
        )

    def _segments(self, points: np.ndarray, axes: np.ndarray, damping: np.ndarray) -> tuple[BeamSegment, ...]:
        length = self.length / self.elements
        made = []
        for k, (i, j) in enumerate(zip(self.bodies, self.bodies[1:], strict=False)):
            turn = rotation.log(rotation.from_matrix(axes[k].T @ axes[k + 1]))
            reference = relative_strains(axes[k].T @ (points[k + 1] - points[k]), turn) / length
            segment = BeamSegment(
                f"{self.name} segment {k}",
                i,
                j,
                frame_i=i.frame("node"),
                frame_j=j.frame("node"),
                length=length,
                reference=reference,
                stiffness=self.section.stiffness,
                damping=damping,
            )
            made.append(segment)
        return tuple(made)

    @property
    def start_point(self) -> np.ndarray:
        """Start of the beam relative to the center of mass of the first body, in its body axes, (3,) m."""
        return self.bodies[0].frame("node").origin

    @property
    def end_point(self) -> np.ndarray:
        """End of the beam relative to the center of mass of the last body, in its body axes, (3,) m."""
        return self.bodies[-1].frame("node").origin

    def __str__(self) -> str:
        return f'Beam "{self.name}"'

    def __repr__(self) -> str:
        return f"<{self}: {self.elements} elements, {self.length:g} m>"


def _damping(owner: str, damping: Any, section: Section) -> np.ndarray:
    """Return the damping matrix (6, 6) of the section, which maps strain rates to loads: N s and N m^2 s.

    `damping` is the user's argument: one coefficient, s, or one for each of the six strains.
    """
    numbers = validate.numbers(damping)
    shape = (6,) if numbers is not None and numbers.shape == (6,) else ()
    times = validate.array(owner, "damping", damping, shape)
    if (times < 0).any():
        raise InputError(f"{owner}: damping must not be negative; got {damping!r}")
    roots = np.broadcast_to(np.sqrt(times), (6,))
    return np.asarray(roots[:, None] * section.stiffness * roots)
