"""Computation of results from a system: runs with events and contacts, prescribed motions, and sensitivities."""
