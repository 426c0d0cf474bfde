"""Elastic beams: chains of rigid bodies that are connected by the elasticity of shear-deformable beam segments.

A beam with N segments has N + 1 nodes, which are the ends of the segments. The section axes at a point are x along the
beam, and y and z in the cross-section.
"""

from .beam import Beam
from .section import Section
from .segment import BeamSegment

__all__ = ["Beam", "BeamSegment", "Section"]
