"""The geometry of a system to be drawn, shared by plots, animations and viewers."""
