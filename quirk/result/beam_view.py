"""Time histories of an elastic beam."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..beams.helix import between_nodes
from ..bodies import rotation
from ..util import validate
from ..util.misuse import explained

if TYPE_CHECKING:
    from ..beams import Beam

FRAMES = ("section", "inertial")


@explained
class BeamView:
    """Motion, strains and section loads of a beam over nt times.

    Strains and loads refer to the middle of each of the N segments; section axes are x along the beam, y and z. The
    nodes are the N + 1 ends of the segments.

    Attributes
    ----------
    of : the beam
    arc_length : (N + 1,) unloaded arc length of the nodes, m
    middle_arc_length : (N,) unloaded arc length of the midpoints of the segments, m

    Examples
    --------
    >>> steel = quirk.Section.rectangle(0.02, 0.01, young=2e11, poisson=0.3, density=7800.0)
    >>> beam = quirk.Beam("beam", [0, 0, 0], [1, 0, 0], section=steel, elements=2)
    >>> result = quirk.simulate(quirk.System([beam]), 1.0, output=1.0)
    >>> result["beam"].center_line[0]
    array([[0. , 0. , 0. ],
           [0.5, 0. , 0. ],
           [1. , 0. , 0. ]])
    """

    def __init__(self, result: Any, beam: Beam) -> None:
        self._result, self.of = result, beam
        nodes = np.linspace(0.0, beam.length, beam.elements + 1)
        self.arc_length, self.middle_arc_length = nodes, 0.5 * (nodes[1:] + nodes[:-1])

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.of} at {len(self._result.time)} times>"

    @cached_property
    def center_line(self) -> np.ndarray:
        """Positions of the nodes (nt, N + 1, 3), inertial frame, m."""
        arms = np.array([body.frame("node").origin for body in self.of.bodies])
        state = self._result.state
        return state.position[:, self._rows] + np.einsum("tnij,nj->tni", self.axes, arms)

    @property
    def orientation(self) -> np.ndarray:
        """Unit quaternions (nt, N + 1, 4) of the section axes at the nodes, section to inertial."""
        return self._result.state.orientation[:, self._rows]

    @cached_property
    def axes(self) -> np.ndarray:
        """Section axes (nt, N + 1, 3, 3) at the nodes, as columns, inertial frame."""
        return rotation.matrix(self.orientation)

    def curve(self, fineness: int = 8) -> np.ndarray:
        """Return a smooth center line (nt, N fineness + 1, 3), inertial frame, m.

        `fineness` is the number of intervals per segment.
        """
        fineness = validate.whole(f"{self.of}", "fineness", fineness)
        return between_nodes(self.center_line, self.orientation, fineness)[0]

    @cached_property
    def strains(self) -> np.ndarray:
        """Strains (nt, N, 6): extension and shear along y and z, dimensionless, then twist and curvatures, 1/m.

        Curvatures are about y and z.
        """
        return self._coordinates(0)

    @cached_property
    def strain_rates(self) -> np.ndarray:
        """Rates (nt, N, 6) of `strains`, 1/s and 1/(m s)."""
        return self._coordinates(1)

    def force(self, frame: str = "section") -> np.ndarray:
        """Return section forces (nt, N, 3), N: tension and shear forces along y and z, or inertial components.

        `frame` is "section" or "inertial". The forces include damping, and act from the part of the beam toward its end
        on the part toward its start.
        """
        return self._in_inertial_axes(self._loads[..., :3], frame)

    def moment(self, frame: str = "section") -> np.ndarray:
        """Return section moments (nt, N, 3), N m: torsion, and bending about y and z, or inertial components.

        `frame` and sign are as for `force`.
        """
        return self._in_inertial_axes(self._loads[..., 3:], frame)

    @property
    def energy(self) -> np.ndarray:
        """Elastic energy (nt,), J."""
        return np.sum([self._result[segment.name].energy for segment in self.of.segments], axis=0)

    @cached_property
    def _rows(self) -> list[int]:
        rows = {id(body): row for row, body in enumerate(self._result.system.bodies)}
        return [rows[id(body)] for body in self.of.bodies]

    @cached_property
    def _loads(self) -> np.ndarray:
        """Section forces (N) and moments (N m) due to elasticity and damping, (nt, N, 6), section axes."""
        segment = self.of.segments[0]
        return self.strains @ segment.stiffness + self.strain_rates @ segment.damping

    def _coordinates(self, axis: int) -> np.ndarray:
        found = [self._result[segment.name].exerted.coordinates[:, :, axis] for segment in self.of.segments]
        return np.stack(found, axis=1)

    def _in_inertial_axes(self, vectors: np.ndarray, frame: str) -> np.ndarray:
        if validate.choice(f"{self.of}", "frame", frame, FRAMES) == "section":
            return vectors
        middle = between_nodes(self.center_line, self.orientation, 2)[1][:, 1::2]
        return np.einsum("tnij,tnj->tni", rotation.matrix(middle), vectors)
