"""Automatic differentiation of functions.

Jets carry time derivatives and gradients, dual numbers carry derivatives in eight directions, and tapes are recorded
lists of operations.
"""
