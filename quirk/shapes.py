"""Shapes of bodies: alias of `quirk.bodies.solids`."""

import sys

from .bodies import solids
from .bodies.solids import *  # noqa: F403

sys.modules[__name__] = solids
