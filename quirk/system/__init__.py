"""System of bodies, constraints and forces: construction, editing, and quantities at a state."""
