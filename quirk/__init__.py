"""QuIRK: simulation of rigid-body systems with constraints by the Udwadia-Kalaba equation.

Public names are imported at their first use (Scientific Python's SPEC 1); `import quirk` itself imports no submodule.
Type checkers and editors read the names from `__init__.pyi`.
"""

import pkgutil
from importlib import import_module
from importlib.util import find_spec
from typing import Any

# The sub-packages `constraints`, `integrators` and `demos` live beside this folder in a checkout. Their folders are on
# this path also if `import quirk` finds the checkout while a copy is installed.
__path__ = pkgutil.extend_path(__path__, __name__)

__version__ = "0.1.0"

# Public names by the module that defines them.
_NAMES = {
    "batches": ["Batch"],
    "beams": ["Beam", "BeamSegment", "Section"],
    "bodies.body": ["GROUND", "Body"],
    "io.checkpoints": ["read_checkpoint"],
    "errors": [
        "AssemblyError",
        "BreaksWarning",
        "ChangedFunctionWarning",
        "CheckpointWarning",
        "ConvergenceError",
        "DegreesWarning",
        "IgnoredPartWarning",
        "InconsistentStateError",
        "InputError",
        "OutputWarning",
        "QuirkError",
        "RateJumpWarning",
        "RoundOffWarning",
        "SaveWarning",
        "SimulationError",
        "SensitivityWarning",
        "SeriesWarning",
        "StatefulWarning",
        "StiffnessWarning",
        "UnknownNameError",
        "WriteError",
    ],
    "functions.expression": ["Expression"],
    "bodies.frame": ["Frame"],
    "simulation.prescribed.inverse_dynamics": ["inverse_dynamics"],
    "autodiff.jet": ["where"],
    "result.concatenation": ["join"],
    "result.contact_loads": ["ContactLoadWarning"],
    "simulation.prescribed.kinematics": ["kinematics"],
    "analysis.linear.equilibrium_path": ["equilibrium_path"],
    "analysis.linear.root_locus": ["root_locus"],
    "io.fmu": ["export_fmu"],
    "io.load": ["load"],
    "functions.motion": ["Motion"],
    "simulation.sensitivity.objective": ["Objective"],
    "result.result": ["Result"],
    "simulation.contacts_at_state": ["ImpactWarning"],
    "simulation.gym_environment": ["gym_environment"],
    "simulation.run": ["Run"],
    "simulation.simulate": ["simulate"],
    "bodies.state": ["State"],
    "sweeps": ["sweep"],
    "system.system": ["System"],
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}
# Modules available under a second name.
_MODULES = {"planar": "constraints.planar", "surface": "constraints.surface"}
# Packages whose public names are all available here.
_PACKAGES = ("constraints", "events", "forces")
# Modules with public names of their own.
_FURTHER = ("demos", "errors", "importers", "integrators", "rotation", "shapes")


def __getattr__(name: str) -> Any:
    """Return a public object of QuIRK, and import its module at the first use."""
    if name == "__all__":
        listed = [*_HOMES, *_MODULES]
        value: Any = sum((import_module(f"{__name__}.{package}").__all__ for package in _PACKAGES), listed)
    elif name in _HOMES:
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    elif name in _MODULES:
        value = import_module(f"{__name__}.{_MODULES[name]}")
    elif name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    elif find_spec(f"{__name__}.{name}") is not None:
        value = import_module(f"{__name__}.{name}")
    else:
        homes = (import_module(f"{__name__}.{package}") for package in _PACKAGES)
        home = next((home for home in homes if name in home.__all__), None)
        if home is None:
            from .util.suggestion import nearest_names, quoted

            meant = nearest_names(name, __dir__())
            hint = f"did you mean {quoted(meant)}?" if meant else "dir(quirk) lists its names"
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}; {hint}", name=name, obj=None)
        value = getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, including public modules."""
    return sorted({*__getattr__("__all__"), *_PACKAGES, *_FURTHER, "__all__", "__doc__", "__version__"})
