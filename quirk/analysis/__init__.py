"""Analyses of a system at a state: assembly, mobility, statics and small motions."""
