"""Fixed steps of eight members of a batch at a time: each quantity is a SIMD vector with one lane per member."""
