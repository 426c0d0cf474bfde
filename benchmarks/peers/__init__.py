"""Peers: other simulators. Each module translates a `quirk.System` into a model of one simulator and measures it."""
