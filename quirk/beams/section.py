"""Cross-sections of beams: stiffness and inertia per length."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..bodies import rotation
from ..bodies.inertia import inertia_fault
from ..errors import InputError
from ..util import validate
from ..util.construction import remembered
from ..util.immutable import Immutable

# Accepted asymmetry of stiffness and mass matrices, as a fraction of their largest element: rounded input.
ASYMMETRY = 1e-9
# Number of terms of the series for the torsion constant of a rectangle, whose relative truncation error is below 1e-9.
TORSION_TERMS = 60
# Number of corners that approximate a circle in graphics.
CORNERS = 24


class Section(Immutable):
    """Stiffness and inertia of a beam's cross-section, with x along the beam and y and z in the section.

    The strains are the extension and two shear strains, and the twist and two curvatures, 1/m, relative to the unloaded
    shape. The stiffness K relates them to the section forces, N, and moments, N m. `rectangle`, `circle` and `tube`
    return sections of a homogeneous material.

    Parameters
    ----------
    stiffness : (6, 6) or (6,)
        K, symmetric and positive definite, or its diagonal (EA, GA_y, GA_z, GJ, EI_y, EI_z), N and N m^2. Instead, give
        EA, GA, GJ and EI.
    inertia : (6, 6) or (6,)
        Mass matrix per unit length for the velocity of the beam's axis and the angular velocity, kg/m, kg and kg m, or
        its diagonal (m, m, m, j_x, j_y, j_z). With `mass`, `inertia` contains only the moments of inertia per unit
        length, kg m: (j_x, j_y, j_z), or (j_y, j_z) with j_x = j_y + j_z, or a scalar j_y = j_z; the default is that of
        a homogeneous section, m EI / EA.
    EA : float
        Extensional stiffness, N.
    GA : float or (2,)
        Shear stiffness in the directions of y and z, N, including the shear correction factor.
    GJ : float
        Torsional stiffness, N m^2.
    EI : float or (2,)
        Bending stiffness about y and z, N m^2.
    mass : float
        Mass per length, kg/m.
    outline : (k, 2), optional
        Corners of the outline (y, z), m, for graphics. Default: a circle with the ratio EI/EA of the section.

    Attributes
    ----------
    stiffness, inertia : (6, 6)
        Stiffness matrix K and mass matrix per unit length, as full matrices.
    mass : float
        Mass per length, kg/m.
    center : (3,)
        Center of mass of the section relative to the beam's axis, m.
    outline : (k, 2)
        Corners of the outline (y, z), m.

    Raises
    ------
    InputError
        If a value is missing, has the wrong shape, or is physically impossible.

    Examples
    --------
    >>> quirk.Section(EA=2e6, GA=8e5, GJ=500.0, EI=[700.0, 900.0], mass=1.5).stiffness.diagonal()
    array([2.e+06, 8.e+05, 8.e+05, 5.e+02, 7.e+02, 9.e+02])
    """

    def __init__(
        self,
        *,
        stiffness: ArrayLike | None = None,
        inertia: ArrayLike | None = None,
        EA: float | None = None,
        GA: ArrayLike | None = None,
        GJ: float | None = None,
        EI: ArrayLike | None = None,
        mass: float | None = None,
        outline: ArrayLike | None = None,
    ) -> None:
        separate = {"EA": EA, "GA": GA, "GJ": GJ, "EI": EI}
        given = [key for key, value in separate.items() if value is not None]
        if (stiffness is None and len(given) < len(separate)) or (stiffness is not None and given):
            raise InputError(
                f"Section: give either stiffness, or all of EA, GA, GJ and EI; got {', '.join(given) or 'none of them'}"
                f"{'' if stiffness is None else ' and stiffness'}"
            )
        if stiffness is None:
            stiffness = [
                validate.number("Section", "EA", EA),
                *_pair("GA", GA),
                validate.number("Section", "GJ", GJ),
                *_pair("EI", EI),
            ]
        self.stiffness = _matrix("stiffness", stiffness)
        self.inertia = _inertia(inertia, mass, self.stiffness)
        self.mass = float(self.inertia[0, 0])
        self.center = np.array([self.inertia[5, 1], self.inertia[3, 2], self.inertia[4, 0]]) / self.mass
        _check_rigid(self.inertia, self.mass, self.center)
        if outline is None:
            radius = float(np.sqrt(2.0 * (self.stiffness[4, 4] + self.stiffness[5, 5]) / self.stiffness[0, 0]))
            self.outline = _circle(radius)
        else:
            numbers = validate.numbers(outline)
            if numbers is None or numbers.ndim != 2 or numbers.shape[1] != 2 or len(numbers) < 3:
                raise InputError(f"Section: outline must be at least three corners (y, z); got {outline!r}")
            self.outline = validate.array("Section", "outline", outline, numbers.shape)

    @classmethod
    @remembered
    def rectangle(cls, width: float, height: float, *, young: float, poisson: float, density: float) -> Self:
        """Return a solid rectangular section, with `width` along y and `height` along z.

        Shear correction factors are from Cowper's formula, the torsional stiffness from Saint-Venant's theory.

        Parameters
        ----------
        width, height : float
            Sides, m.
        young : float
            Young's modulus, Pa.
        poisson : float
            Poisson's ratio, between -1 and 0.5.
        density : float
            Mass per volume, kg/m^3.

        Examples
        --------
        >>> strip = quirk.Section.rectangle(0.1, 0.2, young=2e11, poisson=0.3, density=7800.0)
        >>> round(strip.mass, 9)
        156.0
        """
        b, h = (validate.positive("Section.rectangle", *pair) for pair in (("width", width), ("height", height)))
        return cls._homogeneous(
            "rectangle", young, poisson, density,
            area=b * h, second=(b * h**3 / 12, h * b**3 / 12), torsion=_torsion_of_rectangle(b, h),
            shear=lambda nu: 10 * (1 + nu) / (12 + 11 * nu),
            outline=0.5 * np.array([[b, h], [-b, h], [-b, -h], [b, -h]]),
        )  # fmt: skip

    @classmethod
    @remembered
    def circle(cls, radius: float, *, young: float, poisson: float, density: float) -> Self:
        """Return a solid circular section, radius in m; `young`, `poisson` and `density` as for `rectangle`.

        Examples
        --------
        >>> rod = quirk.Section.circle(0.01, young=7e10, poisson=0.33, density=2700.0)
        >>> round(rod.mass, 6)
        0.84823
        """
        r = validate.positive("Section.circle", "radius", radius)
        return cls._homogeneous(
            "circle", young, poisson, density,
            area=np.pi * r**2, second=(np.pi * r**4 / 4,) * 2, torsion=np.pi * r**4 / 2,
            shear=lambda nu: 6 * (1 + nu) / (7 + 6 * nu),
            outline=_circle(r),
        )  # fmt: skip

    @classmethod
    @remembered
    def tube(cls, outer_radius: float, inner_radius: float, *, young: float, poisson: float, density: float) -> Self:
        """Return a circular tubular section, radii in m; `young`, `poisson` and `density` as for `rectangle`.

        Examples
        --------
        >>> mast = quirk.Section.tube(0.05, 0.04, young=7e10, poisson=0.33, density=2700.0)
        >>> round(mast.mass, 6)
        7.63407
        """
        r = validate.positive("Section.tube", "outer_radius", outer_radius)
        inner = validate.positive("Section.tube", "inner_radius", inner_radius)
        if inner >= r:
            raise InputError(f"Section.tube: inner_radius must be less than outer_radius; got {inner:g} and {r:g}")
        square = (inner / r) ** 2
        second = np.pi * (r**4 - inner**4) / 4

        def shear(nu: float) -> float:
            thick = (7 + 6 * nu) * (1 + square) ** 2
            return 6 * (1 + nu) * (1 + square) ** 2 / (thick + (20 + 12 * nu) * square)

        return cls._homogeneous(
            "tube", young, poisson, density,
            area=np.pi * (r**2 - inner**2), second=(second, second), torsion=2 * second, shear=shear,
            outline=_circle(r),
        )  # fmt: skip

    @classmethod
    def _homogeneous(
        cls,
        kind: str,
        young: float,
        poisson: float,
        density: float,
        *,
        area: float,
        second: tuple[float, float],
        torsion: float,
        shear: Any,
        outline: np.ndarray,
    ) -> Self:
        """Return a section of a homogeneous material.

        Parameters
        ----------
        kind : name of the shape, for messages
        young, poisson, density : as for `rectangle`
        area : area, m^2
        second : second moments of area about y and z, m^4
        torsion : torsion constant, m^4
        shear : function that returns the shear correction factor for Poisson's ratio
        outline : (k, 2) corners (y, z) of the outline, m
        """
        owner = f"Section.{kind}"
        E, rho = (validate.positive(owner, *pair) for pair in (("young", young), ("density", density)))
        nu = validate.number(owner, "poisson", poisson)
        if not -1.0 < nu <= 0.5:
            raise InputError(f"{owner}: poisson must be above -1 and at most 0.5; got {nu:g}")
        G = E / (2 * (1 + nu))
        stiffness = [E * area, *[shear(nu) * G * area] * 2, G * torsion, E * second[0], E * second[1]]
        inertia = [*[rho * area] * 3, rho * sum(second), rho * second[0], rho * second[1]]
        return cls(stiffness=stiffness, inertia=inertia, outline=outline)

    def __str__(self) -> str:
        return "Section"

    def __repr__(self) -> str:
        return f"<Section: {self.mass:g} kg/m, EA = {self.stiffness[0, 0]:g} N>"


def _pair(argument: str, value: Any) -> list[float]:
    """Return the values (y, z) of an argument given as one number for both directions, or as two numbers."""
    numbers = validate.numbers(value)
    if numbers is not None and numbers.shape == ():
        return [float(numbers)] * 2
    return [float(x) for x in validate.array("Section", argument, value, (2,))]


def _matrix(argument: str, value: Any) -> np.ndarray:
    """Return a symmetric positive definite matrix (6, 6); the user's `value` is the matrix or its diagonal.

    `argument` is the name of the user's argument, for errors.
    """
    numbers = validate.numbers(value)
    if numbers is None or numbers.shape not in ((6,), (6, 6)):
        raise InputError(f"Section: {argument} must be 6 numbers or a 6 x 6 matrix; got {value!r}")
    given = validate.array("Section", argument, value, numbers.shape)
    matrix = np.diag(given) if given.ndim == 1 else given
    if np.abs(matrix - matrix.T).max() > ASYMMETRY * np.abs(matrix).max():
        raise InputError(f"Section: {argument} must be symmetric; got {matrix.tolist()}")
    scale = np.sqrt(np.abs(matrix.diagonal()))
    if not (scale > 0).all() or np.linalg.eigvalsh(matrix / np.outer(scale, scale))[0] <= 0:
        raise InputError(f"Section: {argument} must be positive definite; got {given.tolist()}")
    return 0.5 * (matrix + matrix.T)


def _inertia(value: Any, mass: Any, stiffness: np.ndarray) -> np.ndarray:
    """Return the mass matrix (6, 6) per length, from the arguments `inertia` (here `value`) and `mass` of `Section`.

    `stiffness` (6, 6) determines the default moments of inertia.
    """
    if mass is None:
        if value is None:
            raise InputError("Section: give mass, kg/m, or inertia, the 6 x 6 mass matrix per length")
        return _matrix("inertia", value)
    m = validate.positive("Section", "mass", mass)
    if value is None:
        value = m * stiffness.diagonal()[4:] / stiffness[0, 0]
    numbers = validate.numbers(value)
    if numbers is None or numbers.shape not in ((), (2,), (3,)):
        raise InputError(
            f"Section: inertia must be 1, 2 or 3 moments per length, kg m, if mass is given; got {value!r}"
        )
    moments = np.broadcast_to(numbers, (2,)) if numbers.size < 3 else numbers
    return _matrix("inertia", [m, m, m, *([moments.sum()] if numbers.size < 3 else []), *moments])


def _check_rigid(inertia: np.ndarray, mass: float, center: np.ndarray) -> None:
    """Raise an InputError if the mass matrix `inertia` (6, 6) per unit length is impossible for a rigid section.

    `mass` is the mass per unit length, kg/m, and `center` (3,), m, the center of mass.
    """
    rigid = inertia.copy()
    rigid[:3, :3] = mass * np.eye(3)
    rigid[3:, :3] = mass * rotation.skew(center)
    rigid[:3, 3:] = rigid[3:, :3].T
    if np.abs(inertia - rigid).max() > ASYMMETRY * np.abs(inertia).max():
        raise InputError(
            "Section: inertia must be of the form [[m 1, -m c x], [m c x, j]] with the mass per length m and the "
            f"center of mass c; got {inertia.tolist()}"
        )
    fault = inertia_fault(inertia[3:, 3:] - mass * (center @ center * np.eye(3) - np.outer(center, center)))
    if fault is not None:
        raise InputError(f"Section: {fault}")


def _torsion_of_rectangle(width: float, height: float) -> float:
    """Return the torsion constant of a rectangular section, m^4, from its sides, m.

    Source: Timoshenko and Goodier, Theory of Elasticity, section 109.
    """
    a, b = max(width, height), min(width, height)
    odd = 2 * np.arange(TORSION_TERMS) + 1
    return float(a * b**3 / 3 * (1 - 192 / np.pi**5 * b / a * (np.tanh(odd * np.pi * a / (2 * b)) / odd**5.0).sum()))


def _circle(radius: float) -> np.ndarray:
    angle = np.linspace(0, 2 * np.pi, CORNERS, endpoint=False)
    return radius * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
