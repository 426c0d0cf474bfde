"""Generation of machine code from Python: compilation, cache on disk, SIMD vectors, and records."""
