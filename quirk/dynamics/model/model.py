"""A system flattened into arrays: what the numerical code works on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from quirk.autodiff.dual import Dual, DualArray
from quirk.bodies.body import Body, Ground
from quirk.constraints import Constraint
from quirk.constraints.primitives import DISTANCE, DOT1, PrimitiveTable
from quirk.constraints.relation import TORQUE, Relation, RelationLayout, frame_numbers
from quirk.constraints.unilateral import Unilateral
from quirk.errors import InputError
from quirk.forces import ForceElement

from .auxiliary_states import Carried
from .joint_angles import CountedJoints

# Distances up to which rows count as dependent unless the system says otherwise. Round-off in the distance of a row
# that follows from others grows as their least distance shrinks: the root of round-off is the least that can be told.
RANK_TOLERANCE = 1e-7

# With a closure tolerance, rows count as dependent up to so many times this over the length of the system. Where others
# are nearly dependent themselves, distances from these are enlarged: tenfold in one of 20 linkages of six hinges.
DEPENDENT = 10.0

# Rows at right angles are not far above this distance.
LARGEST_RANK_TOLERANCE = 0.1


@dataclass(frozen=True)
class PlacedRelation:
    """A relation among bodies of a system, with its rows in the model.

    Attributes
    ----------
    relation : Relation
    rows : of the model
    bodies : of its frames
    frames : (f, 12) where these are in their bodies
    owner : the constraint, for messages
    """

    relation: Relation
    rows: slice
    bodies: tuple[int, ...]
    frames: np.ndarray
    owner: str

    def fill(self, layout: RelationLayout, resting: bool, t: float, inputs: np.ndarray, outputs: np.ndarray) -> None:
        """Fill `outputs` as `Relation.fill` does; raise InputError if the function of a user fails."""
        with self._named(t):
            self.relation.fill(layout, resting, t, inputs, outputs)

    def fill_dual(self, layout: RelationLayout, t: Dual, inputs: DualArray, outputs: DualArray) -> None:
        """Fill `outputs` with their derivatives in eight directions; raise InputError if a user's function fails."""
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
    """n bodies, the primitives of their active constraints (m rows), and forces.

    Attributes
    ----------
    body_names : names of the n bodies
    mass : (n,) kg
    inertia : (n, 3, 3) about the centers of mass in body axes, kg m^2
    gravity : (3,) N, m/s^2
    table : PrimitiveTable
        Body n stands for the ground.
    relations : all rows that are not of primitives
    row_primitive : (m,) the primitive of each row, -1 in relations
    row_torque : (m,) whether a row's multiplier is a torque and its Phi an angle
    labels : m strings
    joint_rows : for each active constraint its name and the slice of its rows
    joint_bodies : each active constraint with its two bodies
    forces : each force element with the rows of its bodies in the kinematics
    joints : the frames of all constraints, active or not, for their angles
    carried : what runs integrate beside the motion of the bodies
    row_scale : (m,)
        Force, newton, that a unit of each multiplier exerts; of torques, the torque over `load_length`.
    length : float
        A characteristic length, m, for tolerances: the largest joint arm or radius of gyration.
    rank_tolerance : float
        Distance from others, over its length, up to which a row counts as dependent; see `docs/method.md`.
    slack : float
        Closure tolerance of assembly over `length`: rows left out as dependent may be violated by about this part.
    """

    body_names: list[str]
    mass: np.ndarray
    inertia: np.ndarray
    gravity: np.ndarray
    table: PrimitiveTable
    relations: list[PlacedRelation]
    row_primitive: np.ndarray
    row_torque: np.ndarray
    labels: list[str]
    joint_rows: dict[str, slice]
    joint_bodies: list[tuple[Constraint, tuple[int, int]]]
    forces: list[tuple[ForceElement, tuple[int, ...]]]
    joints: CountedJoints
    carried: Carried
    row_scale: np.ndarray
    length: float
    rank_tolerance: float
    slack: float

    @property
    def reads_angles(self) -> bool:
        """Whether loads may depend on the turns that joints have made."""
        return any(force.turning for force, _ in self.forces)

    @property
    def rows(self) -> int:
        """Number of constraint rows."""
        return len(self.labels)

    def owner(self, row: int) -> str:
        """Name of the constraint that a row belongs to."""
        return next(name for name, rows in self.joint_rows.items() if rows.start <= row < rows.stop)


@dataclass(frozen=True)
class Arrangement:
    """What is the same of a system whichever of its parts are active: where what is in states and results.

    Attributes
    ----------
    bodies : list
    joints : the frames of all constraints, between which angles are counted
    carried : what runs integrate beside the motion of the bodies
    """

    bodies: Sequence[Body]
    joints: CountedJoints
    carried: Carried

    @classmethod
    def of(
        cls, bodies: Sequence[Body], constraints: Sequence[Constraint], forces: Sequence[ForceElement]
    ) -> Arrangement:
        """Return the arrangement of a system with these parts."""
        working = [constraint.name for constraint in constraints if _works(constraint)]
        ends = _ends(bodies, constraints)
        return cls(
            bodies, CountedJoints(constraints, ends), Carried.of([body.name for body in bodies], forces, working)
        )


def _ends(bodies: Sequence[Body], constraints: Sequence[Constraint]) -> list[tuple[int, int]]:
    """Return the indices of bodies i and j of each constraint; the ground comes after all bodies."""
    number = {id(body): k for k, body in enumerate(bodies)}
    ground = len(bodies)
    return [(number.get(id(each.body_i), ground), number.get(id(each.body_j), ground)) for each in constraints]


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
    """Return the arrays of a system whose parts have been checked; the constraints named in `active` have rows.

    `constraints` are all of the system, `forces` those that act. With a closure tolerance, m, the rank tolerance is at
    least DEPENDENT times this over the length: rounded coordinates make redundant rows independent by about as much.
    """
    bodies = arrangement.bodies
    number = {id(body): k for k, body in enumerate(bodies)}

    def index(body: Body | Ground) -> int:
        return len(bodies) if isinstance(body, Ground) else number[id(body)]

    entries: list[tuple] = []
    labels: list[str] = []
    relations: list[PlacedRelation] = []
    row_primitive: list[int] = []
    row_torque: list[bool] = []
    joint_rows: dict[str, slice] = {}
    joint_bodies: list[tuple[Constraint, tuple[int, int]]] = []
    arms: list[float] = []
    ends = [(index(constraint.body_i), index(constraint.body_j)) for constraint in constraints]
    for constraint, (i, j) in zip(constraints, ends, strict=True):
        if constraint.name not in active:
            continue
        frames = constraint.frame_i, constraint.frame_j
        first = len(labels)
        for primitive in constraint.primitives:
            count = len(primitive.labels)
            if isinstance(primitive, Relation):
                placed = constraint.ends
                rows = slice(len(row_primitive), len(row_primitive) + count)
                places = np.array([frame_numbers(frame) for _, frame in placed])
                members = tuple(index(body) for body, _ in placed)
                relations.append(PlacedRelation(primitive, rows, members, places, str(constraint)))
                row_primitive += [-1] * count
                row_torque += [unit == TORQUE for unit in primitive.units]
                continue
            axes = frames[0].matrix[:, primitive.axis_i], frames[1].matrix[:, primitive.axis_j]
            origins = frames[0].origin, frames[1].origin
            row_primitive += [len(entries)] * count
            row_torque += [primitive.kind == DOT1] * count
            entries.append((primitive.kind, len(row_primitive) - count, (i, j), origins, axes, primitive.offset))
        labels += constraint.labels
        joint_rows[constraint.name] = slice(first, len(labels))
        joint_bodies.append((constraint, (i, j)))
        arms += [float(np.linalg.norm(f.origin)) for f, k in zip(frames, (i, j), strict=True) if k < len(bodies)]
    table = _table(entries)
    length = max([*arms, *(float(np.sqrt(np.trace(b.inertia) / b.mass)) for b in bodies)])
    slack = closure_tolerance / length
    return Model(
        body_names=[b.name for b in bodies],
        mass=np.array([b.mass for b in bodies], dtype=float),
        inertia=np.array([b.inertia for b in bodies], dtype=float).reshape(-1, 3, 3),
        gravity=gravity,
        table=table,
        relations=relations,
        row_primitive=np.array(row_primitive, dtype=np.int64),
        row_torque=np.array(row_torque, dtype=bool),
        labels=labels,
        joint_rows=joint_rows,
        joint_bodies=joint_bodies,
        forces=[(force, tuple(index(b) for b in force.bodies)) for force in forces],
        joints=arrangement.joints,
        carried=arrangement.carried,
        row_scale=_row_scale(
            table, relations, np.array(row_torque, dtype=bool), length if load_length is None else load_length
        ),
        length=length,
        rank_tolerance=min(max(rank_tolerance, DEPENDENT * slack), LARGEST_RANK_TOLERANCE),
        slack=slack,
    )


def _works(constraint: Constraint) -> bool:
    """Whether a constraint may do work: by a motion, or by what a user wrote, which may depend on time in any way."""
    gaps = constraint.gaps if isinstance(constraint, Unilateral) else ()
    relations = [one for one in (*constraint.primitives, *gaps) if isinstance(one, Relation)]
    return any(relation.motions or relation.of_user for relation in relations)


def _table(entries: Sequence[tuple]) -> PrimitiveTable:
    """The arrays of primitives: kind, row, bodies, arms, directions and offset of each."""
    kind, row, body, arm, direction, offset = zip(*entries, strict=True) if entries else ((),) * 6
    return PrimitiveTable(
        kind=np.array(kind, dtype=np.int64),
        row=np.array(row, dtype=np.int64),
        body=np.array(body, dtype=np.int64).reshape(-1, 2),
        arm=np.array(arm, dtype=float).reshape(-1, 2, 3),
        direction=np.array(direction, dtype=float).reshape(-1, 2, 3),
        offset=np.array(offset, dtype=float),
    )


def _row_scale(
    table: PrimitiveTable, relations: Sequence[PlacedRelation], torque: np.ndarray, load_length: float
) -> np.ndarray:
    """Force that a unit multiplier of each row exerts: 1, a torque of 1 over the length, or 2 l along a distance."""
    scale = np.where(torque, 1 / load_length, 1.0)
    for placed in relations:
        scale[placed.rows] *= placed.relation.scale
    distances = table.kind == DISTANCE
    scale[table.row[distances]] = 2 * np.sqrt(table.offset[distances])
    return scale
