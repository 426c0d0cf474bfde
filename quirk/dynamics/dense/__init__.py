"""Dense reference solver: direct implementations of the published equations, used to test the compiled solver."""
