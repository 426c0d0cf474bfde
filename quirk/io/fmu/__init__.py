"""Functional mock-up units (FMI): export of systems for co-simulation in other programs."""

from .export import export_fmu

__all__ = ["export_fmu"]
