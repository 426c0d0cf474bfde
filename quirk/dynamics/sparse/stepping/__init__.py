"""Whole runs, compiled: steps and what watches them."""
