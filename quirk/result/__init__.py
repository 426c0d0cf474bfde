"""Results of runs: states over time, and views of motions, loads, events and energies.

nt is the number of output times and n the number of bodies. A segment is a time interval of a run with the same active
constraints and forces.
"""
