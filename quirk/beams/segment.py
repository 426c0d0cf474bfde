"""Elastic connection of two bodies of a beam: a segment of a geometrically exact, shear-deformable beam.

The strains are the logarithm of the relative pose of two nodes in SE(3), divided by the length h of the segment, minus
the reference: the value in the unloaded shape. With the rotation vector v and displacement d of node j relative to
node i,

 u = d - v x d / 2 + b v x (v x d),   b = (1 - |v|/2 cot(|v|/2)) / |v|^2,   strains (u, v) / h - reference.

The axis of the segment is then part of a helix. The strains e are invariant under rigid motions, and exact if they are
constant along the segment; the energy h/2 e.K e is integrated by the midpoint rule, with errors of order h^2
(Sonneville, Cardona and Bruels, Comput. Methods Appl. Mech. Eng. 268 (2014) 451).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..bodies.body import Body
from ..bodies.frame import Frame
from ..constraints.angle import relative_rotation_vector
from ..forces import ForceElement
from ..forces.place import Place

STRAINS = ("extension", "shear y", "shear z", "twist", "curvature y", "curvature z")
# Denominators of the continued fraction of x cot(x) in `_bend`. The relative truncation error of `_bend` is below 1e-12
# for rotations up to half a turn.
DENOMINATORS = (3, 5, 7, 9, 11, 13, 15, 17)


class BeamSegment(ForceElement):
    """Elasticity and damping of one segment of a `Beam`, between two of its bodies.

    The coordinates are the six strains, in this order: the extension (along x) and the shear strains along y and z,
    dimensionless; the twist about x and the curvatures about y and z, 1/m. Axes are those of node i; the strains are
    zero in the unloaded shape. The segments are created by `Beam`.

    Parameters
    ----------
    name : str
        Unique in a system.
    body_i, body_j : Body
        Bodies at the start and at the end of the segment.
    frame_i, frame_j : Frame
        Nodes at the ends of the segment, in body coordinates, with x along the beam.
    length : float
        Unloaded length, m.
    reference : (6,)
        (u, v) / length in the unloaded shape, where (u, v) is the logarithm of the pose of node j relative to node i in
        SE(3): the rotation vector v, rad, and the translational part u, m.
    stiffness, damping : (6, 6)
        Section matrices that map strains and strain rates to internal forces (N) and moments (N m). The units
        of their diagonal blocks are N and N m^2 for the stiffness, N s and N m^2 s for the damping.

    Examples
    --------
    >>> section = quirk.Section.circle(0.01, young=2.1e11, poisson=0.3, density=7850.0)
    >>> beam = quirk.Beam("beam", [0, 0, 0], [1, 0, 0], section=section, elements=4)
    >>> system = quirk.System([beam, quirk.Fixed("clamp", quirk.GROUND, beam.bodies[0], point=[0, 0, 0])])
    >>> segments = [force for force in system.forces if isinstance(force, quirk.BeamSegment)]
    >>> [segment.name for segment in segments][:2], segments[0].length
    (['beam segment 0', 'beam segment 1'], 0.25)
    """

    drawing = ""
    parameters = ("stiffness", "damping", "reference", "length")
    coordinates = STRAINS
    undefined = "its nodes are turned by half a turn relative to each other: take more elements; it"

    def __init__(
        self,
        name: str,
        body_i: Body,
        body_j: Body,
        *,
        frame_i: Frame,
        frame_j: Frame,
        length: float,
        reference: np.ndarray,
        stiffness: np.ndarray,
        damping: np.ndarray,
    ) -> None:
        self.length, self.reference = length, np.array(reference)
        self.stiffness, self.damping = np.array(stiffness), np.array(damping)
        # Without damping no code is generated for it.
        self.damps = bool(self.damping.any())
        super().__init__(name, (body_i, frame_i), (body_j, frame_j))

    def coordinate(self, t: Any, i: Place, j: Place) -> Any:
        """Return the six strains: extension and two shear strains, then twist and two curvatures, 1/m.

        The strains are relative to the unloaded shape, in the axes of node i. `i` and `j` are the frames of the nodes.
        """
        v = relative_rotation_vector(i, j)
        d = i.rotation.T @ (j.position - i.position)
        across = np.cross(v, d)
        u = d - 0.5 * across + _bend(0.25 * (v @ v)) * np.cross(v, across)
        return list(np.array([*u, *v]) / self.length - self.reference)

    def stored(self, t: Any, x: Any) -> Any:
        """Return the elastic energy (J) of the six strains x."""
        x = np.array(x)
        return 0.5 * self.length * (x @ (self.stiffness @ x))

    def along(self, t: Any, x: Any, rate: Any) -> Any:
        """Return the damping loads (6,) conjugate to the strains x, N m and N m^2, for the strain rates `rate` (6,)."""
        return list(-self.length * (self.damping @ np.array(rate))) if self.damps else [0] * len(STRAINS)

    @property
    def conservative(self) -> bool:
        """Whether the segment conserves energy, that is, has no damping."""
        return not self.damps


def relative_strains(position: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """Return the logarithm in SE(3) of the pose of node j relative to node i: (u, v) (..., 6), m and rad.

    (u, v) divided by the length, minus `BeamSegment.reference`, are the strains. `position` (..., 3), m, and `turn`
    (..., 3), rad, are the position and the rotation vector of node j in the axes of node i.
    """
    across = np.cross(turn, position)
    bend = _bend(0.25 * (turn * turn).sum(axis=-1, keepdims=True))
    return np.concatenate([position - 0.5 * across + bend * np.cross(turn, across), turn], axis=-1)


def _bend(square: Any) -> Any:
    """Return (1 - x cot(x)) / (4 x^2) for a rotation vector v (rad), with x = |v|/2; `square` is x^2.

    This is the factor b in the formula for the strains, computed by the continued fraction x cot(x) = 1 - x^2 / (3 -
    x^2 / (5 - ...)).
    """
    rest: Any = float(DENOMINATORS[-1])
    for denominator in reversed(DENOMINATORS[:-1]):
        rest = denominator - square / rest
    return 0.25 / rest
