"""Compiled runs: time steps of all methods, event location, step-size control and method switching."""
