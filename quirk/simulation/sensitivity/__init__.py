"""Sensitivities of a run: derivatives of the motion with respect to initial state and parameters.

Common terms: n is the number of bodies, k the number of auxiliary states (internal variables and work), and D the
number of scalar parameters. A variation is the derivative of the state vector with respect to a parameter, an array (13
n + k,). For bodies it is also expressed by 12 components each, (n, 12): displacement, rotation, and variations of
velocity and angular velocity, see `quirk.dynamics.model.directions`. An interval (class `StepInterval`) is a sequence
of steps without jumps of the state and with the same active constraints and forces. An integrator (class
`VariationIntegrator`) propagates variations with one compiled model. The derivatives of the system (`ParameterChange`)
are the derivatives of its constants and initial state with respect to parameters.
"""
