"""Geometry of a system for drawing, shared by plots, animations and viewers."""
