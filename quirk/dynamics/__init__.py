"""Equations of motion: arrays of a model, dense reference solver, contact, and compiled sparse solver."""
