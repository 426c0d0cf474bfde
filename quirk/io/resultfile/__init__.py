"""Export of results as labeled arrays, tables and files, and loading of results from files.

A variable is an array with a name, units and named dimensions, such as time, body and axis. Groups of variables, such
as "motion" or "loads", can be selected. In shapes, nt is the number of output times, n the number of bodies, and D the
number of components of all parameters of the sensitivities.
"""
