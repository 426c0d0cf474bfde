"""Unilateral constraints along a run: impacts, rest and release.

The directions in which contacts push, w (n, 6) for each gap, and the response of the mechanism to them, W = w M_c^-1 w
with M_c^-1 under the constraints that hold both ways, are those of the state. From them follow by complementarity

* the impulses: rates after the impact are v+ = v + W x >= -e min(v, 0), the least change in the mass metric that does
  it (Newton's law for several contacts at once);
* the loads at rest: accelerations are a + W x >= 0.

Those that push are rows of the equation of motion until their multiplier falls to zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from .configuration import Configuration
from .constraints.unilateral import Unilateral
from .dynamics.applied import coordinate_at
from .dynamics.complementarity import INDEPENDENT, completed, pushes
from .dynamics.impulsive import Impulse, impulses, with_change
from .dynamics.model import Model
from .dynamics.sparse.host.solver import Solver
from .dynamics.sparse.host.watch import Guard
from .dynamics.towers import MotionTower
from .dynamics.turns import angles_by_name
from .errors import InputError
from .events.names import Reading
from .events.quantity import Gap
from .jets import Jet
from .phases import Phases
from .rotation import matrix
from .state import STATE_SIZE, Kinematics
from .switching import SwitchingError
from .system import System

# A gap counts as closed within this part of the size of the system, or within this angle in rad.
CLOSED = 1e-10
# How far a gap that is closed without pushing may go beyond zero until the contact is looked at again.
SLACK = 1e-9
# Slower than this, in the speed of a free fall over the size of the system, contacts come to rest.
REST = 1e-6
# Rates and accelerations of contacts below this part of the largest speeds are round-off.
ROUND_OFF = 1e-12
# A contact without load opens where its multiplier is negative by this part of the largest load.
UNLOADED = 1e-9
# Impulses are corrected for what round-off leaves of the first time.
TIMES = 2


@dataclass(frozen=True)
class Touch:
    """A gap of a unilateral constraint.

    Attributes
    ----------
    constraint, number : which
    gap : the law of it
    rows : of the bodies in a motion, the ground last
    """

    constraint: Unilateral
    number: int
    gap: Gap
    rows: tuple[int, ...]


@dataclass
class Resting:
    """Which unilateral constraints are closed.

    Attributes
    ----------
    pushing : by name of those that have rows the number of the gap, and below what its multiplier opens it: zero, or
        a little less where there is no load
    idle : those that are closed and have no row, as it would follow from others
    """

    pushing: dict[str, tuple[int, float]] = field(default_factory=dict)
    idle: frozenset[tuple[str, int]] = frozenset()


@dataclass(frozen=True)
class Settled:
    """A state after impacts, with what is closed from there on.

    Attributes
    ----------
    y : (13 n + k,)
    resting : Resting
    impulse : of all constraints that exerted one, by name
    """

    y: np.ndarray
    resting: Resting
    impulse: dict[str, Impulse]


class Contacts:
    """The unilateral constraints of a system.

    Parameters
    ----------
    system : System
    phases : by which its plants are solved
    """

    def __init__(self, system: System, phases: Phases) -> None:
        self._system, self._phases = system, phases
        n = len(system.bodies)
        number = {id(body): k for k, body in enumerate(system.bodies)}
        self._touches = [
            Touch(one, k, gap := Gap(one, k), tuple(number.get(id(body), n) for body in gap.bodies))
            for one in system.constraints
            if isinstance(one, Unilateral)
            for k in range(len(one.gaps))
        ]

    def __bool__(self) -> bool:
        return bool(self._touches)

    def configured(self, base: Configuration, resting: Resting) -> Configuration:
        """Return a configuration with the rows of those contacts that push."""
        if not resting.pushing:
            return base
        names = {touch.constraint.name: touch.constraint for touch in self._touches}
        rows = {name: names[name].closed[k] for name, (k, _) in sorted(resting.pushing.items())}
        return base.with_constraints(on=frozenset(rows)).with_others(rows)

    def guards(self, resting: Resting) -> list[Guard]:
        """Return what is to be watched while these rest."""
        found = []
        for touch in self._touches:
            name, key = touch.constraint.name, (touch.constraint.name, touch.number)
            title = f"{touch.constraint}"
            number, least = resting.pushing.get(name, (-1, 0.0))
            if number == touch.number:
                multiplier = Reading(touch.constraint, "multiplier", None, least)
                found.append(Guard((*key, "push"), title, multiplier, -1, True, True))
                continue
            length = self._unit(touch)
            gap = Gap(touch.constraint, touch.number, SLACK * length) if key in resting.idle else touch.gap
            found.append(Guard((*key, "gap"), title, gap, -1, True, True))
        return found

    def first_of(self, names: Iterable[str]) -> str:
        """Return the first unilateral constraint among these names."""
        own = {touch.constraint.name for touch in self._touches}
        return next(name for name in names if name in own)

    def check(self, t: float, y: np.ndarray, angles: np.ndarray) -> None:
        """Raise InputError if bodies are in each other at the start."""
        for touch, jet in zip(self._touches, self._jets(t, y, angles), strict=True):
            if float(jet.value) < -CLOSED * self._unit(touch) - ROUND_OFF * np.abs(y[:3]).max():
                raise InputError(
                    f"{touch.constraint}: its gap ({touch.constraint.gaps[touch.number].labels[0]}) is "
                    f"{float(jet.value):.3g} at the start, and cannot be negative: move the bodies apart"
                )

    def settle(
        self,
        t: float,
        y: np.ndarray,
        angles: np.ndarray,
        base: Configuration,
        resting: Resting,
        hit: Sequence[tuple[str, int]] = (),
    ) -> Settled:
        """Return the state after the impact of all that is closed and approaches, and what then stays closed.

        Parameters
        ----------
        base : the configuration without contacts
        resting : what was closed before
        hit : gaps that are known to close now
        """
        plant = self._system.plant_for(base)
        solver, model = self._phases.settled(plant, y, t), plant.model
        known = {*((name, k) for name, (k, _) in resting.pushing.items()), *resting.idle, *hit}
        jets = self._jets(t, y, angles)
        closed = [
            touch
            for touch, jet in zip(self._touches, jets, strict=True)
            if (touch.constraint.name, touch.number) in known or abs(float(jet.value)) <= CLOSED * self._unit(touch)
        ]
        if not closed:
            return Settled(y, Resting(), {})
        speed = self._speed(model, y)
        y, impulse, rebounding = self._impact(t, y, angles, closed, solver, speed)
        candidates = [touch for touch, away in zip(closed, rebounding, strict=True) if not away]
        return Settled(y, self._at_rest(t, y, angles, candidates, solver), impulse)

    def _impact(
        self, t: float, y: np.ndarray, angles: np.ndarray, closed: list[Touch], solver: Solver, speed: float
    ) -> tuple[np.ndarray, dict[str, Impulse], list[bool]]:
        """The state after an impact, the impulses, and which contacts move apart then."""
        jets = self._jets(t, y, angles, closed)
        rates = np.array([float(jet.taylor[1]) for jet in jets])
        limits = np.array([self._rest_speed(touch, solver.model) for touch in closed])
        noise = np.array([ROUND_OFF * speed / self._unit(touch) for touch in closed])
        if not (rates < -noise).any():
            return y, {}, list(rates > np.maximum(noise, limits))
        W, pushed = self._response(t, y, closed, jets, solver)
        e = np.array([touch.constraint.restitution for touch in closed])
        x, wanted = self._bounced(W, rates, np.where(rates < -limits, e, 0.0))
        if x is None:
            names = ", ".join(f"{touch.constraint}" for touch in closed)
            raise SwitchingError(f"no impulses are found that keep all of these from passing through: {names}")
        held, after = x > 0, rates + W @ x
        # What would move apart more slowly than contacts do that are at rest stays.
        slow = (after > noise) & (after <= limits)
        if slow.any():
            held, wanted = held | slow, np.where(slow, 0.0, wanted)
            x = np.zeros_like(x)
            x[held] = np.linalg.lstsq(W[np.ix_(held, held)], (wanted - rates)[held], rcond=INDEPENDENT)[0]
        lanes, none = solver.slots.state_to_lanes(y), np.zeros(solver.model.rows)
        for turn in range(TIMES):
            change, multipliers = solver.respond(lanes, t, none, np.einsum("c,cni->ni", x, pushed))
            after = np.array([float(jet.taylor[1]) for jet in self._jets(t, with_change(y, change), angles, closed)])
            if turn + 1 < TIMES:
                missed = (wanted - after)[held]
                x[held] += np.linalg.lstsq(W[np.ix_(held, held)], missed, rcond=INDEPENDENT)[0]
        y = with_change(y, change)
        impulse = impulses(solver, y, multipliers)
        impulse.update(self._impulses(y, closed, jets, x))
        return y, impulse, list(after > np.maximum(noise, limits))

    def _bounced(self, W: np.ndarray, rates: np.ndarray, e: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
        """Impulses by Newton's law and the rates that they leave; restitution is lowered where energy would grow."""
        for part in (1.0, *np.linspace(0.9, 0.0, 10)):
            wanted = -part * e * np.minimum(rates, 0.0)
            x = pushes(W, rates - wanted)
            if x is None:
                continue
            # The change of the kinetic energy.
            if part == 0.0 or x @ (rates + 0.5 * W @ x) <= ROUND_OFF * float(np.abs(x) @ np.abs(rates)):
                return x, wanted
        return None, rates

    def _at_rest(self, t: float, y: np.ndarray, angles: np.ndarray, closed: list[Touch], solver: Solver) -> Resting:
        """Which of the closed contacts stay closed, and which of these push."""
        if not closed:
            return Resting()
        rates = solver.slots.body_states(solver.rates(t, solver.slots.state_to_lanes(y)))[:, 7:]
        jets = self._jets(t, y, angles, closed, rates)
        accelerations = np.array([2.0 * float(jet.taylor[2]) for jet in jets])
        W, _ = self._response(t, y, closed, jets, solver)
        x = pushes(W, accelerations)
        if x is None:
            names = ", ".join(f"{touch.constraint}" for touch in closed)
            raise SwitchingError(f"no loads are found that keep all of these from passing through: {names}")
        after = accelerations + W @ x
        staying = after <= CLOSED * np.abs(accelerations).max()
        # Where nothing pushes there is no load that rows could share.
        held = completed(W, x > 0, staying) if (x > 0).any() else np.zeros(len(x), dtype=bool)
        pushing: dict[str, tuple[int, float]] = {}
        for c in np.flatnonzero(held):
            least = 0.0 if x[c] > 0 else -UNLOADED * x.max(initial=0.0)
            pushing[closed[c].constraint.name] = closed[c].number, float(least)
        idle = ((closed[c].constraint.name, closed[c].number) for c in np.flatnonzero(staying & ~held))
        return Resting(pushing, frozenset(idle))

    def _response(
        self, t: float, y: np.ndarray, closed: list[Touch], jets: list[Jet], solver: Solver
    ) -> tuple[np.ndarray, np.ndarray]:
        """W (c, c) of contacts, and the directions in which they push, (c, n, 6) in N."""
        n = solver.slots.bodies
        lanes, none = solver.slots.state_to_lanes(y), np.zeros(solver.model.rows)
        R = matrix(solver.model.carried.state(y).orientation)
        pushed = np.zeros((len(closed), n + 1, 6))
        for c, (touch, jet) in enumerate(zip(closed, jets, strict=True)):
            for row, gradient in zip(touch.rows, jet.gradient, strict=True):
                if gradient is not None:
                    pushed[c, row] += np.asarray(gradient[0], dtype=float)[:6]
        pushed = pushed[:, :n]
        changes = np.array([solver.respond(lanes, t, none, one)[0] for one in pushed])
        turned = np.concatenate([pushed[..., :3], np.einsum("nji,cnj->cni", R, pushed[..., 3:])], axis=2)
        W = np.einsum("cni,dni->cd", turned, changes)
        return 0.5 * (W + W.T), pushed

    def _impulses(self, y: np.ndarray, closed: list[Touch], jets: list[Jet], x: np.ndarray) -> dict[str, Impulse]:
        """The impulses of contacts on their bodies j, by name."""
        found = {}
        n = len(self._system.bodies)
        R = matrix(y[: STATE_SIZE * n].reshape(n, STATE_SIZE)[:, 3:7])
        for touch, jet, size in zip(closed, jets, x, strict=True):
            gradient = jet.gradient[1]
            if size > 0 and gradient is not None:
                load = size * np.asarray(gradient[0], dtype=float)[:6]
                origin, row = touch.constraint.ends[1][1].origin, touch.rows[1]
                arm = R[row] @ origin if row < n else origin
                found[touch.constraint.name] = Impulse(load[:3], load[3:] - np.cross(arm, load[:3]))
        return found

    def _jets(
        self,
        t: float,
        y: np.ndarray,
        angles: np.ndarray,
        touches: list[Touch] | None = None,
        accelerations: np.ndarray | None = None,
    ) -> list[Jet]:
        """Gaps with two derivatives and gradients at a state; accelerations (n, 6) in N and in body axes."""
        model = self._system.model
        state = model.carried.state(y)
        kin = Kinematics.of(state)
        motion = MotionTower.of(kin, 2)
        if accelerations is not None:
            motion.position[:-1, 2] = accelerations[:, :3]
            motion.spin[:-1, 1] = np.einsum("nij,nj->ni", kin.rotation[:-1], accelerations[:, 3:])
        by_name = angles_by_name(model.joints, angles)
        listed = self._touches if touches is None else touches
        return [coordinate_at(touch.gap, touch.rows, motion, t, by_name) for touch in listed]

    def _unit(self, touch: Touch) -> float:
        """Size of the system, m, or 1 rad for an angle."""
        return 1.0 if touch.constraint.turning is not None else self._system.model.length

    def _rest_speed(self, touch: Touch, model: Model) -> float:
        """The rate below which a contact comes to rest."""
        given = touch.constraint.rest_speed
        if given is not None:
            return given
        fall = float(np.sqrt(np.linalg.norm(model.gravity) * model.length))
        return REST * fall * (1.0 / model.length if touch.constraint.turning is not None else 1.0)

    @staticmethod
    def _speed(model: Model, y: np.ndarray) -> float:
        """The largest speed, m/s, of bodies and of points at the size of the system from their centres."""
        state = model.carried.state(y)
        turning = model.length * np.sqrt((state.angular_velocity**2).sum(axis=1)).max()
        return float(np.sqrt((state.velocity**2).sum(axis=1)).max() + turning)
