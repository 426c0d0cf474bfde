"""Taylor series of a motion to any order, in compiled code, for bodies, constraints and force laws."""
