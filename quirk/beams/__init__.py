"""Elastic beams: chains of rigid bodies joined by the elasticity of shear-deformable beam segments."""

from .beam import Beam
from .section import Section
from .segment import BeamSegment

__all__ = ["Beam", "BeamSegment", "Section"]
