"""Rigid bodies and what they are made of: rotations, frames, solids, meshes, and the state of a system of bodies."""
