"""Compiled runs: time steps of all methods, event location, step-size control and switching of methods."""
