"""Published problems: for each a mechanism, the published results, and their comparison with a run of QuIRK."""
