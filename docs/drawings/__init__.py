"""Drawings of constraints, one function each, and the tools that draw them."""
