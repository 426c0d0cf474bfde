"""Geometry of a system for drawing, used by plots, animations and viewers."""
