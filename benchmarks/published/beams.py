"""Clamped beams with dead loads, whose tip displacements are published or known in closed form."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import quirk

from .section import Section, compare_arrays

# Composite beam with a coupled section, twisted beam, and the curved beam of Bathe and Bolourchi: converged tip
# displacements of the regression tests of kynema-fmb (National Laboratory of the Rockies), with spectral elements. The
# curved beam is there a parabola through three points of a circle of radius 100, with rounded coordinates. Arc of a
# circle and plane cantilever: boundary value problems of the same beam theory, solved by shooting.
TIPS = {
    "composite": [-9.02726627566e-2, -6.47488486259e-2, 1.22973648292371],
    "twisted": [-1.14152599954, -1.71805334646, -3.59321324027],
    "parabola": [-23.6459716009, -13.7208006040, 53.5776450627],
    "arc": [-23.56129679, -13.60502301, 53.47610814],
    "roll-up": [-10.0, 0.0, 0.0],
    "cantilever": [-0.5085373043259, 0.0, -1.2072398545498],
}


def composite(elements: int, **options: Any) -> quirk.System:
    """Return a beam whose section couples torsion and bending, with a transverse load."""
    coupled = np.zeros((6, 6))
    coupled[:3, :3] = np.diag([1368.17e3, 88.56e3, 38.78e3])
    coupled[3:, 3:] = [[16.96e3, 17.61e3, -0.351e3], [17.61e3, 59.12e3, -0.37e3], [-0.351e3, -0.37e3, 141.47e3]]
    section = quirk.Section(stiffness=coupled, inertia=[8.538e-2] * 3 + [1.4433e-2, 0.4097e-2, 1.0336e-2])
    return held(quirk.Beam("beam", [0, 0, 0], [10, 0, 0], section=section, elements=elements, **options), [0, 0, 150.0])


def twisted(elements: int) -> quirk.System:
    """Return a beam twisted by 90 degrees, with a transverse load."""
    stiffness = [2.5e10, 8.2604167e9, 8.2604167e9, 1.41872656e8, 5.20833e8, 1.30208333e8]
    section = quirk.Section(stiffness=stiffness, mass=1962.5)
    beam = quirk.Beam("beam", [0, 0, 0], [10, 0, 0], section=section, elements=elements, twist=np.pi / 2)
    return held(beam, [0, 0, -4e6])


def parabola(elements: int) -> quirk.System:
    """Return a beam along a parabola through three points of a circle, with a load normal to its plane."""
    angle = np.array([0, np.pi / 8, np.pi / 4])
    through = np.polyfit(np.sin(angle), 1 - np.cos(angle), 2)
    return curved(elements, lambda u: [x := u * np.sin(np.pi / 4), np.polyval(through, x), 0.0])


def arc(elements: int) -> quirk.System:
    """Return a beam along an arc of 45 degrees, with a load normal to its plane."""
    return curved(elements, lambda u: [np.sin(u * np.pi / 4), 1 - np.cos(u * np.pi / 4), 0.0])


def curved(elements: int, curve: Callable[[float], Any]) -> quirk.System:
    """Return a beam along a curve of 100 m, with a load normal to its plane."""
    section = quirk.Section(stiffness=[1e7, 41.6667e5, 41.6667e5, 8.333e5, 8.333e5, 8.333e5], mass=1.0)
    beam = quirk.Beam("beam", curve=lambda u: 100 * np.array(curve(u)), section=section, elements=elements)
    return held(beam, [0, 0, 600.0])


def roll_up(elements: int) -> quirk.System:
    """Return a beam that a moment at its end rolls up into a circle."""
    section = quirk.Section(stiffness=[1.77e6] * 3 + [8.16e3, 86.9e3, 215e3], mass=1.0)
    beam = quirk.Beam("beam", [0, 0, 0], [10, 0, 0], section=section, elements=elements)
    return held(beam, torque=[0, 2 * np.pi * 86.9e3 / 10, 0])


def cantilever(elements: int) -> quirk.System:
    """Return a beam that is rigid in shear, with a transverse load."""
    area, second, young = 0.01, 1e-4 / 12, 2.07e11
    section = quirk.Section(EA=young * area, GA=1e4 * young * area, GJ=young * second, EI=young * second, mass=78.0)
    beam = quirk.Beam("beam", [0, 0, 0], [2, 0, 0], section=section, elements=elements)
    return held(beam, [0, 0, -3 * young * second / 4])


CASES = {
    "composite": composite,
    "twisted": twisted,
    "parabola": parabola,
    "arc": arc,
    "roll-up": roll_up,
    "cantilever": cantilever,
}


def held(beam: quirk.Beam, force: Any = None, torque: Any = None) -> quirk.System:
    """Return a beam clamped at its start, with a load at its end."""
    last = beam.bodies[-1]
    loads = [] if force is None else [quirk.Force("load", last, force, point=beam.end_point)]
    loads += [] if torque is None else [quirk.Torque("load", last, torque, frame="inertial")]
    return quirk.System([beam, clamp_of(beam), *loads])


def clamp_of(beam: quirk.Beam) -> quirk.Fixed:
    """Return the joint that clamps a beam at its start."""
    first = beam.bodies[0]
    place = point_at(first.position, first.orientation, beam.start_point)
    return quirk.Fixed("clamp", quirk.GROUND, first, point=place)


def point_at(position: np.ndarray, orientation: np.ndarray, local: np.ndarray) -> np.ndarray:
    """Return the point `local` (3,) of a body, given in body coordinates, in the inertial frame."""
    return position + quirk.rotation.matrix(orientation) @ local


def tip(system: quirk.System, state: quirk.State) -> np.ndarray:
    """Return the displacement (3,) of the end of the beam from its unloaded position."""
    beam = system["beam"]
    last = beam.bodies[-1]
    row = system.bodies.index(last)
    there = point_at(state.position[row], state.orientation[row], beam.end_point)
    return there - point_at(last.position, last.orientation, beam.end_point)


def extrapolated(values: Sequence[Any]) -> np.ndarray:
    """Return the limit of a sequence of values for doubled numbers of elements, whose errors are in powers of h^2."""
    values = [np.asarray(value) for value in values]
    factor = 4.0
    while len(values) > 1:
        values = [(factor * fine - coarse) / (factor - 1) for coarse, fine in itertools.pairwise(values)]
        factor *= 4.0
    return values[0]


def sections() -> list[Section]:
    """Return the comparison of all tip displacements, extrapolated from three numbers of elements."""
    elements, lines, apart = (8, 16, 32), [], {}
    for name, build in CASES.items():
        systems = [build(count) for count in elements]
        tips = [tip(system, system.equilibrium()) for system in systems]
        size = float(np.linalg.norm(TIPS[name]))
        lines.append(compare_arrays(f"{name}, m", TIPS[name], extrapolated(tips), size, "its length"))
        apart[f"{name}: difference with 16 elements, without extrapolation"] = float(
            np.linalg.norm(tips[1] - TIPS[name]) / size
        )
    return [
        Section(
            title="Elastic beams",
            what="Tip displacements of clamped beams under dead loads, extrapolated from 8, 16 and 32 elements.",
            how="system.equilibrium",
            lines=lines,
            checks=apart,
            remarks=[
                "The composite beam has a section that couples twist and bending, the twisted one turns by 90°. The "
                "curved beam of Bathe and Bolourchi is published as a parabola through three points of its arc; the "
                "arc itself, and the plane cantilever without shear, are compared with boundary value problems solved "
                "by shooting. The roll-up is a circle with any number of elements."
            ],
            source="documentation and regression tests of kynema-fmb, with spectral elements; BeamDyn agrees",
        )
    ]
