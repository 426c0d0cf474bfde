"""The compiled solver of one system: its tables and arrays, and what Python asks of them."""

from __future__ import annotations

import numpy as np

from quirk.integrators import RK4
from quirk.integrators.combinations import weights_of
from quirk.lanes import aligned
from quirk.rotation import exp, multiply
from quirk.state import STATE_SIZE, State, initial_state

from ..model import Model
from ..projection import NEAR
from ..turns import CountedJoints
from .advance import (
    BEST_RANK,
    CHOOSE,
    CLOCK,
    COUNT,
    COUNTS,
    DONE,
    EVALUATE,
    PHI,
    PHI_RATE,
    PROJECT,
    SOLVE,
    Run,
    Settings,
    T,
    enter,
)
from .evaluate import RANK, Work
from .factorise import Pattern
from .forces import Applied
from .layout import G_FORCE, G_SIZE, KINEMATICS_SIZE, WRENCH_SIZE
from .redundancy import PIVOT_TOLERANCE
from .related import Related
from .rows import HINGE, POINT, UNITS
from .sharing import Sharing
from .tables import UNIT_ROWS, Tables

# To find which rows are redundant almost everywhere, bodies are moved at random by this part of the size of the
# system and brought back onto the constraints.
NEARBY = 1e-2
NEARBY_STATES = 3

# Stands where a task takes no steps.
NO_WEIGHTS = weights_of(RK4)


class Solver:
    """Evaluates accelerations and projections of one model.

    Arrays are its own, so one solver serves one run at a time; `tables` may be shared.
    """

    def __init__(self, model: Model, tables: Tables) -> None:
        self.model, self.tables = model, tables
        self.slots = tables.slots
        self.applied = Applied(model, tables.slots)
        self.related = Related(model, tables.nodes.relations, self.applied.watched)
        self.nodes = nodes = tables.nodes._replace(relations=self.related.table)
        K, lanes = len(nodes.rows), tables.slots.lanes
        self.size = lanes * STATE_SIZE
        self.work = Work(
            kin=aligned(lanes * KINEMATICS_SIZE),
            G=aligned(tables.rows_size),
            rhs=aligned(8 * K),
            x=aligned(8 * K),
            goal=aligned(8 * K),
            first=aligned(8 * K),
            B=aligned(self.tables.size),
            Q=aligned(self.tables.size),
            wrench=aligned(lanes * WRENCH_SIZE),
            motion=aligned(lanes * WRENCH_SIZE),
            lengths=aligned(8 * K),
            floor=aligned(8 * K),
            trial=aligned(8 * K),
            summary=np.zeros(5),
        )
        for k in np.flatnonzero((nodes.kind == POINT) | (nodes.kind == HINGE)):
            self.work.G[G_SIZE * k + G_FORCE : G_SIZE * k + 24] = UNITS
        self.work.G[tables.units : tables.units + UNIT_ROWS.size] = UNIT_ROWS.ravel()
        self.counts = np.zeros(COUNTS, dtype=np.int64)
        self.joint_of_row = np.repeat(
            np.arange(len(model.joint_rows)), [rows.stop - rows.start for rows in model.joint_rows.values()]
        )
        self._sharing: Sharing | None = None
        self._settings = Settings(0.0, 0.0, 0.0, 0, 0.0, 0.0, 1, 0.0, 0.0, float(model.length), False)
        self._desk = Run(
            y=aligned(self.size),
            y_new=aligned(0),
            stage=aligned(0),
            change=aligned(0),
            k=aligned(self.size),
            clock=np.zeros(CLOCK),
            counts=self.counts,
            asked=np.zeros(0),
            times=np.zeros(0),
            states=aligned(0),
            stop=self.applied.stop,
            counter=CountedJoints([], []).counter(self.slots, initial_state([]), 0),
        )

    @property
    def arrays(self) -> tuple:
        """The first arguments of most kernels: constants, nodes, pattern and work."""
        return self.tables.constants, self.nodes, self.tables.pattern, self.work

    def settle(self, y: np.ndarray, t: float) -> int:
        """Find which rows to leave out near a state (size,) on the constraints; returns how many are left.

        Rows that are dependent everywhere are left out from here on; those of a singular configuration are not.
        """
        if not len(self.tables.nodes.rows):
            return 0
        self._desk.clock[T] = t
        self.work.summary[:] = 0.0
        self._keep_all(y)
        states = [*self._nearby(y, t), y]
        ranks = []
        for state in states:
            self._enter(COUNT, state)
            ranks.append(int(self.work.summary[RANK]))
        self.counts[BEST_RANK] = max(ranks)
        # Where the state itself is singular, the choice is made next to it.
        if self._enter(CHOOSE, y) != DONE:
            self._enter(CHOOSE, states[int(np.argmax(ranks))])
        return max(ranks)

    def settle_near(self, y: np.ndarray, t: float) -> None:
        """Settle where the constraints hold next to a state that may violate them a little.

        Far from them its rows stand for themselves.
        """
        if not len(self.tables.nodes.rows):
            return
        self._desk.clock[T] = t
        self.work.summary[:] = 0.0
        self._keep_all(y)
        near = y.copy()
        if self.project(near, t) and np.abs(near - y).max() <= NEAR * max(1.0, self.model.length):
            self.settle(near, t)
            return
        self._enter(COUNT, y)
        self.counts[BEST_RANK] = self.rank
        self._keep_all(y)

    def choose(self, y: np.ndarray, t: float) -> None:
        """Choose anew, at another state on the constraints, which rows to leave out and how often to refine."""
        self._desk.clock[T] = t
        if self.model.rows:
            self._enter(CHOOSE if self.counts[BEST_RANK] < self.model.rows else COUNT, y)

    @property
    def rank(self) -> int:
        """How many rows the last factorisation kept."""
        return int(self.work.summary[RANK])

    def _keep_all(self, y: np.ndarray) -> None:
        """Leave out no rows but those that are dependent at the time."""
        self.work.floor[:] = 0.0
        self._enter(COUNT, y)
        self.work.floor[:] = PIVOT_TOLERANCE * self.work.lengths

    def _nearby(self, y: np.ndarray, t: float) -> list[np.ndarray]:
        """States on the constraints around a state; fewer where the way to them is not found."""
        random = np.random.default_rng(0)
        state = State.unpack(self.slots.state_from_lanes(y))
        length, shape = self.model.length, state.position.shape
        found = []
        for _ in range(NEARBY_STATES):
            position = state.position + NEARBY * length * random.normal(size=shape)
            orientation = multiply(state.orientation, exp(NEARBY * random.normal(size=shape)))
            moved = State(position, orientation, state.velocity, state.angular_velocity)
            lanes = self.slots.state_to_lanes(moved.pack())
            if self.project(lanes, t):
                found.append(lanes)
        return found

    def project(self, y: np.ndarray, t: float, on_constraints: bool = True) -> bool:
        """Bring quaternions to unit length and, if asked for, a state (size,) onto the constraints, in place.

        Returns False if it is too far from them.
        """
        self._desk.clock[T] = t
        return bool(self._enter(PROJECT, y, self._settings._replace(interval=int(on_constraints))) == DONE)

    def rates(self, t: float, y: np.ndarray, baumgarte: tuple[float, float] = (0.0, 0.0)) -> np.ndarray:
        """Return y' (size,) of a state (size,); the multipliers are then in `work.x`."""
        alpha, beta = baumgarte
        self._desk.clock[T] = t
        self._enter(EVALUATE, y, self._settings._replace(alpha=float(alpha), beta=float(beta)))
        return self._desk.k.copy()

    def _enter(self, task: int, y: np.ndarray, settings: Settings | None = None) -> int:
        run = self._desk
        run.y[:] = y
        outcome = enter(
            task, self.tables.constants, self.nodes, self.tables.pattern, self.applied.table, NO_WEIGHTS,
            settings or self._settings, self.work, run, 0,
        )  # fmt: skip
        y[:] = run.y
        return outcome

    def residuals(self, y: np.ndarray, t: float) -> np.ndarray:
        """Phi and its rate (m, 2) at a state (size,)."""
        self._desk.clock[T] = t
        columns = []
        for task in (PHI, PHI_RATE):
            self._enter(task, y)
            columns.append(self.work.rhs[self.tables.row_lane])
        return np.stack(columns, axis=1)

    def multipliers(self) -> np.ndarray:
        """Multipliers (m,) of the last evaluation; of minimum norm in the model's row scale where not unique."""
        return self.shared([self.work.x[self.tables.row_lane]], [self.work.G])[0]

    @property
    def redundant(self) -> bool:
        """Whether rows share loads."""
        return bool(self.counts[BEST_RANK] < self.model.rows)

    def shared(self, x: list[np.ndarray], G: list[np.ndarray]) -> list[np.ndarray]:
        """The multipliers of minimum norm that exert the same forces as x (m,), with rows G, for each order."""
        if not self.redundant:
            return x
        if self._sharing is None:
            self._sharing = Sharing(self.model, self.tables)
        return self._sharing.multipliers(x, G, self._solve_blocks)

    def _solve_blocks(
        self, pattern: Pattern, size: int, G: np.ndarray, floor: np.ndarray, rhs: np.ndarray
    ) -> np.ndarray:
        """Return the solution (8 K,) with blocks of another pattern, of `size` elements, over K nodes."""
        work = self.work._replace(
            G=G, floor=floor, B=aligned(size), Q=aligned(size), rhs=rhs.copy(), x=aligned(len(rhs))
        )
        enter(
            SOLVE, self.tables.constants, self.nodes, pattern, self.applied.table, NO_WEIGHTS,
            self._settings, work, self._desk, 0,
        )  # fmt: skip
        return work.x
