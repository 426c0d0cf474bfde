"""Compiled solver of the Udwadia-Kalaba equation, with a cost linear in the number of bodies."""
