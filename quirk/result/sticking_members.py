"""Sticking joints and closed contacts that share a load, with the limits of their friction; and sliding contacts.

Forces are along the slip components, N. The limit of `JointFriction` is constant; that of `Friction` in a joint is the
coefficient of static friction times the normal load N of the joint.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

import numpy as np

from ..analysis.contact.contact_kinematics import Gaps
from ..analysis.contact.friction_modes import FrictionModes
from ..bodies.state import State
from ..constraints.sticking import Sticking
from ..constraints.unilateral import Unilateral
from ..dynamics.contact.load_sharing import MIN_SHARE
from ..dynamics.model.friction_normal_load import ConstantLoad, NormalLoad
from ..forces import Friction, JointFriction
from ..system.system import System
from .contact_loads import ContactLoads
from .segment import Segment


@dataclass(frozen=True)
class StickingMember:
    """A sticking joint or a closed contact.

    Attributes
    ----------
    name : name of the friction element of the joint, or of the contact
    numbers : indices of its rows among all gaps and slip components; for a contact the gap comes first, and for a
        sliding contact the gap alone is listed
    own : index of each row among the rows of the model, or None if the model has no such row
    friction : friction element of the joint, or None for a contact
    coefficient : coefficient of static friction of the contact
    holding : name of the friction element of a contact that sticks
    slides : friction element of a contact that slides, in proportion to its normal load
    rubs : indices of the slip components of a contact that slides among all gaps and slip components
    """

    name: str
    numbers: tuple[int, ...]
    own: tuple[int | None, ...]
    friction: JointFriction | Friction | None
    coefficient: float = 0.0
    holding: str | None = None
    slides: Friction | None = None
    rubs: tuple[int, ...] = ()

    @property
    def forces(self) -> list[tuple[str, slice]]:
        """Names of the constraint or friction elements to which its rows belong, each with these rows."""
        if self.friction is not None:
            return [(self.name, slice(None))]
        normal = [(self.name, slice(1))]
        return normal if self.holding is None else [*normal, (self.holding, slice(1, None))]

    def lever(self, length: float) -> float:
        """Return the lever arm, m, that makes the force along the slip of a joint comparable with torques.

        `length` is the characteristic length of the system, the lever arm of translations.
        """
        if isinstance(self.friction, JointFriction):
            return (1.0 if self.friction.rotates else length) / self.friction.load_per_effort
        return self.friction.radius if self.friction is not None and self.friction.radius > 0 else length


def joint_members(system: System, gaps: Gaps, segment: Segment) -> list[StickingMember]:
    """Return the joints of a segment that stick by friction; `gaps` has all gaps and slip components."""
    sliding = {element.name for element, _ in segment.model.forces}
    placed = {one.name: one for one, _ in segment.model.joint_bodies}
    numbers, first = dict[str, list[int]](), len(gaps.contact_points)
    for k, slip in enumerate(gaps.slip_rows):
        name = slip.component.name
        if isinstance(slip.on, Unilateral) or name in sliding:
            continue
        friction = system[name]
        assert isinstance(friction, JointFriction | Friction)
        if segment.switched.get(name, system.is_active(name)) and friction.acts_beside(segment.active):
            numbers.setdefault(name, []).append(first + k)
    members = []
    for name, own_numbers in numbers.items():
        friction, held, own = system[name], placed.get(name), dict[int, int]()
        assert isinstance(friction, JointFriction | Friction)
        if held is not None:
            which = held.which if isinstance(held, Sticking) else tuple(range(len(own_numbers)))
            own = dict(zip(which, range(segment.model.rows)[segment.model.joint_rows[name]], strict=True))
        rows = tuple(own.get(c) for c in range(len(own_numbers)))
        members.append(StickingMember(name, tuple(own_numbers), rows, friction))
    return members


def contact_members(
    gaps: Gaps, segment: Segment, contacts: ContactLoads | None, without: Container[str]
) -> list[StickingMember]:
    """Return the closed contacts, except those with a name in `without`."""
    if contacts is None:
        return []
    found, model = list[StickingMember](), segment.model
    for contact in contacts.closed:
        name = gaps.contact_points[contact.number].constraint.name
        if name in without:
            continue
        own = dict[int, int]()
        for constraint, listed in contacts.rows_of([contact]):
            own |= zip(listed, range(model.rows)[model.joint_rows[constraint]], strict=True)
        numbers = (contact.number, *contact.slips)
        held = contact.friction if contact.friction is not None and contact.slips else None
        static, holding = (0.0, None) if held is None else (held.static, held.name)
        rows = tuple(own.get(number) for number in numbers)
        found.append(StickingMember(name, numbers, rows, None, static, holding, contact.slides, contact.rubs))
    return found


class Limits:
    """Limits of the friction of members, N, as functions of the redistributed forces z (d,), at one state.

    Parameters
    ----------
    members : sticking joints and closed contacts
    frictions : all friction elements of the system
    state : state of all bodies
    loads : force and torque (2, 3) of each constraint by name for z = 0, inertial frame
    changes : for each component of z, the changes of these loads per unit

    Attributes
    ----------
    loads : static coefficient and normal load of each member; 0 for contacts
    """

    def __init__(
        self,
        members: Sequence[StickingMember],
        frictions: FrictionModes,
        state: State,
        loads: dict[str, np.ndarray],
        changes: Sequence[dict[str, np.ndarray]],
    ) -> None:
        self.loads = list[tuple[float, NormalLoad | ConstantLoad]]()
        for member in members:
            friction = member.friction
            if isinstance(friction, Friction):
                name, none = friction.on.name, np.zeros((2, 3))
                response = np.array([change.get(name, none).ravel() for change in changes]).reshape(-1, 6).T
                base, axis = loads.get(name, none).ravel(), frictions.axis(friction, state)
                self.loads.append((friction.static, NormalLoad(friction, axis, base, response)))
            elif friction is not None:
                self.loads.append((friction.static, ConstantLoad(friction.load_per_effort)))
            else:
                self.loads.append((0.0, ConstantLoad(0.0)))

    def __call__(self, z: np.ndarray) -> np.ndarray:
        """Return the limits (k,) of k members; 0 for contacts."""
        return np.array([static * load(z)[0] for static, load in self.loads])


def compliances(members: Sequence[StickingMember], limits: np.ndarray, length: float) -> np.ndarray:
    """Return the compliances (k,) of the rows of k members; 1 for contacts.

    As torques with their lever arms, loads of joints have compliances in inverse proportion to their limits. Contacts
    have the lever arm `length` (m), the characteristic length of the system, and the compliance of the joint with the
    largest limit. `limits` (k,) are the limits, N.
    """
    least = MIN_SHARE * limits.max(initial=0.0)
    joints = [member.friction is not None for member in members]
    if not least > 0:
        return np.ones(len(members))
    levers = np.array([member.lever(length) for member in members])
    torques = levers * np.maximum(limits, least)
    return np.where(joints, (levers / length) ** 2 * torques[joints].max() / torques, 1.0)
