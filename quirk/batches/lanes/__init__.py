"""Fixed steps of eight members of a batch at a time: each number is a vector register with one lane per member."""
