"""Animations of results, drawn by matplotlib."""
