"""Checks of inertia tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError
from ..util import validate

# Accepted violation of the triangle inequality or of symmetry, relative to the largest moment: rounding of typed
# numbers. A flat body satisfies the inequality with equality.
INERTIA_TOLERANCE = 1e-6
# Largest `inertia_tolerance`: larger violations are errors, not rounding.
LARGEST_TOLERANCE = 0.1

# Smallest principal moment relative to the largest: smaller ones are round-off of a singular tensor.
LEAST_MOMENT = 1e-15


def checked_inertia(owner: str, value: Any, tolerance: float) -> np.ndarray:
    """Return the inertia tensor (3, 3), kg m^2, from three principal moments (3,) or a tensor (3, 3).

    An InputError is raised if no rigid body can have this tensor. `tolerance` is the fraction by which the largest
    principal moment may exceed the sum of the other two. `owner` names the body in errors.
    """
    numbers = validate.numbers(value)
    shape = None if numbers is None else numbers.shape
    if shape == (3,):
        tensor = np.diag(validate.array(owner, "inertia", value, (3,)))
    elif shape == (3, 3):
        tensor = validate.array(owner, "inertia", value, (3, 3))
    else:
        raise InputError(
            f"{owner}: inertia must be 3 principal moments or a 3 x 3 tensor about the center of mass; got {value!r}"
        )
    scale = np.abs(tensor).max()
    if np.abs(tensor - tensor.T).max() > INERTIA_TOLERANCE * scale:
        raise InputError(f"{owner}: inertia must be symmetric; got {tensor.tolist()}")
    tensor = 0.5 * tensor + 0.5 * tensor.T  # their plain sum could overflow
    fault = inertia_fault(tensor, tolerance)
    if fault is not None:
        raise InputError(f"{owner}: {fault}")
    return tensor


def inertia_fault(tensor: np.ndarray, tolerance: float = INERTIA_TOLERANCE) -> str | None:
    """Return an error message if no rigid body can have this inertia tensor (3, 3), otherwise None.

    The tensor is symmetric and refers to the center of mass. `tolerance` is the fraction by which the largest principal
    moment may exceed the sum of the other two.
    """
    principal = np.diag(tensor)
    moments = np.sort(principal) if (tensor == np.diag(principal)).all() else np.linalg.eigvalsh(tensor)
    if moments[0] <= LEAST_MOMENT * np.abs(tensor).max():
        return (
            f"inertia must be positive definite; its principal moments are ({_listed(moments)}): "
            "give a thin rod its small moment about its own axis"
        )
    excess = 1 - (moments[0] + moments[1]) / moments[2]
    if excess <= max(tolerance, INERTIA_TOLERANCE):
        return None
    cure = (
        f"; or, if these are rounded numbers, allow for the {excess:.2g} of the largest that is too much "
        "by inertia_tolerance"
    )
    return (
        f"inertia violates the triangle inequality ({_listed(moments)}): "
        "no rigid body has a principal moment larger than the sum of the other two; "
        f"check that the tensor is about the center of mass{cure if excess <= LARGEST_TOLERANCE else ''}"
    )


def _listed(moments: np.ndarray) -> str:
    return ", ".join(f"{m:.6g}" for m in moments)
