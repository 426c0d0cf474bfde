"""Settings for all tests."""

import os

# The matrices are small: threads of the linear algebra library would only get in each other's way.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Pictures are drawn to files.
os.environ.setdefault("MPLBACKEND", "Agg")
