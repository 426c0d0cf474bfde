"""Generation of machine code from Python functions: compilation, disk cache, SIMD vectors, and records of arrays."""
