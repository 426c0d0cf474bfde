"""Dense reference solver: direct implementation of the published equations, for tests of the compiled solver."""
