"""Animations of a result, drawn by matplotlib."""
