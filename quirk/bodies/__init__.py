"""Rigid bodies: rotations, frames, solids, meshes, and the state of a system of bodies."""
