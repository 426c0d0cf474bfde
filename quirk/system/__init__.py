"""A system of named parts: checked, editable, and asked for quantities at a state."""
