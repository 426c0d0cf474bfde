"""Sections of the accuracy page, one for each published problem, and the published data."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import quirk

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Line:
    """Comparison of one quantity.

    Attributes
    ----------
    quantity : str
    published : str
        The published value, as printed; for many values their number.
    found : str
        QuIRK's value.
    difference : float
        Largest difference relative to the scale.
    scale : str
        Description of the scale.
    """

    quantity: str
    published: str
    found: str
    difference: float
    scale: str


@dataclass(frozen=True)
class Section:
    """A section of the accuracy page on one problem.

    Attributes
    ----------
    title, what, how : str
        Title, description of the problem, and method with its tolerances.
    lines : list of Line
        Comparisons; may be empty if only checks are listed.
    checks : dict of str to float
        Residuals and energy balances.
    remarks : list of str
        Accuracy of the published values, and results by other authors.
    source : str
    others : list of (str, float)
        Errors of other authors, by the same measure.
    """

    title: str
    what: str
    how: str
    lines: list[Line]
    checks: dict[str, float]
    remarks: list[str] = field(default_factory=list)
    source: str = ""
    others: list[tuple[str, float]] = field(default_factory=list)


def data(name: str) -> dict[str, Any]:
    """Return the published data of a problem."""
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


def compare_number(quantity: str, published: float, computed: float, digits: int = 15) -> Line:
    """Return the comparison of a number, relative to its magnitude."""
    difference = float(abs(computed - published) / abs(published))
    return Line(quantity, f"{published:.{digits}g}", f"{computed:.{digits}g}", difference, "itself")


def compare_arrays(
    quantity: str, published: Any, computed: Any, scale: float | None = None, scale_name: str = "the largest"
) -> Line:
    """Return the comparison of two arrays of the same shape, by default relative to the largest published magnitude."""
    published, computed = np.asarray(published, dtype=float), np.asarray(computed, dtype=float)
    if published.shape != computed.shape:
        raise AssertionError(f"{quantity}: {published.shape} are published, {computed.shape} found")
    size = np.abs(published).max() if scale is None else scale
    difference = np.abs(computed - published).max() / size
    return Line(quantity, f"{published.size} values", "", float(difference), f"{scale_name}, {size:.3g}")


def checked(result: quirk.Result) -> dict[str, float]:
    """Return the constraint residuals and the energy balance of a run."""
    size = np.abs(result.energy.kinetic).max() or 1.0
    return {
        "residual of the constraints, m or rad": float(result.residual.position.max()),
        "residual of their rates, m/s or rad/s": float(result.residual.velocity.max()),
        "balance of energy over the largest kinetic energy": float(np.abs(result.power.balance).max() / size),
    }


def largest_difference(reference: dict[str, np.ndarray], values: dict[str, np.ndarray]) -> float:
    """Return the largest difference of quantities by name, each relative to its largest magnitude."""
    return max(float(np.abs(values[name] - value).max() / np.abs(value).max()) for name, value in reference.items())


def digits(lines: list[Line], names: list[str], doubt: float) -> str:
    """Return a remark that states how many published digits are correct; `doubt` is the uncertainty of QuIRK's runs."""
    right = ", ".join(f"{name} {int(-np.log10(line.difference))}" for name, line in zip(names, lines, strict=True))
    return (
        f"QuIRK's runs by two methods agree to {doubt:.0e}. Numbers of correct digits in the published table, counted "
        f"from the first digit of the largest value: {right}."
    )


def scaled_difference(first: np.ndarray, second: np.ndarray, scale: np.ndarray) -> float:
    """Return the largest difference of two tables (nt, n), each column relative to its scale (n,)."""
    return float((np.abs(first - second) / scale).max())


def run_settings(method: str = "Vern9", rtol: float = 1e-12, atol: float = 1e-14) -> tuple[dict[str, Any], str]:
    """Return the arguments of a run, and their description for the page."""
    return {"method": method, "rtol": rtol, "atol": atol}, f"{method}, rtol {rtol:g}, atol {atol:g}"


# Another method and tolerance: how far two runs are apart tells how far each is right.
OTHER = {"method": "DOP853", "rtol": 1e-13, "atol": 1e-15}
AGAIN = "difference to a run by DOP853 with rtol 1e-13, over the scale of each quantity"
