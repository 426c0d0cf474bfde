"""Sensitivities of motions with respect to parameters, integrated forward in time along the steps of a run."""
