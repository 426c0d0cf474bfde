"""Graphics of systems and results: plots, animations, the browser viewer, and notebooks.

Terms: a picture is one frame of an animation; nt is the number of times.
"""
