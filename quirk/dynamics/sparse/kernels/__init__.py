"""Compiled functions over bodies, joints and forces, from rows to y'."""
