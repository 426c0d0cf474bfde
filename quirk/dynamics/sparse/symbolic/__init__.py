"""Once per system: the order of elimination, and all arrays that do not change."""
