"""A system of named parts: construction, editing, and quantities at a state."""
