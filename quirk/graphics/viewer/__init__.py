"""The browser viewer: surfaces and lines that show a mechanism, displayed by viser.

Terms: a part is anything displayed: a body, the mark of a joint, a spring, an arrow. A picture is one of nt times.
"""
