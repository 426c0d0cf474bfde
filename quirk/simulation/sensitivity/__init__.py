"""Sensitivities of a run: derivatives of states, loads and outputs with respect to initial state and parameters."""
