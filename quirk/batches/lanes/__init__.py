"""SIMD integration of eight members of a batch at a time: each vector holds one quantity of eight members."""
