"""Taylor series of a motion to any order, compiled: of bodies, of constraints and of laws of force elements."""
