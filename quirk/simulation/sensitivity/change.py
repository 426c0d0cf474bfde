"""Derivatives of a system and of its initial state with respect to parameters.

They are expressed as directions of the compiled model: simultaneous variations of its state and constants, see
`quirk.dynamics.model.directions`. "Parts" are bodies, constraints and force elements. Variations of the state of a body
have 12 components: displacement and rotation, and variations of velocity and angular velocity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from quirk.bodies.rotation import multiply
from quirk.bodies.state import STATE_SIZE
from quirk.constraints.relation import layout_of
from quirk.constraints.sticking import Sticking
from quirk.constraints.unilateral import Unilateral
from quirk.dynamics.model.directions import FREEDOMS, OMEGA, SHIFT, TURN, VELOCITY, Directions
from quirk.dynamics.model.model import Model
from quirk.dynamics.model.primitives_as_relations import as_relations
from quirk.dynamics.sparse.variation.variation import ChangedMotion
from quirk.errors import InputError
from quirk.forces import ForceElement
from quirk.functions.motion import Motion
from quirk.util.construction import made_with

from .part_parameters import GAP, GRAVITY, INERTIA, INTERNAL, LAW, MASS, RELATION, Key

if TYPE_CHECKING:
    from quirk.system.system import System

FRAME = 12
# Index of numeric data of a part that are not inputs.
UNUSED = -1


@dataclass(frozen=True)
class ParameterChange:
    """Derivatives of a system and its initial state with respect to one scalar parameter.

    Attributes
    ----------
    numbers : derivatives of the constants of bodies, constraints and forces in the equations of motion, by key, see
        `quirk.simulation.sensitivity.part_parameters`
    start : derivatives (12,) of the initial states of bodies, by name: displacement, rotation, and derivatives of
        velocity and angular velocity
    motions : derivatives of prescribed motions, by the names of the constraint or force and of the motion
    size : magnitude of the parameter, or of the vector of which it is an element; 0 if unknown
    """

    numbers: Mapping[Key, np.ndarray] = field(default_factory=dict)
    start: Mapping[str, np.ndarray] = field(default_factory=dict)
    motions: Mapping[tuple[str, str], Motion] = field(default_factory=dict)
    size: float = 0.0

    @property
    def reshapes(self) -> bool:
        """Whether the constants of a constraint depend on the parameter."""
        return any(kind == RELATION or kind.startswith(GAP) for kind, _, _ in self.numbers)


def after_replacements(
    changes: Sequence[ParameterChange], system: System, replacements: Mapping[str, Any]
) -> list[ParameterChange]:
    """Return the derivatives of a system that apply after events have replaced constraints or forces.

    `replacements` are the new constraints and forces, by name. A parameter belongs to the original object: a force
    element that replaces it does not depend on the parameter, nor does a new motion of a driver.
    """
    replaced = {
        name for name, part in replacements.items() if isinstance(part, ForceElement) and _is_new(part, system[name])
    }

    def depends(name: str, argument: str) -> bool:
        original = getattr(system[name], argument, None)
        return name not in replaced and getattr(replacements.get(name, system[name]), argument, None) is original

    if not replacements:
        return list(changes)
    return [
        replace(
            change,
            numbers={key: x for key, x in change.numbers.items() if key[1] not in replaced},
            motions={key: motion for key, motion in change.motions.items() if depends(*key)},
        )
        for change in changes
    ]


def _is_new(part: ForceElement, original: Any) -> bool:
    """Whether a force element was constructed independently of the system's element `original`, rather than copied."""
    return made_with(part) is None or made_with(part) is not made_with(original)


def directions_of(model: Model, changes: Sequence[ParameterChange]) -> Directions:
    """Return the variations of the constants of a compiled model for unit changes of D parameters.

    Column d of each array contains the derivatives of the model's masses, inertias, gravity, and inputs of force laws
    and relations with respect to parameter d. Constraints and forces that are not in the model are ignored.

    Raises
    ------
    InputError
        If an event has replaced a part by one with a different number of constants.
    """
    directions = Directions.none(model, len(changes))
    laws, relations = dict[int, dict[int, np.ndarray]](), dict[int, dict[int, np.ndarray]]()
    directions = replace(directions, laws=laws, relations=relations)
    places = _Places(model)
    for c, change in enumerate(changes):
        for key, numbers in change.numbers.items():
            kind, name, _ = key
            if kind == GRAVITY:
                directions.gravity[:, c] = numbers
            elif kind in (MASS, INERTIA):
                n = model.body_names.index(name)
                if kind == MASS:
                    directions.mass[n, c] = numbers[0]
                else:
                    directions.inertia[n, ..., c] = numbers.reshape(3, 3)
            elif key in places.found:
                of, number, inputs = places.found[key]
                changed = (laws if of == LAW else relations).setdefault(number, {})
                if len(inputs) != len(numbers):
                    raise InputError(f'simulate: sensitivities: an event replaces "{name}" by another part')
                for place, x in zip(inputs, numbers, strict=True):
                    if x != 0.0 and place != UNUSED:
                        changed.setdefault(place, np.zeros(len(changes)))[c] = x
    return directions


def with_motions(directions: Directions, motions: Sequence[ChangedMotion], t: float) -> Directions:
    """Return `directions` with the derivatives of prescribed motions at time t (s) added."""
    laws, relations = (
        {number: dict(inputs) for number, inputs in inputs_of_all.items()}
        for inputs_of_all in (directions.laws, directions.relations)
    )
    for moving in motions:
        rates = moving.motion.derivatives(t, 2) / np.array([1.0, 1.0, 2.0])
        into = (relations if moving.of_relation else laws).setdefault(moving.element, {})
        for k, rate in enumerate(rates if moving.of_relation else rates[:2]):
            change = into.get(moving.place + k, np.zeros(directions.count)).copy()
            change[moving.direction] += rate
            into[moving.place + k] = change
    return replace(directions, laws=laws, relations=relations)


def directions_at(model: Model, changes: Sequence[ParameterChange], t: float) -> Directions:
    """Return the variations of model constants and prescribed motions at time t (s), for unit changes of D parameters.

    Only prescribed motions depend on the time; the result has the form described in `directions_of`.
    """
    return with_motions(directions_of(model, changes), motions_of(model, changes), t)


def start_of(model: Model, changes: Sequence[ParameterChange]) -> tuple[np.ndarray, np.ndarray]:
    """Return the derivatives with respect to D parameters of the initial states of n bodies and of k auxiliary states.

    The first array, (n, 12, D), has displacements, rotations, and variations of velocity and angular velocity; the
    second, (k, D), has the variations of the auxiliary states.
    """
    bodies = np.zeros((len(model.mass), FREEDOMS, len(changes)))
    internal = np.zeros((model.auxiliary.size, len(changes)))
    for c, change in enumerate(changes):
        for name, motion in change.start.items():
            bodies[model.body_names.index(name), :, c] = motion
        for (kind, name, n), numbers in change.numbers.items():
            if kind == INTERNAL:
                internal[model.auxiliary.internal[name].start + n, c] = numbers[0]
    return bodies, internal


def motions_of(model: Model, changes: Sequence[ParameterChange]) -> list[ChangedMotion]:
    """Return the prescribed motions that depend on parameters, with their indices in the model."""
    changed = []
    for c, change in enumerate(changes):
        for (name, argument), motion in change.motions.items():
            for number, (element, _) in enumerate(model.forces):
                if element.name == name and argument in element.motions:
                    place = element.layout().first_motion + 2 * element.motions.index(argument)
                    changed.append(ChangedMotion(False, number, place, c, motion))
            constraint = next((candidate for candidate, _ in model.joint_bodies if candidate.name == name), None)
            for number, placed in enumerate(as_relations(model)) if constraint is not None else ():
                if model.owner(placed.rows.start) != name:
                    continue
                for m, candidate in enumerate(placed.relation.motions):
                    if candidate is getattr(constraint, argument, None):
                        place = len(placed.relation.numbers) + 3 * m
                        changed.append(ChangedMotion(True, number, place, c, motion))
    return changed


def as_changes(model: Model, y: np.ndarray, bodies: np.ndarray, internal: np.ndarray) -> np.ndarray:
    """Return D variations of a state vector y, (D, 13 n + k), from variations of bodies and of auxiliary states.

    `bodies` (n, 12, D) are displacements, rotations (body axes), and variations of velocity and angular velocity of n
    bodies; `internal` (k, D) are the variations of k auxiliary states.
    """
    n = len(model.mass)
    orientation = model.auxiliary.state(y).orientation
    flat = np.zeros((bodies.shape[-1], y.size))
    of_bodies = flat[:, : STATE_SIZE * n].reshape(-1, n, STATE_SIZE)
    for d, (now, motion) in enumerate(zip(of_bodies, np.moveaxis(bodies, -1, 0), strict=True)):
        now[:, :3], now[:, 7:10], now[:, 10:] = motion[:, SHIFT], motion[:, VELOCITY], motion[:, OMEGA]
        turn = np.concatenate([np.zeros((n, 1)), motion[:, TURN]], axis=1)
        now[:, 3:7] = 0.5 * multiply(orientation, turn)
        flat[d, STATE_SIZE * n :] = internal[:, d]
    return flat


def as_motions(model: Model, y: np.ndarray, changes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Split D variations of a state vector y into those of n bodies, (n, 12, D), and of k auxiliary states, (k, D).

    `changes` (D, 13 n + k) are the variations of the state vector. For a body, variations of position and quaternion
    become a displacement and a small rotation vector (body axes), followed by variations of velocity and angular
    velocity.
    """
    n = len(model.mass)
    orientation = model.auxiliary.state(y).orientation * [1.0, -1.0, -1.0, -1.0]
    of_bodies = changes[:, : STATE_SIZE * n].reshape(-1, n, STATE_SIZE)
    turn = 2.0 * multiply(np.broadcast_to(orientation, (len(changes), n, 4)), of_bodies[..., 3:7])[..., 1:]
    motion = np.concatenate([of_bodies[..., :3], turn, of_bodies[..., 7:]], axis=-1)
    return np.moveaxis(motion, 0, -1), changes[:, STATE_SIZE * n :].T


def as_weights(orientation: np.ndarray, by_motions: np.ndarray, by_internal: np.ndarray) -> np.ndarray:
    """Return the gradient of a scalar with respect to a state vector, (13 n + k,).

    `by_motions` (n, 12) are the derivatives of the scalar with respect to displacement, rotation, velocity and angular
    velocity of each of n bodies, `by_internal` (k,) those with respect to k auxiliary states; `orientation` (n, 4) are
    the quaternions.
    """
    n = len(orientation)
    of_bodies = np.zeros((n, STATE_SIZE))
    turn = np.concatenate([np.zeros((n, 1)), by_motions[:, TURN]], axis=1)
    of_bodies[:, :3], of_bodies[:, 3:7] = by_motions[:, SHIFT], 2.0 * multiply(orientation, turn)
    of_bodies[:, 7:10], of_bodies[:, 10:] = by_motions[:, VELOCITY], by_motions[:, OMEGA]
    return np.concatenate([of_bodies.ravel(), by_internal])


class _Places:
    """Positions of the constants of constraints and force elements among the inputs of a compiled model.

    Each entry of `found` consists of LAW or RELATION, the index of the force law or relation, and the indices of its
    inputs.
    """

    def __init__(self, model: Model) -> None:
        self.found: dict[Key, tuple[str, int, list[int]]] = {}
        for number, (element, _) in enumerate(model.forces):
            law = element.layout()
            inputs = [*range(law.parameters)]
            for f in range(law.frames - element.reading):
                inputs += range(law.first_frame + f * law.frame_size, law.first_frame + f * law.frame_size + FRAME)
            self.found[LAW, element.name, 0] = LAW, number, inputs
        for number, placed in enumerate(as_relations(model)):
            name = model.owner(placed.rows.start)
            layout = layout_of(placed.relation, len(placed.bodies), 2)
            inputs = [*range(layout.numbers - placed.relation.offsets)]
            for f in range(layout.frames):
                o = layout.first_frame + f * layout.frame_size
                inputs += range(o, o + FRAME)
            first = placed.rows.start - model.joint_rows[name].start
            owner = next(constraint for constraint, _ in model.joint_bodies if constraint.name == name)
            if isinstance(owner, Sticking):
                # Rows of sticking friction have only the radii as inputs, if the radii are parameters.
                used = layout.numbers if "radii" in owner.friction.parameters else 0
                inputs[: layout.numbers] = [*range(used), *[UNUSED] * (owner.friction.numbers.size - used)]
                self.found[LAW, name, 0] = RELATION, number, inputs
                continue
            key = (
                (GAP + placed.relation.labels[0], name, 0) if isinstance(owner, Unilateral) else (RELATION, name, first)
            )
            self.found[key] = RELATION, number, inputs
