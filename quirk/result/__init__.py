"""A motion as data: states over time, views of its parts, loads, events and energies."""
