"""Elastic beams: natural frequencies, steady spin, lateral buckling, the Princeton experiments, and a step load."""

from __future__ import annotations

import numpy as np
from scipy.linalg import expm
from scipy.optimize import brentq
from scipy.special import jv

import quirk

from .beams import clamp_of, composite, extrapolated, held, tip
from .section import Section, compare_arrays, compare_number

# Tip displacements, m, over the angle of the load of 8.896 N from the strong direction of the section, degrees: along
# the strong and along the weak direction, by beam elements of Ansys, as an example of Exudyn has them.
PRINCETON = {
    0: (1.07141763e-2, 0.0),
    45: (8.837226265e-3, 0.108987937),
    90: (0.0, 0.146245978),
}
# The same at 45 degrees as a boundary value problem of the geometrically exact beam with the torsion factor 0.198, by
# collocation (SciPy's solve_bvp, relative residual 1e-9).
COLLOCATED = (8.9797102e-3, 0.1091135749)
# Torsion constant of the rectangle by Saint-Venant, over the polar moment of area.
SAINT_VENANT = 0.21003290
# Displacement along the load, m, of the tip of the composite beam every 0.05 s, by BeamDyn with one element of five
# nodes and steps of 0.005 s: verification test of kynema-fmb, which does not state BeamDyn's numerical damping.
SUDDEN = [
    0.76836577, 2.0534850, 2.2052969, 1.1064713, 0.15758876, 0.55309539, 1.8159069, 2.2654943, 1.3113535, 0.27880849,
    0.44070038, 1.5982498, 2.2970329, 1.5343329, 0.34515991, 0.27817189, 1.3946588, 2.2886914, 1.8093410, 0.54135602,
]  # fmt: skip


def slender(elements: int) -> quirk.System:
    """Return a cantilever of length, mass and bending stiffness 1 with little shear deformation."""
    section = quirk.Section(EA=1e7, GA=1e7, GJ=10.0, EI=[1.0, 1e4], mass=1.0)
    beam = quirk.Beam("beam", [0, 0, 0], [1, 0, 0], section=section, elements=elements)
    return quirk.System([beam, clamp_of(beam)])


def frequencies(system: quirk.System, count: int) -> np.ndarray:
    """Return the lowest angular frequencies (count,), rad/s."""
    return 2 * np.pi * np.sort(system.modes().frequencies)[:count]


def exact_frequencies(section: quirk.Section, length: float, estimates: np.ndarray) -> np.ndarray:
    """Return the exact angular frequencies of a cantilever nearest to given ones, rad/s.

    The linear equations of a straight shear-deformable beam, with displacements, rotations, forces and moments as
    unknowns, have constant coefficients along the beam. At a natural frequency, the block of their fundamental matrix
    that the free end requires to vanish is singular.
    """
    across = np.array([[0.0, 0, 0], [0, 0, -1], [0, 1, 0]])  # the cross product of the axis with a vector
    A = np.zeros((12, 12))
    A[:3, 3:6] = -across
    A[:6, 6:] = np.linalg.inv(section.stiffness)
    A[9:, 6:9] = -across

    def free_end(w: float) -> float:
        A[6:, :6] = -(w**2) * section.inertia
        return float(np.linalg.slogdet(expm(A * length)[6:, 6:])[0])

    return np.array([brentq(free_end, 0.995 * w, 1.005 * w, xtol=1e-11) for w in estimates])


def stretched(elements: int, rate: float = 6.0) -> float:
    """Return the extension (m) of the beam of Simo and Vu-Quoc by the centrifugal forces of a steady spin."""
    section = quirk.Section(EA=2.8e7, GA=1e7, GJ=1.4e4, EI=1.4e4, mass=1.2, inertia=6e-4)
    beam = quirk.Beam("beam", [0, 0, 0], [10, 0, 0], section=section, elements=elements)
    loads = [
        quirk.Force(f"load {k}", body, lambda t, r, *motion, m=body.mass: [m * rate**2 * r[0], 0.0, 0.0])
        for k, body in enumerate(beam.bodies)
    ]
    system = quirk.System([beam, clamp_of(beam), *loads])
    return float(tip(system, system.equilibrium())[0])


def exact_stretch(rate: float = 6.0) -> float:
    """Return the exact extension (m) for `stretched`."""
    waves = rate * 10 * np.sqrt(1.2 / 2.8e7)
    return float(10 * (np.tan(waves) / waves - 1))


def critical_load() -> float:
    """Return the critical load of lateral buckling by Prandtl and Michell, relative to √(EI GJ) / L²."""
    return float(2 * brentq(lambda x: jv(-0.25, x), 1.0, 3.0))


def buckling(elements: int) -> float:
    """Return the relative critical load of a narrow cantilever, extrapolated from loads below it.

    At the critical load the lowest natural frequency is zero.
    """
    section = quirk.Section(EA=1e8, GA=1e8, GJ=0.8, EI=[1e6, 1.0], mass=1.0, inertia=1e-4)

    def least(load: float) -> float:
        beam = quirk.Beam("beam", [0, 0, 0], [1, 0, 0], section=section, elements=elements)
        return -(held(beam, [0, 0, -load]).equilibrium().eigenvalues ** 2).real.max()

    loads = critical_load() * np.sqrt(0.8) * np.array([0.9, 0.94, 0.96, 0.98])
    squares = np.polyfit([least(load) for load in loads], loads**2, 3)
    return float(np.sqrt(squares[-1] / 0.8))


def princeton(angle: float, elements: int, torsion: float = 0.198) -> np.ndarray:
    """Return the tip displacements (2,), m, along the strong and the weak direction of the section.

    `torsion` is the torsion constant over the polar moment of area.
    """
    length, high, wide, young, poisson = 0.508, 12.3777e-3, 3.2024e-3, 71.7e9, 0.31
    area, strong, weak = high * wide, wide * high**3 / 12, high * wide**3 / 12
    shear = young / (2 * (1 + poisson))
    k = 10 * (1 + poisson) / (12 + 11 * poisson)
    section = quirk.Section(
        EA=young * area, GA=k * shear * area, GJ=torsion * shear * (strong + weak), EI=[young * strong, young * weak],
        mass=1.0,
    )  # fmt: skip
    beam = quirk.Beam("beam", [0, 0, 0], [length, 0, 0], section=section, elements=elements)
    turn = np.radians(angle)
    system = held(beam, [0, 8.896 * np.sin(turn), 8.896 * np.cos(turn)])
    return tip(system, system.equilibrium())[[2, 1]]


def suddenly_loaded(elements: int) -> np.ndarray:
    """Return the tip displacements (20,), m, of the composite beam along a step load, every 0.05 s."""
    result = quirk.simulate(composite(elements), 1.0, method="RadauIIA9", rtol=1e-7, atol=1e-9, output=0.05)
    return result["beam"].center_line[1:, -1, 2]


def sections() -> list[Section]:
    """Return the comparisons of frequencies, steady states and motions."""
    roots = [brentq(lambda b: np.cos(b) * np.cosh(b) + 1, *ends) for ends in ((1, 3), (4, 6), (7, 9))]
    coupled = extrapolated([frequencies(composite(count), 4) for count in (8, 16, 32)])
    exact = exact_frequencies(composite(1)["beam"].section, 10.0, coupled)
    lines = [
        compare_arrays("uniform cantilever, w L² √(m/EI): roots of cos b cosh b = -1, squared", np.square(roots),
             extrapolated([frequencies(slender(count), 3) for count in (8, 16, 32)])),
        compare_arrays("composite cantilever, rad/s: linear equations, by a matrix exponential", exact, coupled),
        compare_number("extension of the spinning beam, m: L (tan k / k - 1)", exact_stretch(),
            float(extrapolated([stretched(4), stretched(8)])), 8),
        compare_number("lateral buckling, P L² / √(EI GJ): root of J₋₁⸝₄", critical_load(),
            float(extrapolated([buckling(8), buckling(16)])), 8),
    ]  # fmt: skip
    for angle, want in PRINCETON.items():
        found = extrapolated([princeton(angle, count) for count in (8, 16)])
        lines.append(compare_arrays(f"Princeton beam, load at {angle}°, m: Ansys", want, found))
    found = extrapolated([princeton(45, count, SAINT_VENANT) for count in (8, 16, 32)])
    lines.append(
        compare_arrays("the same at 45°, with the torsion constant of Saint-Venant: Ansys", PRINCETON[45], found)
    )
    found = extrapolated([princeton(45, count) for count in (8, 16, 32)])
    lines.append(compare_arrays("the same at 45°: boundary value problem", COLLOCATED, found))
    motion = suddenly_loaded(16), suddenly_loaded(32)
    lines.append(compare_arrays("composite, sudden load, first 0.2 s, m: BeamDyn", SUDDEN[:4], motion[1][:4]))
    lines.append(compare_arrays("the same, 1 s", SUDDEN, motion[1]))
    return [
        Section(
            title="Motion and stability of elastic beams",
            what="Frequencies of cantilevers, the extension of the spinning beam of Simo and Vu-Quoc, the load at "
            "which a narrow cantilever buckles sideways, the beam of the Princeton experiments, whose load is turned "
            "from its strong to its weak direction, and the composite beam under a load of 150 N from 0 s on.",
            how="system.modes and system.equilibrium, extrapolated from two or three numbers of elements; RadauIIA9, "
            "rtol 1e-7, for the motion",
            lines=lines,
            checks={
                "sudden load: largest difference of QuIRK's runs with 16 and 32 elements, m": float(
                    np.abs(motion[0] - motion[1]).max()
                )
            },
            remarks=[
                "The beam under a sudden load is not damped. Its published motion probably has the largest numerical "
                "damping of the generalized-α method, with steps of 0.005 s, so that it falls behind and decays; "
                "linear frequencies and an independent beam program with small steps and no damping agree with QuIRK.",
                "The Princeton beam has the torsion factor 0.198 of the same example. Only at 45° does the load twist "
                "it: the difference there is not one of QuIRK, since the boundary value problem with this factor, and "
                "Exudyn's geometrically exact elements, extrapolated, have the displacements of QuIRK. Ansys computes "
                "torsion from the shape of the section. With the torsion constant of Saint-Venant a third of the "
                "difference is left, and a factor of 0.218 would remove it; what Ansys used is not published.",
                "The four-bar with a tilted hinge of Bauchau et al. (2016) is published in figures; "
                "`tests/test_beams.py` runs it.",
            ],
            source="J. C. Simo and L. Vu-Quoc, J. Appl. Mech. 53 (1986) 855; A. G. M. Michell and L. Prandtl (1899); "
            "E. H. Dowell and J. J. Traybar, An experimental study of the nonlinear stiffness of a rotor blade (1975), "
            "with the displacements by Ansys of L. Obrezkov et al., Nonlinear Dyn. 109 (2022) 31, from Exudyn's "
            "example; verification tests of kynema-fmb, with the motion by BeamDyn",
        )
    ]
