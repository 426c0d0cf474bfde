"""Compiled solver of the Udwadia-Kalaba equation at a cost linear in the number of bodies."""
