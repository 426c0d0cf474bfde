"""Gaps of unilateral constraints, and slip, at a state: how far open, how fast, and where forces along them push."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .constraints.relation import LANES
from .constraints.unilateral import Unilateral
from .dynamics.applied import coordinate_at, shown_at
from .dynamics.impulsive import Impulse
from .dynamics.sparse.host.solver import Solver
from .dynamics.sparse.host.watch import Guard, Watch
from .dynamics.sparse.kernels.applied import ELEMENT_SIZE, OUTPUT
from .dynamics.sparse.march.watched import VALUES, quantities_at
from .dynamics.towers import MotionTower
from .dynamics.turns import angles_by_name
from .errors import InputError
from .events.quantity import Gap
from .forces.friction import Friction, SlipComponent
from .frictions import components
from .rotation import matrix
from .state import Kinematics
from .system import System


@dataclass(frozen=True)
class Touch:
    """A gap of a unilateral constraint.

    Attributes
    ----------
    constraint, number : which
    gap : the law of it
    rows : of its bodies among all, the ground last
    """

    constraint: Unilateral
    number: int
    gap: Gap
    rows: tuple[int, ...]

    @property
    def key(self) -> tuple[str, int]:
        """Name of the constraint, and number of the gap."""
        return self.constraint.name, self.number

    @property
    def angular(self) -> bool:
        """Whether the gap is an angle."""
        return self.constraint.turning is not None


@dataclass(frozen=True)
class Slipping:
    """A component of the slip of a friction.

    Attributes
    ----------
    component : the law of it
    side : of spheres on which it is smooth
    rows : of its bodies among all, the ground last
    """

    component: SlipComponent
    side: int
    rows: tuple[int, ...]


@dataclass(frozen=True)
class Opening:
    """Gaps, and behind them components of slip, at a state.

    Attributes
    ----------
    value, rate : (c,) m and m/s, or rad and rad/s; of slip the rate alone
    push : (c, n, 6) force and moment about the centre of mass on each body, in N, of a unit multiplier
    push_in_body : the same with moments in body axes
    """

    value: np.ndarray
    rate: np.ndarray
    push: np.ndarray
    push_in_body: np.ndarray

    def of(self, which: Sequence[int]) -> Opening:
        """Return the same of some gaps."""
        chosen = list(which)
        return Opening(self.value[chosen], self.rate[chosen], self.push[chosen], self.push_in_body[chosen])

    def changed(self, change: np.ndarray) -> np.ndarray:
        """Return by how much rates (c,) change with velocities (n, 6), in N and in body axes."""
        by: np.ndarray = np.einsum("cni,ni->c", self.push_in_body, change)
        return by


class Gaps:
    """All gaps of a system's unilateral constraints, and all slip of its frictions."""

    def __init__(self, system: System, frictions: Sequence[Friction] = ()) -> None:
        n = len(system.bodies)
        number = {id(body): k for k, body in enumerate(system.bodies)}
        self._system = system
        self.touches = [
            Touch(one, k, gap := Gap(one, k), tuple(number.get(id(body), n) for body in gap.bodies))
            for one in system.constraints
            if isinstance(one, Unilateral)
            for k in range(len(one.gaps))
        ]
        self.slips = [
            Slipping(one, side, tuple(number.get(id(body), n) for body in one.bodies))
            for friction in frictions
            for one, side in components(friction)
        ]
        self._watches: dict[Solver, Watch] = {}

    def at(self, solver: Solver, t: float, y: np.ndarray, angles: np.ndarray) -> Opening:
        """Return all gaps at a state (13 n + k,), with angles (K, 3) of joints."""
        if solver not in self._watches:
            guards = [Guard(touch.key, f"{touch.constraint}", touch.gap, 0, False) for touch in self.touches]
            guards += [Guard(None, f"{one.component}", one.component, 0, False) for one in self.slips]
            self._watches[solver] = Watch(guards, solver)
        watch, count = self._watches[solver], len(self.touches) + len(self.slips)
        watch.laws.refer(t, angles)
        out, lanes = np.zeros(2 * count), solver.slots.state_to_lanes(y)
        with watch.laws.calling(), solver.applied.calling():
            known = quantities_at(VALUES, solver.mechanism, watch.table, float(t), lanes, out)
        if not known:
            watch.table.end[:] = out
            raise watch.trouble(t) or InputError(f"a gap is not a number at t = {t:g} s")
        push = np.zeros((count, solver.slots.bodies + 1, 6))
        outputs, entries = watch.table.laws.outputs, watch.table.laws.entries
        for c, rows in enumerate([*(touch.rows for touch in self.touches), *(one.rows for one in self.slips)]):
            first = entries[ELEMENT_SIZE * c + OUTPUT]
            for f, row in enumerate(rows):
                push[c, row] += outputs[first + LANES * f : first + LANES * f + 6]
        push = push[:, :-1]
        in_body = push.copy()
        R = matrix(solver.model.carried.state(y).orientation)
        in_body[..., 3:] = np.einsum("nji,cnj->cni", R, push[..., 3:])
        values, rates = out[::2], out[1::2]
        rates[len(self.touches) :] = values[len(self.touches) :]
        return Opening(values, rates, push, in_body)

    def accelerations(
        self, t: float, y: np.ndarray, angles: np.ndarray, which: Sequence[int], accelerations: np.ndarray
    ) -> np.ndarray:
        """Return second derivatives of some gaps, and rates of slip, (c,) with accelerations (n, 6).

        Accelerations are in N and in body axes; slip is numbered behind all gaps.
        """
        model = self._system.model
        kin = Kinematics.of(model.carried.state(y))
        motion = MotionTower.of(kin, 2)
        motion.position[:-1, 2] = accelerations[:, :3]
        motion.spin[:-1, 1] = np.einsum("nij,nj->ni", kin.rotation[:-1], accelerations[:, 3:])
        by_name = angles_by_name(model.joints, angles)
        found, count = [], len(self.touches)
        for c in which:
            if c < count:
                touch = self.touches[c]
                found.append(2.0 * float(coordinate_at(touch.gap, touch.rows, motion, t, by_name).taylor[2]))
            else:
                slip = self.slips[c - count]
                found.append(float(shown_at(slip.component, slip.rows, motion, t).taylor[1]))
        return np.array(found)

    def impulses(self, y: np.ndarray, opening: Opening, which: Sequence[int], x: np.ndarray) -> dict[str, Impulse]:
        """Return the impulses of forces x (c,) along gaps and slip on their bodies j, by name."""
        found: dict[str, Impulse] = {}
        state, n = self._system.model.carried.state(y), len(self._system.bodies)
        owners: list[tuple[Any, tuple[int, ...]]] = [(touch.constraint, touch.rows) for touch in self.touches]
        owners += [(slip.component, slip.rows) for slip in self.slips]
        for c, k in enumerate(which):
            if abs(x[c]) <= 0:
                continue
            (owner, rows), size = owners[k], x[c]
            # What acts on the ground is read off body i.
            row, sign = (rows[1], 1.0) if rows[1] < n else (rows[0], -1.0)
            load = sign * size * opening.push[c, row]
            origin, on = owner.ends[1][1].origin, rows[1]
            point = state.position[on] + matrix(state.orientation[on]) @ origin if on < n else origin
            arm = state.position[row] - point
            before = found.get(owner.name, Impulse(np.zeros(3), np.zeros(3)))
            moment = load[3:] + np.cross(arm, load[:3])
            found[owner.name] = Impulse(before.force + load[:3], before.torque + moment)
        return found
