"""Derivatives of motions by parameters, integrated along the steps of a run."""
