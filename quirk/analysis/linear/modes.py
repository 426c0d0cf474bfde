"""Modes of small motions: eigenvalues and mode shapes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quirk.bodies.state import State
from quirk.dynamics.model.directions import SHIFT, TURN, Directions
from quirk.errors import InputError
from quirk.util import validate
from quirk.util.misuse import explained

from .eigenvalues import eigenvectors, order
from .linearization import linearize
from .operating_point import Point
from .outputs import quantities
from .quantity_derivatives import QuantityDerivatives
from .sparse_modes import sparse_modes

if TYPE_CHECKING:
    from quirk.result.result import Result
    from quirk.system.system import System

# Imaginary parts below this fraction of the eigenvalue's absolute value are round-off.
REAL = 1e-9


@explained
@dataclass(frozen=True)
class Modes:
    """The k modes exp(s t) of small motions about a state, by increasing abs(s); one for each conjugate pair, Im s > 0.

    Attributes
    ----------
    eigenvalues : (k,) s, complex, 1/s: real parts are rates of growth, imaginary parts angular frequencies, rad/s
    shapes : (k, n, 12) complex
        Motion of the n bodies: displacements of the centers of mass in the inertial frame, rotations in body axes,
        variations of velocities in the inertial frame and of angular velocities in body axes. The largest displacement,
        relative to the characteristic length of the system, or rotation is 1.
    internal : (k, q) complex, variations of the q internal variables of force elements
    about : "equilibrium", "steady motion" or "instant", as in `Linearization`
    state, time : the operating point
    """

    eigenvalues: np.ndarray
    shapes: np.ndarray
    internal: np.ndarray
    about: str
    state: State
    time: float
    _system: System

    @property
    def frequencies(self) -> np.ndarray:
        """Natural frequencies (k,), Hz: abs(s) / 2 pi."""
        return np.asarray(np.abs(self.eigenvalues) / (2 * np.pi))

    @property
    def damping(self) -> np.ndarray:
        """Damping ratios (k,): -Re s / abs(s), or 0 for s = 0.

        A mode with ratio 1 decays without oscillation; a mode with a negative ratio grows.
        """
        size = np.abs(self.eigenvalues)
        return np.asarray(np.where(size > 0, -self.eigenvalues.real / np.where(size > 0, size, 1.0), 0.0))

    def __len__(self) -> int:
        return len(self.eigenvalues)

    def of(self, name: str) -> np.ndarray:
        """Return the complex amplitude (k,) of a named quantity, such as "hinge.angle", in each mode."""
        (one,) = quantities("Modes.of", "name", self._point.system, [name])
        changes = one.read(self._changes)[1]
        return np.asarray(changes[: len(self)] + 1j * changes[len(self) :])

    def result(self, number: int, amplitude: float = 0.2, periods: int = 1) -> Result:
        """Return a mode as a motion with enlarged amplitude: a `Result` for plots and animations.

        Parameters
        ----------
        number : index of the mode, from 0
        amplitude : largest rotation, rad, or displacement, relative to the characteristic length of the system
        periods : number of periods, without growth or decay; a mode that does not oscillate is shown with a period of 1
            s
        """
        from .mode_animation import as_result

        return as_result(self._system, self, self._number(number), amplitude, periods)

    def animate(self, number: int, path: str | Path, *, amplitude: float = 0.2, **options: Any) -> Path:
        """Write an animation of a mode to a file; one period takes two seconds.

        `number` and `amplitude` are as for `result`; `options` are those of `Result.animate`.
        """
        motion = self.result(number, amplitude)
        options.setdefault("speed", float(motion.time[-1]) / 2)
        return Path(motion.animate(path, **options))

    def plot(self, number: int, *, amplitude: float = 0.2, **options: Any) -> Any:
        """Plot a mode at both extremes and at rest.

        `number` and `amplitude` are as for `result`; `options` are those of `Result.plot.ghosts`.
        """
        motion = self.result(number, amplitude)
        period = float(motion.time[-1])
        figure = motion.plot.ghosts([0.25 * period, 0.5 * period, 0.75 * period], **options)
        k = self._number(number)
        ax = figure.axes[0] if options.get("ax") is None else options["ax"]
        ax.set_title(f"mode {k}: {self.frequencies[k]:.4g} Hz, damping ratio {self.damping[k] + 0.0:.3g}")
        return figure

    def __str__(self) -> str:
        lines = [f"modes about {'an' if self.about[0] in 'ei' else 'a'} {self.about}",
                 f"{'':>4}  {'s, 1/s':>28}  {'frequency, Hz':>14}  {'damping':>9}"]  # fmt: skip
        for k, (s, f, d) in enumerate(zip(self.eigenvalues, self.frequencies, self.damping, strict=True)):
            lines.append(f"{k:>4}  {s.real:>13.6g} {s.imag:>+13.6g}i  {f:>14.6g}  {d:>9.4g}")
        return "\n".join(lines)

    def _number(self, number: Any) -> int:
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or not 0 <= number < len(self):
            raise InputError(f"Modes: number must be the index of one of {len(self)} modes, from 0; got {number!r}")
        return int(number)

    @cached_property
    def _point(self) -> Point:
        return Point(self._system, self.state.copy(), self.time)

    @cached_property
    def _changes(self) -> QuantityDerivatives:
        """Derivatives of all quantities along the real parts of the k mode shapes, then along their imaginary parts."""
        directions = Directions.of_shapes(self._point.model, self.shapes, self.internal)
        return QuantityDerivatives(self._point, self._point.variation(directions))


def modes(system: System, state: State, t: float, count: int | None = None) -> Modes:
    """Return the modes of small motions about a state at time t (s); see `System.modes`."""
    if count is not None:
        count = validate.whole("System.modes", "count", count)
    found = None if count is None else sparse_modes(system, state, t, count)
    if found is not None:
        (values, shapes, inside), about = found
    else:
        linear = linearize(system, state, t)
        values, vectors = eigenvectors(linear.A, linear.units)
        shapes, about = linear.motion(vectors.T), linear.about
        variables = sum(s.stop - s.start for s in system.model.auxiliary.internal.values())
        inside = vectors[len(vectors) - variables :].T
    values, shapes, inside = _normalized(values, shapes, inside, system.model.length)
    return Modes(values[:count], shapes[:count], inside[:count], about, state, t, system)


def _normalized(
    values: np.ndarray, shapes: np.ndarray, internal: np.ndarray, length: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return one mode of each conjugate pair of eigenvalues, by increasing absolute value, with normalized shapes.

    `values` (k,) are the eigenvalues, `shapes` (k, n, 12) and `internal` (k, q) the motions of bodies and internal
    variables. The largest component of each shape becomes 1; displacements are relative to `length`, m.
    """
    values = np.where(np.abs(values.imag) <= REAL * np.abs(values), values.real, values).astype(complex)
    kept = np.flatnonzero(values.imag >= 0)
    kept = kept[order(values[kept])]
    values, shapes, internal = values[kept], shapes[kept].astype(complex), internal[kept].astype(complex)
    for shape, variables in zip(shapes, internal, strict=True):
        size = np.concatenate([shape[:, SHIFT] / length, shape[:, TURN]], axis=1).ravel()
        size = size if np.abs(size).max() > 0 else shape.ravel()
        largest = size[int(np.argmax(np.abs(size)))] if size.any() else 1.0
        shape /= largest
        variables /= largest
    return values, shapes, internal
