"""Derivatives of accelerations along directions of states and parameters, in compiled code."""
