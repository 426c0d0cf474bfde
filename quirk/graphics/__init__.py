"""Pictures of systems and results: diagrams, animations, the viewer in a browser, and notebooks."""
