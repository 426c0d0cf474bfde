"""Division of a beam into rigid pieces, one around each node, which are the bodies of the beam."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .center_line import CenterLine
from .section import Section

# Number of Gauss points on each half of a piece. Mass properties of straight beams without twist are exact.
GAUSS_POINTS = 5


@dataclass(frozen=True)
class BeamPiece:
    """Mass properties of a rigid piece of a beam.

    Attributes
    ----------
    node : (3,) m, inertial frame
    axes : (3, 3) section axes at the node as columns, inertial frame
    mass : kg
    center : (3,) center of mass relative to the node, m, section axes
    inertia : (3, 3) about the center of mass, kg m^2, section axes
    """

    node: np.ndarray
    axes: np.ndarray
    mass: float
    center: np.ndarray
    inertia: np.ndarray


def pieces(line: CenterLine, section: Section, elements: int) -> list[BeamPiece]:
    """Return the rigid pieces of a beam with N segments, one around each of its N + 1 nodes.

    The pieces at the ends have half the length. `elements` is N.
    """
    half = 0.5 * line.length / elements
    roots, weights = np.polynomial.legendre.leggauss(GAUSS_POINTS)
    ends = half * np.arange(2 * elements + 1)
    nodes = ends[::2]
    points, axes = line.point(nodes), line.axes(nodes)
    made = []
    for k in range(elements + 1):
        halves = [m for m in (2 * k - 1, 2 * k) if 0 <= m < 2 * elements]
        s = np.concatenate([ends[m] + 0.5 * half * (1 + roots) for m in halves])
        lengths = np.tile(0.5 * half * weights, len(halves))
        made.append(_piece(points[k], axes[k], line.point(s), line.axes(s), lengths, section))
    return made


def _piece(
    node: np.ndarray,
    axes: np.ndarray,
    points: np.ndarray,
    turned: np.ndarray,
    lengths: np.ndarray,
    section: Section,
) -> BeamPiece:
    """Return the mass properties of a rigid piece of a beam, which consists of k thin slices.

    Parameters
    ----------
    node, axes : (3,) position, m, and (3, 3) section axes of the node, inertial frame
    points, turned : (k, 3) positions, m, and (k, 3, 3) section axes of the slices, inertial frame
    lengths : (k,) lengths of the slices, m
    section : cross-section of the beam
    """
    R = axes.T @ turned
    at = (points - node) @ axes + R @ section.center
    masses = section.mass * lengths
    mass = float(masses.sum())
    center = masses @ at / mass
    own = section.inertia[3:, 3:] - section.mass * _spread(section.center[None])[0]
    slices = R @ own @ R.transpose(0, 2, 1) * lengths[:, None, None]
    inertia = slices.sum(axis=0) + np.einsum("k,kij->ij", masses, _spread(at - center))
    return BeamPiece(node, axes, mass, center, 0.5 * (inertia + inertia.T))


def _spread(r: np.ndarray) -> np.ndarray:
    """Return the inertia tensors r.r 1 - r r^T (k, 3, 3), m^2, of unit point masses at positions r (k, 3), m."""
    square = (r * r).sum(axis=1)
    return np.asarray(square[:, None, None] * np.eye(3) - r[:, :, None] * r[:, None, :])
