"""Hybrid runs: integration across events and contacts, which change the set of active parts."""
