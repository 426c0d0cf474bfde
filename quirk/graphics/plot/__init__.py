"""Diagrams of results."""
