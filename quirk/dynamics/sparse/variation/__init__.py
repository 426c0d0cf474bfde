"""Sensitivities of motions to parameters, integrated forward along the steps of a run."""
