"""The benchmark suite: QuIRK timed against its peers in one run. Start it with ``python -m benchmarks``."""
