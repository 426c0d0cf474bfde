"""Runs that go from one set of active parts to another, at events and contacts."""
