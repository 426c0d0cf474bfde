"""Sensitivities of a run: derivatives of states, loads and outputs by its start and by parameters."""
