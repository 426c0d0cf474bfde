"""The model of a system: bodies, constraint rows and force elements as arrays for the numerical code.

A relation is a constraint given by a function of moving frames; a primitive is one of four elementary constraints; a
dual number has a value and derivatives along eight directions. Phi denotes the residuals of the constraint rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from quirk.autodiff.dual import Dual, DualArray
from quirk.bodies.body import Body, Ground
from quirk.bodies.frame import Frame
from quirk.constraints import Constraint
from quirk.constraints.primitives import Primitive, PrimitiveTable
from quirk.constraints.relation import TORQUE, Relation, RelationLayout, frame_numbers
from quirk.constraints.unilateral import Unilateral
from quirk.errors import InputError
from quirk.forces import ForceElement

from .auxiliary_states import AuxiliaryStates, has_integrated_work
from .joint_angles import CountedJoints

# Default distance of a row from the span of other rows up to which it counts as dependent. Round-off in the distance of
# a dependent row grows as the least distance among the other rows shrinks; the square root of round-off, 1.5e-8, is the
# least distance that can be resolved.
RANK_TOLERANCE = 1e-7

# With a closure tolerance, rows count as dependent up to DEPENDENT times this tolerance over the length of the system.
# Nearly dependent rows amplify the distances of others from them: tenfold in one of 20 linkages of six hinges.
DEPENDENT = 10.0

# Upper limit of the rank tolerance: rows at right angles to all others have distances not far above it.
LARGEST_RANK_TOLERANCE = 0.1


@dataclass(frozen=True)
class PlacedRelation:
    """A relation (constraint function) between bodies of a system, with its rows in the model.

    Attributes
    ----------
    relation : Relation
    rows : range of its rows in the model
    bodies : indices of the bodies of its f frames
    frames : (f, 12) position and axes of the frames in body coordinates
    owner : title of the constraint, for messages
    """

    relation: Relation
    rows: slice
    bodies: tuple[int, ...]
    frames: np.ndarray
    owner: str

    def fill(self, layout: RelationLayout, resting: bool, t: float, inputs: np.ndarray, outputs: np.ndarray) -> None:
        """Compute the outputs of the relation from its inputs at time t (s), arranged by `layout`.

        The arguments are those of `Relation.fill`. Raises an InputError if a user function fails.
        """
        with self._named(t):
            self.relation.fill(layout, resting, t, inputs, outputs)

    def fill_dual(self, layout: RelationLayout, t: Dual, inputs: DualArray, outputs: DualArray) -> None:
        """Compute the outputs of the relation with derivatives in eight directions from its inputs, as dual numbers.

        The arguments are those of `Relation.fill_dual`. Raises an InputError if a user function fails.
        """
        with self._named(t.value):
            self.relation.fill_dual(layout, t, inputs, outputs)

    @contextmanager
    def _named(self, t: float) -> Iterator[None]:
        try:
            yield
        except InputError:
            raise
        except Exception as error:
            raise InputError(
                f"{self.owner}: its function failed at t = {t:g} s: {type(error).__name__}: {error}"
            ) from error


@dataclass(frozen=True)
class Model:
    """A system as arrays: n bodies, the m rows of its enabled constraints, and its enabled force elements.

    Attributes
    ----------
    body_names : names of the n bodies
    mass : (n,) kg
    inertia : (n, 3, 3) about the centers of mass in body axes, kg m^2
    gravity : (3,) inertial frame, m/s^2
    table : PrimitiveTable
        Body index n is the ground.
    relations : relations, with all rows that do not belong to primitives
    row_primitive : (m,) index of the primitive of each row, -1 for rows of relations
    row_torque : (m,) whether the multiplier of a row is a torque and its Phi an angle
    residual_scale : (m,)
        Derivative of Phi with respect to a length, 1/m, or an angle: residuals divided by it are lengths and angles,
        to first order. It is 2 l for a row that fixes the square of a distance l.
    labels : names of the m rows
    joint_rows : slice of rows by name of each enabled constraint
    joint_bodies : each enabled constraint with the indices of its two bodies
    forces : each enabled force element with the indices of its bodies
    joints : joint frames of all constraints, enabled or not, for their angles
    auxiliary : layout of the auxiliary states
    row_scale : (m,)
        Force, N, exerted by a unit of each multiplier; for torques, the torque divided by `load_length`.
    length : float
        A characteristic length (m) for tolerances: the largest joint arm or radius of gyration.
    rank_tolerance : float
        Largest ratio of the distance of a dependent row from the span of other rows to the norm of the row; see
        `docs/method.md`.
    slack : float
        Closure tolerance of assembly divided by `length`: dependent rows may be violated by about this fraction.
    """

    body_names: list[str]
    mass: np.ndarray
    inertia: np.ndarray
    gravity: np.ndarray
    table: PrimitiveTable
    relations: list[PlacedRelation]
    row_primitive: np.ndarray
    row_torque: np.ndarray
    residual_scale: np.ndarray
    labels: list[str]
    joint_rows: dict[str, slice]
    joint_bodies: list[tuple[Constraint, tuple[int, int]]]
    forces: list[tuple[ForceElement, tuple[int, ...]]]
    joints: CountedJoints
    auxiliary: AuxiliaryStates
    row_scale: np.ndarray
    length: float
    rank_tolerance: float
    slack: float

    @cached_property
    def inverse_root(self) -> np.ndarray:
        """Upper triangular matrices W (n, 3, 3) with W W^T = J^-1, for the inertia tensors J of n bodies."""
        return np.swapaxes(np.linalg.inv(np.linalg.cholesky(self.inertia)), 1, 2)

    @cached_property
    def gyroscopic_inertia(self) -> np.ndarray:
        """Inertia tensors (n, 3, 3) minus the middle principal moment times the unit matrix, kg m^2.

        They are used for the product omega x J omega, which they leave unchanged but with less round-off for slender
        bodies.
        """
        middle = np.linalg.eigvalsh(self.inertia)[:, 1]
        return self.inertia - middle[:, None, None] * np.eye(3)

    @cached_property
    def mean_moment(self) -> np.ndarray:
        """Means (n,) of the three principal moments of inertia, kg m^2."""
        return np.trace(self.inertia, axis1=1, axis2=2) / 3

    @property
    def reads_angles(self) -> bool:
        """Whether the loads of a force element may depend on the number of full turns of joints."""
        return any(force.turning for force, _ in self.forces)

    @property
    def rows(self) -> int:
        """Number of constraint rows."""
        return len(self.labels)

    @cached_property
    def row_of_velocities(self) -> np.ndarray:
        """Mask (m,) of the rows that constrain velocities only, such as rolling."""
        found = np.zeros(self.rows, dtype=bool)
        for placed in self.relations:
            found[placed.rows] = placed.relation.of_velocities
        return found

    @cached_property
    def work_of_row(self) -> np.ndarray:
        """Index (m,) among the auxiliary states of the work of each row's constraint, -1 if it does none."""
        place = np.full(self.rows, -1, dtype=np.int64)
        for name, rows in self.joint_rows.items():
            place[rows] = self.auxiliary.work.get(name, -1)
        return place

    def owner(self, row: int) -> str:
        """Return the name of the constraint to which row `row` belongs."""
        return next(name for name, rows in self.joint_rows.items() if rows.start <= row < rows.stop)


@dataclass(frozen=True)
class Arrangement:
    """Order of bodies, joints and auxiliary states in states and results of a system.

    The order does not depend on the enabled constraints and forces.

    Attributes
    ----------
    bodies : list of all bodies
    joints : joint frames of all constraints whose angles are counted over full turns
    auxiliary : layout of the auxiliary states
    """

    bodies: Sequence[Body]
    joints: CountedJoints
    auxiliary: AuxiliaryStates

    @classmethod
    def of(
        cls,
        bodies: Sequence[Body],
        constraints: Sequence[Constraint],
        forces: Sequence[ForceElement],
        replacements: Mapping[str, Sequence[ForceElement]],
    ) -> Arrangement:
        """Return the arrangement of a system with these bodies, constraints and force elements.

        `replacements` are the force elements that events may put in the place of others, by name.
        """
        working = [constraint.name for constraint in constraints if _works(constraint)]
        working += [name for name, others in replacements.items() if any(map(has_integrated_work, others))]
        ends = _ends(bodies, constraints)
        return cls(
            bodies,
            CountedJoints(constraints, ends),
            AuxiliaryStates.of([body.name for body in bodies], forces, working),
        )


def _ends(bodies: Sequence[Body], constraints: Sequence[Constraint]) -> list[tuple[int, int]]:
    """Return the indices of bodies i and j of each constraint; the ground has the index after all bodies."""
    number = {id(body): k for k, body in enumerate(bodies)}
    ground = len(bodies)
    return [(number.get(id(each.body_i), ground), number.get(id(each.body_j), ground)) for each in constraints]


class _Rows:
    """Constraint rows of a model under construction.

    Attributes
    ----------
    entries : for each primitive its kind, first row, bodies, arms, directions and offset
    relations, row_primitive, row_torque, residual_scale, labels, joint_rows, joint_bodies : as in `Model`
    arms : vectors from the centers of mass of bodies to joint points, body axes, m
    """

    def __init__(self, bodies: Sequence[Body]) -> None:
        self._count, self._number = len(bodies), {id(body): k for k, body in enumerate(bodies)}
        self.entries: list[tuple] = []
        self.relations: list[PlacedRelation] = []
        self.row_primitive: list[int] = []
        self.row_torque: list[bool] = []
        self.residual_scale: list[float] = []
        self.labels: list[str] = []
        self.joint_rows: dict[str, slice] = {}
        self.joint_bodies: list[tuple[Constraint, tuple[int, int]]] = []
        self.arms: list[np.ndarray] = []

    def index(self, body: Body | Ground) -> int:
        """Return the index of a body; the ground comes after all bodies."""
        return self._count if isinstance(body, Ground) else self._number[id(body)]

    def add(self, constraint: Constraint) -> None:
        """Add the rows of an enabled constraint, as primitives and relations."""
        ends, first = (self.index(constraint.body_i), self.index(constraint.body_j)), len(self.labels)
        frames = constraint.frame_i, constraint.frame_j
        for part in constraint.primitives:
            if isinstance(part, Relation):
                self._add_relation(constraint, part)
            else:
                self._add_primitive(part, ends, frames)
            self.row_torque += [unit == TORQUE for unit in part.units]
            self.residual_scale += [part.scale] * len(part.units)
        self.labels += constraint.labels
        self.joint_rows[constraint.name] = slice(first, len(self.labels))
        self.joint_bodies.append((constraint, ends))
        self.arms += [frame.origin for frame, k in zip(frames, ends, strict=True) if k < self._count]

    def _add_relation(self, constraint: Constraint, relation: Relation) -> None:
        first, count = len(self.row_primitive), len(relation.labels)
        places = np.array([frame_numbers(frame) for _, frame in constraint.ends])
        members = tuple(self.index(body) for body, _ in constraint.ends)
        rows = slice(first, first + count)
        self.relations.append(PlacedRelation(relation, rows, members, places, str(constraint)))
        self.row_primitive += [-1] * count

    def _add_primitive(self, primitive: Primitive, ends: tuple[int, int], frames: tuple[Frame, Frame]) -> None:
        first, count = len(self.row_primitive), len(primitive.labels)
        axes = frames[0].matrix[:, primitive.axis_i], frames[1].matrix[:, primitive.axis_j]
        origins = frames[0].origin, frames[1].origin
        self.row_primitive += [len(self.entries)] * count
        self.entries.append((primitive.kind, first, ends, origins, axes, primitive.offset))


def flatten(
    arrangement: Arrangement,
    constraints: Sequence[Constraint],
    active: set[str],
    forces: Sequence[ForceElement],
    gravity: np.ndarray,
    load_length: float | None = None,
    rank_tolerance: float = RANK_TOLERANCE,
    closure_tolerance: float = 0.0,
) -> Model:
    """Return the model of a system, as arrays, from bodies, constraints and forces that have been validated.

    Parameters
    ----------
    arrangement : Arrangement
    constraints : all constraints of the system
    active : names of the enabled constraints
    forces : enabled force elements
    gravity : (3,) acceleration of gravity, m/s^2, inertial frame
    load_length : length, m, by which torques are divided for comparison with forces
    rank_tolerance : lower limit of the model's rank tolerance
    closure_tolerance : closure tolerance of the assembly, m
        The rank tolerance is at least DEPENDENT times the ratio of the closure tolerance to the characteristic length
        of the system, because rounded coordinates make redundant rows independent to about this degree.
    """
    bodies = arrangement.bodies
    rows = _Rows(bodies)
    for constraint in constraints:
        if constraint.name in active:
            rows.add(constraint)
    torque, scale = np.array(rows.row_torque, dtype=bool), np.array(rows.residual_scale, dtype=float)
    mass = np.array([b.mass for b in bodies], dtype=float)
    inertia = np.array([b.inertia for b in bodies], dtype=float).reshape(-1, 3, 3)
    arms = np.linalg.norm(np.array(rows.arms).reshape(-1, 3), axis=1)
    length = float(np.append(arms, np.sqrt(np.trace(inertia, axis1=1, axis2=2) / mass)).max())
    slack = closure_tolerance / length
    return Model(
        body_names=[b.name for b in bodies],
        mass=mass,
        inertia=inertia,
        gravity=gravity,
        table=_table(rows.entries),
        relations=rows.relations,
        row_primitive=np.array(rows.row_primitive, dtype=np.int64),
        row_torque=torque,
        residual_scale=scale,
        labels=rows.labels,
        joint_rows=rows.joint_rows,
        joint_bodies=rows.joint_bodies,
        forces=[(force, tuple(rows.index(b) for b in force.bodies)) for force in forces],
        joints=arrangement.joints,
        auxiliary=arrangement.auxiliary,
        row_scale=np.where(torque, 1 / (length if load_length is None else load_length), 1.0) * scale,
        length=length,
        rank_tolerance=min(max(rank_tolerance, DEPENDENT * slack), LARGEST_RANK_TOLERANCE),
        slack=slack,
    )


def _works(constraint: Constraint) -> bool:
    """Return whether a constraint may do work: it has prescribed motions or user functions."""
    gaps = constraint.gaps if isinstance(constraint, Unilateral) else ()
    relations = [part for part in (*constraint.primitives, *gaps) if isinstance(part, Relation)]
    return any(relation.motions or relation.of_user for relation in relations)


def _table(entries: Sequence[tuple]) -> PrimitiveTable:
    """Return primitives (elementary constraints) as arrays.

    Each entry contains the kind, row, bodies, arms, directions and offset of a primitive.
    """
    kind, row, body, arm, direction, offset = zip(*entries, strict=True) if entries else ((),) * 6
    return PrimitiveTable(
        kind=np.array(kind, dtype=np.int64),
        row=np.array(row, dtype=np.int64),
        body=np.array(body, dtype=np.int64).reshape(-1, 2),
        arm=np.array(arm, dtype=float).reshape(-1, 2, 3),
        direction=np.array(direction, dtype=float).reshape(-1, 2, 3),
        offset=np.array(offset, dtype=float),
    )
