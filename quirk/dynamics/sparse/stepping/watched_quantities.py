"""Event functions of compiled runs, and their tables for compiled code.

An event function is a quantity whose zero crossings are located; its side is the sign of its value, 1 or -1.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace

import numpy as np

from quirk.constraints import Constraint
from quirk.constraints.sticking import Sticking
from quirk.constraints.unilateral import Unilateral
from quirk.dynamics.model.auxiliary_states import AuxiliaryStates
from quirk.dynamics.model.joint_angles import CountedJoints, polar_sign
from quirk.dynamics.model.model import Model
from quirk.errors import InputError
from quirk.events.dimension import Dimension
from quirk.events.names import LOADS, Reading
from quirk.events.quantity import Gap, Quantity, WatchedAngle
from quirk.forces import ForceElement
from quirk.forces.stick_slip import SlipBelow
from quirk.jit.simd import aligned

from ..codegen.force_functions import Applied
from ..kernels.minimum_norm import RedundantRows
from ..solver.minimum_norm_loads import no_redundant_rows
from ..solver.solver import Solver
from ..symbolic.tables_of_readings import flat_readings
from ..symbolic.tables_of_shared_rows import (
    Places,
    ValuesOfShares,
    places_of_readings,
    rows_of_readings,
    shared_row_tables,
)
from .event_functions import (
    MOST_CROSSINGS,
    MOST_SAMPLES,
    NOTED,
    WAY,
    WHEN,
    WHICH,
    WatchedTables,
    WatchedTurns,
    quantities_at,
)

# For event functions by key: sign, rate at a crossing that has just happened, largest magnitude so far, natural scale,
# and magnitude below which it counts as held at zero.
Side = tuple[float, float, float, float, float]
Sides = Mapping[Hashable, Side]


# Crossings of one quantity at times that differ by less than this number of units in the last place are one crossing:
# states within a step have round-off, which may let a quantity change sign several times there.
SAME_TIME_ULPS = 16


@dataclass(frozen=True)
class EventFunction:
    """An event function of a run.

    Attributes
    ----------
    key : identification, independent of the enabled constraints and forces
    title : name in messages
    quantity : a force element without loads, with one coordinate, or a `Reading`
    direction : -1, 0 or 1, direction of crossings that are events
    acts : whether the event has an action, so that a step must end at the event
    positive : whether its value is assumed positive, up to round-off, at the start of a run and after jumps of the
        state
    dimension : dimension of the value, if its round-off is that of the positions or velocities of the system
    level : level of the event, subtracted from the value
    side_before : sign, -1 or 1, that the value counts as having before a run begins; 0 for its sign at the start
    tolerance : largest magnitude of the value that counts as round-off, in addition to that of positions and velocities
    """

    key: Hashable
    title: str
    quantity: ForceElement | Reading
    direction: int
    acts: bool
    positive: bool = False
    dimension: Dimension = Dimension.UNKNOWN
    level: float = 0.0
    side_before: int = 0
    tolerance: float = 0.0


def varies_fast(quantity: ForceElement | Reading, loads_vary: bool) -> bool:
    """Return whether an event function may vary faster than the motion of bodies.

    This may be so for user functions and, if loads vary with time, `loads_vary`, for loads, and for slip that drivers
    prescribe, as a step may cover a whole motion from rest to rest.
    """
    return loads_vary if isinstance(quantity, Reading | SlipBelow) else not quantity.built_in


class EventMonitor:
    """Event functions of a run with their tables for compiled code.

    Addresses in the tables are valid while this object exists.

    Attributes
    ----------
    table : tables of all event functions for compiled code
    guards : event functions in the order of the table: those in the form of force laws come first
    laws : compiled force laws that compute event functions
    """

    def __init__(self, guards: Sequence[EventFunction], solver: Solver) -> None:
        self.guards = sorted(guards, key=lambda guard: isinstance(guard.quantity, Reading))
        quantities = [guard.quantity for guard in guards if not isinstance(guard.quantity, Reading)]
        readings = [guard.quantity for guard in guards if isinstance(guard.quantity, Reading)]
        self.laws = Applied(_as_forces(solver.model, quantities), solver.slots, solver.tables.row_lane, solver.refuse)
        # Shared with the forces, so that one flag stops all callbacks.
        self.laws.stop = solver.applied.stop
        rows, joints = rows_of_readings(readings)
        laws = [row.law for row in (*rows.left_out, *rows.unloaded)]
        unit_loads = self.laws
        if laws:
            unit_loads = Applied(_as_forces(solver.model, laws), solver.slots, solver.tables.row_lane, solver.refuse)
            unit_loads.stop = solver.applied.stop
        self._unit_loads = unit_loads
        table = flat_readings(readings, solver.model, solver.tables, solver.applied.table)
        places = (
            places_of_readings(readings, table, ValuesOfShares(rows, len(joints))) if laws else (Places(), Places())
        )
        count, angles = (
            len(guards),
            [one.watched_angle for one in quantities if isinstance(one, Quantity | Gap) and one.turning],
        )
        self._axes = np.array([angle.axis for angle in angles], dtype=np.int64)
        self.table = WatchedTables(
            laws=self.laws.table,
            readings=table,
            shared=shared_row_tables(
                rows, joints, *places, solver.model, solver.tables, solver.applied.table, self._unit_loads.table, None
            ),
            redundant=_redundant_rows(readings, solver),
            direction=np.array([guard.direction for guard in self.guards], dtype=np.int64),
            acts=np.array([guard.acts for guard in self.guards], dtype=np.int64),
            built_in=np.array(
                [isinstance(g.quantity, Reading) or g.quantity.built_in for g in self.guards], dtype=np.int64
            ),
            positive=np.array([guard.positive for guard in self.guards], dtype=np.int64),
            side=np.zeros(count),
            side_at_start=np.zeros(count),
            scale=np.zeros(count),
            dimension=np.array([guard.dimension for guard in self.guards], dtype=np.int64),
            natural_scale=np.zeros(count),
            change=np.full(count, np.inf),
            turns=_watched_turns(angles, solver.model.joints),
            start=np.zeros(2 * count),
            middle=np.zeros(2 * count),
            end=np.zeros(2 * count),
            samples=np.zeros(2 * (MOST_SAMPLES + 1) * count),
            state=aligned(solver.size),
            slope=aligned(solver.size),
            crossings=np.zeros(NOTED * MOST_CROSSINGS if count else 0),
            hit=np.zeros(count, dtype=np.int64),
            at_speed=np.zeros(count),
            missing=np.zeros(count),
            held=np.zeros(count),
            tolerance=np.array([guard.tolerance for guard in self.guards]),
        )

    def count_from(self, whole: np.ndarray) -> None:
        """Set the full turns (K, 3), rad, that the angles of K joints have made before the start of the count."""
        self.table.turns.whole[:] = whole[self.table.turns.joint, self._axes]

    @property
    def sides(self) -> Sides:
        """Signs, rates and magnitudes of all event functions, by key.

        The entry of a function consists of its sign, the magnitude of its rate if it crosses zero at the current time,
        its largest magnitude so far, its natural scale, and the magnitude below which it counts as held at zero.
        """
        table = self.table
        arrays = table.side, table.at_speed, table.scale, table.natural_scale, table.held
        known = zip(*(array.tolist() for array in arrays), strict=True)
        return {guard.key: one for guard, one in zip(self.guards, known, strict=True)}

    def take(self, sides: Sides) -> None:
        """Set the signs and magnitudes of event functions at the start of a run to those in `sides`.

        `sides` is the value of the property `sides`, possibly of another monitor. Signs of functions that are missing
        in it are set to those before a run begins.
        """
        table = self.table
        for e, guard in enumerate(self.guards):
            table.side[e], table.at_speed[e], table.scale[e], natural, table.held[e] = sides.get(
                guard.key, (float(guard.side_before), 0.0, 0.0, 0.0, 0.0)
            )
            known = guard.dimension != Dimension.UNKNOWN
            table.natural_scale[e] = max(natural, abs(guard.level)) if known else 0.0

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Context in which compiled code may call user functions of event functions; see `Applied.calling`."""
        with self.laws.calling(), nullcontext() if self._unit_loads is self.laws else self._unit_loads.calling():
            yield

    def values(self, solver: Solver, t: float, y: np.ndarray) -> np.ndarray:
        """Return the values (Q,) of all Q event functions at time t (s) and state y (13 n + k,), in the run's order."""
        found = np.zeros(2 * len(self.guards))
        with self.calling(), solver.applied.calling():
            quantities_at(solver.mechanism, self.table, t, solver.slots.state_to_lanes(y), found)
        return found[::2]

    def trouble(self, t: float, since: float | None = None) -> Exception | None:
        """Return the exception for an event function that is not finite at time t (s), or None.

        If an event function has failed at the time `since` (s), by default t, or later, the exception of this failure
        is returned, even if later calls have succeeded.
        """
        failed = self.laws.trouble or self.laws.failed_since(t if since is None else since)
        if failed is not None:
            return failed if isinstance(failed, Exception) else None
        bad = np.flatnonzero(
            ~np.isfinite(
                np.stack([numbers[::2] for numbers in (self.table.start, self.table.middle, self.table.end)])
            ).all(axis=0)
        )
        if bad.size:
            return InputError(f"{self.guards[bad[0]].title}: its function is not a number at t = {t:.9g} s")
        return None


def shares_with_contacts(model: Model) -> bool:
    """Whether closed contacts or sticking friction are among the constraints of a model.

    Of redundant constraints, they limit the distribution of the loads; otherwise its norm is minimal.
    """
    return any(isinstance(held, Unilateral | Sticking) for held, _ in model.joint_bodies)


def _redundant_rows(readings: Sequence[Reading], solver: Solver) -> RedundantRows:
    """Return the tables for the minimum-norm loads of constraints, empty tables if no reading is such a load."""
    of_joints = any(isinstance(one.of, Constraint) and one.quantity in LOADS for one in readings)
    return solver.redundant_rows() if of_joints else no_redundant_rows()


def _watched_turns(angles: Sequence[WatchedAngle], joints: CountedJoints) -> WatchedTurns:
    """Return the tables of the event functions that depend on joint angles with all turns counted."""
    return WatchedTurns(
        joint=np.array([joints.number[angle.joint] for angle in angles], dtype=np.int64),
        sign=np.array([polar_sign(angle.axis) for angle in angles], dtype=float),
        factor=np.array([angle.factor for angle in angles], dtype=float),
        offset=np.array([angle.offset for angle in angles], dtype=float),
        whole=np.zeros(len(angles)),
        quadrants=np.zeros(2 * len(joints.ends), dtype=np.int64),
        lead=np.zeros(2 * len(joints.ends)),
    )


def _as_forces(model: Model, quantities: Sequence[ForceElement]) -> Model:
    """Return a copy of a model with the event functions `quantities` in place of its force elements."""
    number = {name: k for k, name in enumerate(model.body_names)}
    placed = [(one, tuple(number.get(body.name, len(number)) for body in one.bodies)) for one in quantities]
    return replace(model, forces=placed, auxiliary=AuxiliaryStates.of(model.body_names, [], []))


def distinct_crossings(crossings: np.ndarray, h: float) -> np.ndarray:
    """Return recorded zero crossings (n, NOTED) in the order of time, without repetitions due to round-off.

    If one function crosses zero twice at the same time, the later crossing is dropped, or both if their directions are
    opposite. Times are the same if they differ by less than SAME_TIME_ULPS units in the last place of the time or of
    the step size h, whichever is larger.
    """
    latest: dict[int, int] = {}
    kept: list[int] = []
    for k in np.argsort(crossings[:, WHEN], kind="stable"):
        which, resolution = int(crossings[k, WHICH]), SAME_TIME_ULPS * np.spacing(max(abs(crossings[k, WHEN]), h))
        before = latest.get(which)
        if before is None or crossings[k, WHEN] - crossings[before, WHEN] > resolution:
            latest[which] = int(k)
            kept.append(int(k))
        elif crossings[k, WAY] != crossings[before, WAY]:
            kept.remove(before)
            del latest[which]
    return crossings[kept]
