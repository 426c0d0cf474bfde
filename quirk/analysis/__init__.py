"""Analyses of a system at one state: assembly, mobility, statics and small motions."""
