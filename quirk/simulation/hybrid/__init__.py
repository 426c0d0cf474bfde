"""Runs across events and contacts, which change the active constraints and forces.

Terms of this package: parts are constraints and forces; a configuration is the set of active parts. The motion with one
configuration and contact state is integrated by one run object (`CompiledRun` or `PythonRun`). A segment is the part
of a result with one configuration. A state vector has shape (13 n + k,), for n bodies and k auxiliary states (internal
variables and work). Joint angles are the 1-2-3 angles (K, 3), rad, of K joints, with all turns counted. Event functions
are scalar functions whose zeros are located in time.
"""
