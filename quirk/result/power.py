"""Power and work of all forces and constraints of a run by name, and energy balance."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..bodies.rotation import matrix, unit
from ..constraints.unilateral import Unilateral
from ..dynamics.model.energy import gravity_energy, kinetic_energy
from ..errors import OutputWarning, UnknownNameError, outside
from ..util.misuse import explained
from .work import DEGREE, integrals, jumps

if TYPE_CHECKING:
    from .result import Result

IMPACTS = "impacts"
GRAVITY = "gravity"


@explained
class Power(Mapping[str, np.ndarray]):
    """Power (nt,) on the bodies, W, of each force and constraint by name, and of "gravity".

    Ideal joints between bodies, and constraints to points at rest, have zero power; the power of a driver is the power
    supplied by it. The rate of the kinetic energy is `total`.

    Attributes
    ----------
    of : powers as a dict
    work : work (nt,), J, of each force and constraint since the first output, and of "impacts" in systems with
        contacts, stops or ropes, or if an event has changed velocities.
        An OutputWarning is issued if the first output is later than the start of the run.
        The work of gravity and of elements that only store energy is minus the change of the stored energy, without
        jumps at events. All other work is integrated with the motion, to the tolerance of the run. Where drivers share
        a load that the constraints do not determine, this holds for the sum of their work: each of them has the
        integral of its power, by splines of degree 7 through the output times. An OutputWarning is issued if these are
        too far apart. In a kinematic analysis all work is the integral of such splines.
    uncertainty : estimated error of the total work, J: the difference between splines of degree 7 and of degree 5
    """

    def __init__(
        self,
        powers: dict[str, np.ndarray],
        compute_work: Callable[[], tuple[dict[str, np.ndarray], float]],
        kinetic: np.ndarray,
        stored: dict[str, np.ndarray],
        run: Power | None = None,
        since: str | None = None,
    ) -> None:
        self.of, self._done = powers, compute_work
        self._kinetic, self._stored = kinetic, stored
        # At selected times of a run, works count from the first time of the whole run.
        self._run = self if run is None else run
        # Warning that the run has no output at its start, or None.
        self._since: str | None = since if run is None else run._since

    def __repr__(self) -> str:
        return f"<Power: of {', '.join(self.of) if len(self.of) <= 8 else f'{len(self.of)} names'}>"

    @cached_property
    def _work(self) -> tuple[dict[str, np.ndarray], float]:
        return self._done()

    @property
    def work(self) -> dict[str, np.ndarray]:
        """Work (nt,) since the first output of the run, J, by name."""
        self._warn_of_late_output()
        return self.work_since_first_output

    @property
    def work_since_first_output(self) -> dict[str, np.ndarray]:
        """Work (nt,), J, by name as `work`, without a warning."""
        return self._work[0]

    def _warn_of_late_output(self) -> None:
        """Issue an OutputWarning if the first output is later than the start of the run."""
        if self._since is not None:
            warnings.warn(self._since, OutputWarning, stacklevel=outside())

    @property
    def uncertainty(self) -> float:
        """Estimated error of the total work, J."""
        return self._work[1]

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.of:
            raise UnknownNameError(f"Power: nothing that does work is named {name!r}; there are: {', '.join(self.of)}")
        return self.of[name]

    def __contains__(self, name: object) -> bool:
        return name in self.of

    def __iter__(self) -> Iterator[str]:
        return iter(self.of)

    def __len__(self) -> int:
        return len(self.of)

    @property
    def total(self) -> np.ndarray:
        """Sum of all powers (nt,), W, equal to the rate of the kinetic energy."""
        return np.sum(list(self.of.values()), axis=0)

    @property
    def dissipated(self) -> np.ndarray:
        """Energy (nt,), J, removed from the motion by force elements and not stored in them."""
        self._warn_of_late_output()
        return -self._released(self._stored)

    def _released(self, names: Iterable[str]) -> np.ndarray:
        """Return the energy (nt,), J, that force elements have supplied to the motion, without energy stored before.

        `names` are the names of these elements.
        """
        start = self._run._stored
        work = self.work_since_first_output
        added = [self._stored[name] - (start[name][0] if name in start else 0.0) + work[name] for name in names]
        return np.sum([np.zeros_like(self._kinetic), *added], axis=0)

    @property
    def balance(self) -> np.ndarray:
        """Change of the kinetic energy minus all work (nt,), J; zero except for integration errors."""
        return self._kinetic - self._run._kinetic[0] - np.sum(list(self.work_since_first_output.values()), axis=0)


def power_of(
    result: Result,
    compute_work: Callable[[], tuple[dict[str, np.ndarray], float]] | None = None,
    run: Power | None = None,
) -> Power:
    """Return the power of all forces and constraints of a run, with their work.

    `compute_work` is a function that returns the work and its uncertainty; default: `work_of`. For a result at selected
    times, `run` is the power of the whole run.
    """
    model, state, exerted = result._model, result.state, result._exerted
    nt, n = len(result.time), len(model.mass)
    spin = np.zeros((nt, n + 1, 6))  # velocity and angular velocity, inertial frame; the ground is last
    spin[:, :n, :3] = state.velocity
    spin[:, :n, 3:] = np.einsum("tnij,tnj->tni", matrix(unit(state.orientation)), state.angular_velocity)
    of = {GRAVITY: np.einsum("n,i,tni->t", model.mass, model.gravity, state.velocity)}
    placed = {element.name: rows for segment in result.segments for element, rows in segment.model.forces}
    for name, rows in placed.items():
        of[name] = np.einsum("tfc,tfc->t", exerted[name].loads[:, :, 0], spin[:, list(rows)])
    of.update(result._constraint_power)
    # Friction that has been sticking all the time has done no work.
    of |= {name: np.zeros(nt) for name in (*result.work, *model.auxiliary.work) if name not in of}
    stored = {name: exerted[name].energy for name in placed}
    kinetic = kinetic_energy(model, state)

    def usual() -> tuple[dict[str, np.ndarray], float]:
        work, uncertainty = work_of(result, of, stored)
        return work | work_of_impacts(result, kinetic), uncertainty

    done = usual if compute_work is None else compute_work
    return Power(of, done, kinetic, stored, run, _late_output(result) if run is None else None)


def _late_output(result: Result) -> str | None:
    """Return the warning that the first output is later than the start of the run, or None."""
    start, first = (result.options[0] if result.options else {}).get("start"), float(result.time[0])
    if start is None or first <= start:
        return None
    return (
        f"Power: work and dissipated energy count from the first output, at t = {first:g} s, as the run has none at "
        f"its start, t = {start:g} s: let the times in output= begin with it"
    )


def work_of(
    result: Result, power: dict[str, np.ndarray], stored: dict[str, np.ndarray]
) -> tuple[dict[str, np.ndarray], float]:
    """Return the work (nt,), J, of all forces and constraints by name, and the estimated error of the sum.

    `power` (nt,), W, and `stored` energy (nt,), J, are given by name.
    """
    weight = gravity_energy(result._model, result.state)
    work = {name: np.zeros_like(result.time) for name in power}
    # Stored energy may also jump, for instance when a spring is disabled; that is not work.
    for name, energy in {GRAVITY: weight, **stored}.items():
        work[name] = energy[0] - energy + jumps(result.time, energy)
    if result.work or not result._model.auxiliary.work:
        return {**work, **{name: done - done[0] for name, done in result.work.items()}}, 0.0
    splined = list(result._model.auxiliary.work)
    powers = np.stack([power[name] for name in splined], axis=1)
    found, coarser = (integrals(result.time, powers, degree) for degree in (DEGREE, DEGREE - 2))
    work.update(zip(splined, found.T, strict=True))
    return work, float(np.abs((found - coarser).sum(axis=1)).max(initial=0.0))


def work_of_impacts(result: Result, kinetic: np.ndarray) -> dict[str, np.ndarray]:
    """Return the work (nt,), J, of all impacts since the first time, in a dict that is empty without impacts.

    `kinetic` (nt,) is the kinetic energy (J), which jumps at impacts.
    """
    done = jumps(result.time, kinetic)
    pushes = any(isinstance(constraint, Unilateral) for constraint in result.system.constraints)
    return {IMPACTS: done} if pushes or done.any() else {}
