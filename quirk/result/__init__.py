"""Results of runs: states over time, and views of motions, loads, events and energies.

In shapes, nt is the number of output times and n the number of bodies. A segment is a time interval of a run with
constant sets of active constraints and forces.
"""
