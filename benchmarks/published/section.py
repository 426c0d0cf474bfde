"""What the accuracy page says about one problem, and the data that problems are read from."""

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
    """One comparison.

    Attributes
    ----------
    quantity : str
    published : str
        As printed; how many values where there are too many to show.
    found : str
        QuIRK's.
    difference : float
        The largest, over the scale of the quantity.
    scale : str
        What it is divided by.
    """

    quantity: str
    published: str
    found: str
    difference: float
    scale: str


@dataclass(frozen=True)
class Section:
    """One problem.

    Attributes
    ----------
    title, what, how : str
        `how` is the method with its tolerances.
    lines : list of Line
        May be empty where nothing but checks is printed.
    checks : dict of str to float
        Residuals and balances.
    remarks : list of str
        How far the printed values are right, and what others got.
    source : str
    others : list of (str, float)
        Errors of others by the same measure.
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
    """Return what is printed of a problem."""
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


def one(quantity: str, published: float, found: float, digits: int = 15) -> Line:
    """Compare one number, over its own magnitude."""
    difference = float(abs(found - published) / abs(published))
    return Line(quantity, f"{published:.{digits}g}", f"{found:.{digits}g}", difference, "itself")


def many(quantity: str, published: Any, found: Any, scale: float | None = None, of: str = "the largest") -> Line:
    """Compare arrays of the same shape, by default over the largest published magnitude."""
    published, found = np.asarray(published, dtype=float), np.asarray(found, dtype=float)
    if published.shape != found.shape:
        raise AssertionError(f"{quantity}: {published.shape} are published, {found.shape} found")
    size = np.abs(published).max() if scale is None else scale
    difference = np.abs(found - published).max() / size
    return Line(quantity, f"{published.size} values", "", float(difference), f"{of}, {size:.3g}")


def checked(result: quirk.Result) -> dict[str, float]:
    """Return residuals and the balance of energy of a run."""
    size = np.abs(result.energy.kinetic).max() or 1.0
    return {
        "residual of the constraints, m or rad": float(result.residual.position.max()),
        "residual of their rates, m/s or rad/s": float(result.residual.velocity.max()),
        "balance of energy over the largest kinetic energy": float(np.abs(result.power.balance).max() / size),
    }


def apart(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> float:
    """Return the largest difference of quantities, each over its own largest magnitude."""
    return max(float(np.abs(other[name] - value).max() / np.abs(value).max()) for name, value in one.items())


def digits(lines: list[Line], names: list[str], doubt: float) -> str:
    """Return what QuIRK's runs, which are in doubt by so much, say about printed values."""
    right = ", ".join(f"{name} {int(-np.log10(line.difference))}" for name, line in zip(names, lines, strict=True))
    return (
        f"QuIRK's runs by two methods agree to {doubt:.0e}. So many digits of what is printed are right, counted from "
        f"the largest value: {right}."
    )


def distance(one: np.ndarray, other: np.ndarray, scale: np.ndarray) -> float:
    """Return the largest difference of tables (nt, n), each column over its scale (n,)."""
    return float((np.abs(one - other) / scale).max())


def run_settings(method: str = "Vern9", rtol: float = 1e-12, atol: float = 1e-14) -> tuple[dict[str, Any], str]:
    """Return the arguments of a run, and how the page says them."""
    return {"method": method, "rtol": rtol, "atol": atol}, f"{method}, rtol {rtol:g}, atol {atol:g}"


# Another method and tolerance: how far two runs are apart tells how far each is right.
OTHER = {"method": "DOP853", "rtol": 1e-13, "atol": 1e-15}
AGAIN = "difference to a run by DOP853 with rtol 1e-13, over the scale of each quantity"
