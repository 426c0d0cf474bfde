"""Equations of motion: model arrays, dense reference solver, contact, and compiled sparse solver."""
