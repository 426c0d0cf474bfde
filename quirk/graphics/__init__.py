"""Graphics of systems and results: plots, animations, the browser viewer, and notebooks."""
