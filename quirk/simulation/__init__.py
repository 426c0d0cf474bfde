"""Computation of results: runs with events and contacts, prescribed motions, and sensitivities."""
