"""The benchmark suite: run times of QuIRK and of other simulators, and comparisons with known motions.

See README.md beside this file.
"""

import sys
from pathlib import Path

# Run from the checkout, Python looks there first, and would find a part of QuIRK there and the rest where it is
# installed. What is installed goes first, with the machine code that is kept beside it.
_CHECKOUT = str(Path(__file__).parents[1])
sys.path = [*(folder for folder in sys.path if folder not in ("", _CHECKOUT)), _CHECKOUT]
