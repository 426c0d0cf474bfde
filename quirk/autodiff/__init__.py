"""Automatic differentiation of functions.

Jets have time derivatives and gradients, dual numbers have derivatives in eight directions, and tapes are recorded
lists of operations.
"""
