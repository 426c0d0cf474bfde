"""Compiled sparse solver: the Udwadia-Kalaba equation at a cost linear in the number of bodies."""
