"""User functions and switching force laws of a compiled run, whose inputs and outputs are recorded to detect jumps.

They are recorded at the stages of each step. The stages of nonzero Runge-Kutta weight b_i are the nodes of
interpolation polynomials in time. The table entries of a function are integers: the address of its compiled code, and
the indices of its inputs and outputs. Functions have the index p; theta is a fraction of the step; Phi denotes the
residuals of the constraint rows.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quirk.dynamics.model.model import Model
from quirk.functions.motion_kernels import ADDRESS as MOTION_ADDRESS
from quirk.functions.motion_kernels import BREAKS as MOTION_NUMBERS
from quirk.functions.motion_kernels import FUNCTION, MOTION_SIZE, MotionTable
from quirk.integrators import Method
from quirk.jit.compilation import plain
from quirk.jit.function_pointers import call

from ..kernels.applied import ADDRESS as LAW_ADDRESS
from ..kernels.applied import ELEMENT_SIZE, PROFILES, VARIABLE_RATES, VARIABLES
from ..kernels.applied import INPUT as LAW_INPUT
from ..kernels.applied import MOTION as LAW_MOTION
from ..kernels.applied import OUTPUT as LAW_OUTPUT
from ..kernels.relations import ADDRESS as RELATION_ADDRESS
from ..kernels.relations import INPUT, MOTION, NUMBERS, ORDER, OUTPUT
from ..solver.solver import Solver
from .discontinuity_probe import (
    ADDRESS,
    ASTRAY,
    FIRST_IN,
    FIRST_OUT,
    INS,
    KIND,
    OF_FORCE,
    OF_MOTION,
    OF_PROFILE,
    OF_RELATION,
    OUTS,
    PLACE_IN,
    PLACE_OUT,
    READS,
    ROUND_OFF,
    SAMPLE_SIZE,
    STRIDE,
    WRITES,
    FunctionSamples,
)
from .discontinuity_test import function_arrays

# Allowed difference of a function from its interpolation, over its change in a step: smaller for adaptive steps, which
# keep tolerances, than for fixed ones.
ADAPTIVE_LIMIT, FIXED_LIMIT = 0.01, 0.05
# Distance from a node, over the step, within which a function has the value of the node.
AT_NODE = 1e-13


def _of_forces(solver: Solver, fixed: bool) -> tuple[list[list[int]], list[float], list[np.ndarray]]:
    """Return the table entries of the force laws that may switch on and off, one list of integers per law.

    The other results are, for each of them, the smallest mass or moment of inertia, kg or kg m^2, on which it acts, and
    the mask of its variable inputs that are velocities. Their loads and the rates of their internal variables are
    monitored for jumps. If the step size is `fixed`, only laws with user functions, which may jump in time, are
    included.
    """
    applied, entries = solver.applied, list[list[int]]()
    masses, speeds = list[float](), list[np.ndarray]()
    for e, (element, rows) in enumerate(solver.model.forces):
        if element.of_user if fixed else element.wakes:
            o, layout = ELEMENT_SIZE * e, applied.layouts[e]
            address, first, out, changing, rates = (
                applied.table.entries[o + which]
                for which in (LAW_ADDRESS, LAW_INPUT, LAW_OUTPUT, VARIABLES, VARIABLE_RATES)
            )
            common = [OF_FORCE, address, first, changing, layout.inputs - layout.first_internal, out]
            entries.append([*common, out, layout.energy, 1])
            masses.append(_least_mass(solver.model, rows))
            speeds.append(layout.velocities[layout.first_internal :])
            if layout.internal:
                entries.append([*common, rates, layout.internal, 1])
                masses.append(0.0)
                speeds.append(speeds[-1])
    return entries, masses, speeds


def _least_mass(model: Model, rows: Sequence[int]) -> float:
    """Return the smallest mass, kg, or principal moment of inertia, kg m^2, of the bodies of a force element.

    `rows` are the indices of the bodies; the ground is ignored. Moments are divided by the square of the characteristic
    length in m, if this is larger than 1, so that the result is small enough for forces at any point of the system.
    """
    bodies = [row for row in rows if row < len(model.mass)]
    moments = np.linalg.eigvalsh(model.inertia[bodies])[:, 0] / max(1.0, model.length) ** 2
    return float(min([*model.mass[bodies], *moments], default=0.0))


def _of_profiles(solver: Solver) -> list[list[int]]:
    """Return the table entries of the functions of time in force laws, one list of integers per function.

    Their values are monitored for jumps.
    """
    table, entries = solver.applied.table, []
    for e, (element, _) in enumerate(solver.model.forces):
        first, motion = (table.entries[ELEMENT_SIZE * e + which] for which in (PROFILES, LAW_MOTION))
        for m, name in enumerate(element.motions):
            if element.motion(name).kind == FUNCTION:
                address, reads = _called_with(table.motions, motion + m)
                entries.append([OF_PROFILE, address, reads, 0, 0, first + 2 * m, first + 2 * m, 1, 1])
    return entries


def _of_relations(solver: Solver) -> list[list[int]]:
    """Return the table entries of user-defined constraints, one list of integers per constraint.

    The second time derivatives of their residuals are monitored for jumps.
    """
    table, entries = solver.related.table, []
    for r, placed in enumerate(solver.model.relations):
        if placed.relation.of_user:
            layout, out = solver.related.layouts[r], table.entry(r, OUTPUT)
            common = [OF_RELATION, table.entry(r, RELATION_ADDRESS), table.entry(r, INPUT), table.entry(r, INPUT)]
            common.append(layout.inputs)
            entries.append([*common, out, out + ORDER, layout.rows, ORDER + 1])
    return entries


def _of_motions(solver: Solver) -> list[list[int]]:
    """Return the table entries of the functions of time in constraints, one list of integers per function.

    Their first and second derivatives are monitored for jumps.
    """
    table, entries = solver.related.table, []
    for r, placed in enumerate(solver.model.relations):
        for m, motion in enumerate(placed.relation.motions):
            if motion.kind == FUNCTION:
                address, reads = _called_with(table.motions, table.entry(r, MOTION) + m)
                first = table.entry(r, INPUT) + table.entry(r, NUMBERS) + m * (ORDER + 1)
                entries.append([OF_MOTION, address, reads, 0, 0, first, first + 1, ORDER, 1])
    return entries


def _called_with(table: MotionTable, m: int) -> tuple[int, int]:
    """Return the address of motion m, a function of time, and an index that identifies the motion.

    The index is used in reports of invalid values; `table` contains the data of all motions.
    """
    e = MOTION_SIZE * m
    return int(table.entries[e + MOTION_ADDRESS]), int(table.entries[e + MOTION_NUMBERS])


class Functions:
    """User functions and switching force laws of a run, with their inputs and outputs at the stages of a step.

    Parameters
    ----------
    solver : evaluator of the model
    tableau : integration method of the run
    fixed : whether the steps have a fixed size

    Attributes
    ----------
    count : number of functions
    masses : smallest mass or moment of inertia on which each of the first functions, force laws, acts; otherwise 0
    samples : inputs and outputs of all functions, recorded by compiled code
    fixed : whether the steps have a fixed size
    false_alarms : for each function the number of abrupt changes that were found not to be jumps
    """

    def __init__(self, solver: Solver, tableau: Method, fixed: bool) -> None:
        self.ins, self.outs = plain(function_arrays)(solver.applied.table, solver.nodes)
        self.fixed = fixed
        entries, self.masses, self._speeds = _of_forces(solver, fixed)
        entries += [e for of in (_of_profiles, _of_relations, _of_motions) for e in of(solver)]
        self.count = len(entries)
        sizes = np.array([[e[INS], e[OUTS]] for e in entries], dtype=np.int64).reshape(-1, 2)
        self.sizes, self.false_alarms = sizes.sum(axis=0), [0] * self.count
        places = np.cumsum(sizes, axis=0) - sizes
        table = np.array([[*e, *place] for e, place in zip(entries, places, strict=True)], dtype=np.int64)
        self.table = table.reshape(-1, SAMPLE_SIZE)
        self._stages = tableau.stages + 1
        stages, fractions = nodes_of(tableau)
        weightless = np.setdiff1d(np.arange(tableau.stages), stages)
        self.samples = FunctionSamples(
            entries=self.table.ravel(),
            limit=np.full(2 * self.count, FIXED_LIMIT if fixed else ADAPTIVE_LIMIT),
            explained=np.zeros(self.count),
            changes=np.full(2 * self.count, np.inf),
            stages=stages,
            fractions=fractions,
            weightless=weightless,
            weightless_fractions=np.asarray(tableau.c)[weightless],
            basis=np.zeros(len(stages)),
            inputs=np.zeros(self._stages * self.sizes[0]),
            outputs=np.zeros(self._stages * self.sizes[1]),
        )

    def note(self) -> None:
        """Record the inputs and outputs of all functions at the last evaluated state, the start of a run."""
        for p, e in enumerate(self.table):
            at, out = e[PLACE_IN], e[PLACE_OUT]
            self.samples.inputs[at : at + e[INS]] = self.ins[e[KIND]][e[FIRST_IN] : e[FIRST_IN] + e[INS]]
            self.samples.outputs[out : out + e[OUTS]] = self.outs[e[KIND]][self._looked_at(p)]

    def _looked_at(self, p: int) -> slice:
        e = self.table[p]
        return slice(e[FIRST_OUT], e[FIRST_OUT] + e[OUTS] * e[STRIDE], e[STRIDE])

    def returned(self, p: int) -> np.ndarray:
        """Return the monitored outputs (n, OUTS) of function p at the n interpolation nodes of a step."""
        e, outputs = self.table[p], self.samples.outputs.reshape(self._stages, self.sizes[1])
        return outputs[self.samples.stages, e[PLACE_OUT] : e[PLACE_OUT] + e[OUTS]]

    def beyond_range(self, p: int, theta: float) -> tuple[float, bool]:
        """Return by how much outputs of function p at a stage of zero weight b_i are outside their range at the nodes.

        The stage is the one at the fraction theta of the step; the amount is zero if there is no such stage. The second
        result is whether the amount is large.
        """
        e, returned = self.table[p], self.returned(p)
        low, high = returned.min(axis=0), returned.max(axis=0)
        stages = self.samples.weightless[np.abs(self.samples.weightless_fractions - theta) < AT_NODE]
        outputs = self.samples.outputs.reshape(self._stages, self.sizes[1])
        values = outputs[stages, e[PLACE_OUT] : e[PLACE_OUT] + e[OUTS]]
        largest = np.maximum(np.abs(returned).max(), np.abs(values))
        beyond = np.maximum(values - high, low - values)
        allowed = ASTRAY * (high - low).max() + ROUND_OFF * largest + self.samples.explained[p]
        return float(beyond.max(initial=0.0)), bool((beyond > allowed).any())

    def is_soft(self, p: int, theta: float, load: float, h: float) -> bool:
        """Return whether a load at a stage of zero weight b_i hardly affects the stages that follow.

        The stage is at the fraction theta of the step of size h (s). The load, N or N m, gives the smallest mass a
        velocity in this step. If velocities of bodies at the stage, or their positions divided by h, are farther from
        their interpolants, the load is a consequence of the lower order of the stage, and not of a stiff contact that
        changes the stages after it.
        """
        if p >= len(self.masses) or self.masses[p] == 0.0:
            return False
        speeds = self._speeds[p]
        e, inputs = self.table[p], self.samples.inputs.reshape(self._stages, self.sizes[0])
        stages = self.samples.weightless[np.abs(self.samples.weightless_fractions - theta) < AT_NODE]
        apart = inputs[stages, e[PLACE_IN] : e[PLACE_IN] + e[INS]] - self.inputs(p, theta)
        apart = np.abs(apart) / np.where(speeds, 1.0, h)
        return bool(load * h / self.masses[p] < apart.max(initial=0.0))

    def inputs(self, p: int, theta: float) -> np.ndarray:
        """Return the inputs of function p, interpolated at fraction theta of the step."""
        e, fractions = self.table[p], self.samples.fractions
        inputs = self.samples.inputs.reshape(self._stages, self.sizes[0])
        at_stages = inputs[self.samples.stages, e[PLACE_IN] : e[PLACE_IN] + e[INS]]
        return basis(fractions, theta) @ at_stages

    def call(self, p: int, t: float, inputs: np.ndarray) -> np.ndarray:
        """Call function p at time t (s) with the given inputs; return its outputs, which are NaN if the call fails."""
        e, looked_at = self.table[p], self._looked_at(p)
        arguments, returned = self.ins[e[KIND]], self.outs[e[KIND]]
        there = slice(e[FIRST_IN], e[FIRST_IN] + e[INS])
        kept = arguments[there].copy()
        arguments[there] = inputs
        returned[looked_at] = np.nan
        call(int(e[ADDRESS]), t, arguments, int(e[READS]), returned, int(e[WRITES]))
        arguments[there] = kept
        return returned[looked_at].copy()

    def expected(self, p: int, theta: float) -> np.ndarray:
        """Return the outputs of function p, interpolated at fraction theta of the step."""
        return basis(self.samples.fractions, theta) @ self.returned(p)


@dataclass(frozen=True)
class ProbedStretch:
    """Times (s) of a step that is searched for jumps of user functions.

    Attributes
    ----------
    t, h : start and size of the step
    low, high : range of times at which functions may be called
    gap : maximum interval between two calls in the search for jumps, s
    """

    t: float
    h: float
    low: float
    high: float
    gap: float

    @property
    def middle(self) -> float:
        """Time at the middle of the step, s."""
        return self.t + 0.5 * self.h

    def part(self, t: float) -> float:
        """Return time t (s) as a fraction of the step, 0 at its start and 1 at its end."""
        return (t - self.t) / self.h

    def times(self, fractions: np.ndarray) -> np.ndarray:
        """Return the times (s) at the given fractions of the step, clipped to the range from `low` to `high`."""
        return np.clip(self.t + fractions * self.h, self.low, self.high)


def nodes_of(tableau: Method) -> tuple[np.ndarray, np.ndarray]:
    """Return the interpolation nodes of a step: the start, the end, and the stages with nonzero weight b_i.

    The results are the indices of the stages (n,) and their abscissae c_i (n,), in ascending order.
    """
    stage_at = {float(c): s for s, c in enumerate(tableau.c) if tableau.b[s] != 0}
    stage_at |= {0.0: 0, 1.0: tableau.stages}
    fractions = sorted(stage_at)
    return np.array([stage_at[c] for c in fractions], dtype=np.int64), np.array(fractions)


def basis(fractions: np.ndarray, theta: float) -> np.ndarray:
    """Return the Lagrange polynomials (n,) of n nodes at fraction theta of a step, by the barycentric formula.

    `fractions` (n,) are the abscissae of the nodes.
    """
    away = theta - fractions
    if np.abs(away).min() < AT_NODE:
        return (np.abs(away) < AT_NODE).astype(float)
    weights = _barycentric(tuple(fractions.tolist())) / away
    return weights / weights.sum()


@functools.cache
def _barycentric(fractions: tuple[float, ...]) -> np.ndarray:
    return np.array([1 / np.prod([c - other for other in fractions if other != c]) for c in fractions])
