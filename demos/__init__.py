"""Demos."""
