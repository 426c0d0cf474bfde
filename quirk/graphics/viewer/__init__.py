"""The browser viewer: surfaces and lines of a mechanism, displayed by viser.

A part is a displayed object, such as a body, the symbol of a joint, a spring or an arrow; nt is the number of animation
frames.
"""
