"""Import of model files: alias of `quirk.io.importers`."""

import sys

from .io import importers
from .io.importers import *  # noqa: F403

sys.modules[__name__] = importers
