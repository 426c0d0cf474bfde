"""Results as xarray Datasets."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from quirk.errors import QuirkError

from .table import table_of
from .variable import VariableTable, text

if TYPE_CHECKING:
    from quirk.result.result import Result

CONVENTIONS = {
    "units": "SI: m, kg, s, N, rad; each variable has its own in its attribute units",
    "inertial_frame": "N, right-handed; gravity in it is in the attribute gravity, m/s^2",
    "bodies": "the origin of a body's axes is its center of mass",
    "quaternions": "scalar first (w, x, y, z), Hamilton; v_N = R(q) v_body",
    "joint_loads": "force and torque that body i exerts on body j, at the origin of joint frame j (joint_point_j)",
    "joint_coordinates": "of joint frame j in joint frame i; the joint axis is z of both frames",
    "times": "where something jumps at an event, its time is there twice: the state before and the state after",
}


class MissingLibraryError(QuirkError, ImportError):
    """Error raised if a required optional library is not installed."""


def library(name: str, needed_by: str, extra: str = "io") -> Any:
    """Import an optional library, or raise a MissingLibraryError that explains its installation.

    `needed_by` is the name of the calling function; `extra` is the extra of the package that installs the library.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingLibraryError(
            f'{needed_by} needs {name}, which is not installed ({error}): pip install "quirk-dynamics[{extra}]"'
        ) from None


def to_xarray(result: Result, quantities: Any = None, only: Any = None, frame: str = "inertial") -> Any:
    """Return a result as an `xarray.Dataset`; see `Result.to_xarray`."""
    return dataset_of(table_of("Result.to_xarray", result, quantities, only, frame), attributes_of(result))


def attributes_of(result: Result) -> dict[str, Any]:
    """Return the attributes of the whole dataset: title, version, status, gravity and conventions."""
    import quirk

    system = result.system
    return {
        "title": f"motion of {len(system.bodies)} rigid bodies with {len(system.constraints)} constraints",
        "source": f"QuIRK {quirk.__version__}",
        "status": result.status,
        "gravity": system.gravity.tolist(),
        **{f"convention_{name}": said for name, said in CONVENTIONS.items()},
    }


def dataset_of(table: VariableTable, attributes: dict[str, Any]) -> Any:
    """Return a table of variables as an xarray dataset."""
    xarray = library("xarray", "Result.to_xarray")
    used = {dim for variable in table.variables.values() for dim in variable.dims}
    coordinates: dict[str, Any] = {dim: (dim, text(names)) for dim, names in table.labels.items() if dim in used}
    described = {name: variable for name, variable in table.described.items() if variable.dims[0] in used}
    data = {name: (v.dims, v.values, v.attributes) for name, v in {**table.variables, **described}.items()}
    for name in ("time", "segment", *described):
        if name in data:
            coordinates[name] = data.pop(name)
    left_out = {f"left_out_{group}": why for group, why in table.left_out.items()}
    return xarray.Dataset(data, coordinates, {**attributes, **left_out})
