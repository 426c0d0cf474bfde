"""Small motions about a state: linear systems, modes, steady motions and equilibria."""
