"""Checks of arguments, files written as a whole, and objects that know the call that made them."""
