"""Geometry of a system for plots, animations and viewers."""
