"""Sensitivities of motions to parameters, integrated forward in time along the steps of a run."""
