"""Small motions about a state: linear systems, modes, steady motions and equilibria.

Common terms: free coordinates are coordinates of the motions that the constraints allow; n is the number of bodies.
Motions of bodies are arrays (n, 12): displacement of the center of mass, inertial frame; rotation, body axes; variation
of the velocity, inertial frame; and variation of the angular velocity, body axes. A direction consists of a motion of
the bodies and of variations of internal variables and parameters; D is the number of directions.
"""
