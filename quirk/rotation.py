"""Rotations: alias of `quirk.bodies.rotation`."""

import sys

from .bodies import rotation
from .bodies.rotation import *  # noqa: F403

sys.modules[__name__] = rotation
