"""Import of the peers that are installed."""

from __future__ import annotations

import importlib
from functools import cache
from types import ModuleType

MODULES = {
    "Pinocchio": "pinocchio_peer",
    "MuJoCo": "mujoco_peer",
    "Exudyn": "exudyn_peer",
    "Exudyn beams": "exudyn_beams",
    "heyoka": "heyoka_peer",
}
PACKAGES = {"Pinocchio": "pin", "MuJoCo": "mujoco", "Exudyn": "exudyn", "Exudyn beams": "exudyn", "heyoka": "heyoka"}


@cache
def peer(name: str) -> ModuleType | None:
    """Return the module of a peer; if its library cannot be imported, print a note and return None."""
    try:
        return importlib.import_module(f".{MODULES[name]}", __package__)
    except ImportError as error:
        print(f"{name} is left out ({error}): pip install {PACKAGES[name]}")
        return None
