"""Graphics of systems and results: plots, animations, the browser viewer, and notebooks.

Terms: nt is the number of times, or of animation frames.
"""
