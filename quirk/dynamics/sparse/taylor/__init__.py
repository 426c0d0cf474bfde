"""Taylor series of a motion to any order, compiled, for bodies, constraints and force laws."""
