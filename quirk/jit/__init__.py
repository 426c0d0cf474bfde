"""The one place that turns Python into machine code: compilation, its cache on disk, vectors of numbers, records."""
