"""Dense reference solver: direct implementations of the published equations, for tests of the compiled solver."""
