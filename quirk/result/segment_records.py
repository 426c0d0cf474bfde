"""Conversion of segments to JSON data, and their reconstruction from these data for the same system.

The constraints and forces of a segment may differ from those of the system: contacts close, friction slides or sticks,
joints hold bodies at their current poses, and events replace constraints and forces. The data describe how each changed
constraint or force was made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..bodies.frame import Frame
from ..bodies.rotation import matrix
from ..constraints import Distance, Joint
from ..constraints.constraint import with_frame_i
from ..constraints.offsets import without_offsets
from ..constraints.slip import OfGap, OfSurfaces
from ..constraints.sticking import Sticking, StickingBall, StickingJoint
from ..constraints.unilateral import Unilateral
from ..errors import InputError
from ..events import Event
from ..events.actions import Follow, Replace, replacing_actions
from ..events.quantity import Gap
from ..forces import ForceElement
from ..forces.elastic_rope import ElasticRope
from ..forces.flanks import Flanks
from ..forces.friction import Friction
from ..forces.joint_friction import JointFriction
from ..forces.load_shares import LeftOutRow, LoadShares, SharedRows
from ..forces.stick_slip import NORMAL, SlipComponent
from ..system.configuration import Configuration
from ..system.system import System
from .segment import Segment


class LostPartError(InputError):
    """Error raised if a constraint or force that was active during a run cannot be reconstructed."""


def described(segment: Segment, system: System, events: Iterable[Event]) -> dict[str, Any]:
    """Return a segment as JSON data: its active constraints and forces, and the changes since the start of the run.

    `events` are all events of the run, whose actions may have replaced parts of the system.
    """
    model, actions = segment.model, dict(replacing_actions(events))
    acting = {element.name: element for element, _ in model.forces}
    placed = {constraint.name: without_offsets(constraint) for constraint, _ in model.joint_bodies} | acting
    others = {**segment.replaced, **{name: part for name, part in placed.items() if system[name] is not part}}
    return {
        "active": sorted(segment.active),
        "idle": [force.name for force in system.forces if force.name not in acting],
        "others": [_replacement_record(part, system, actions) for part in others.values()],
        "switched": dict(segment.switched),
        "replaced": list(segment.replaced),
    }


def rebuilt(
    description: Mapping[str, Any], system: System, events: Iterable[Event]
) -> tuple[Configuration, tuple[dict[str, bool], dict[str, Any]]]:
    """Return the configuration of a segment, and the changes since the start of the run, from JSON data.

    `description` are the data returned by `described`; `events` are all events of the run.

    Raises
    ------
    LostPartError
        If a constraint or force cannot be reconstructed in this system.
    """
    configuration = rebuilt_configuration(description, system, events)
    others = dict(configuration.others)
    for name in description["switched"]:
        system[name]
    switched = {name: bool(on) for name, on in description["switched"].items()}
    return configuration, (switched, {name: others[name] for name in description["replaced"]})


def described_configuration(configuration: Configuration, system: System, events: Iterable[Event]) -> dict[str, Any]:
    """Return the enabled constraints and forces of a configuration as JSON data.

    `events` are all events of the run.
    """
    actions = dict(replacing_actions(events))
    return {
        "active": sorted(configuration.active),
        "idle": sorted(configuration.idle),
        "others": [_replacement_record(part, system, actions) for _, part in configuration.others],
    }


def rebuilt_configuration(description: Mapping[str, Any], system: System, events: Iterable[Event]) -> Configuration:
    """Return the configuration described by the JSON data of `described_configuration` or `described`.

    `events` are all events of the run.

    Raises
    ------
    LostPartError
        If a constraint or force cannot be reconstructed in this system.
    """
    actions = dict(replacing_actions(events))
    others = {one["name"]: _reconstructed(one, system, actions) for one in description["others"]}
    active, idle = frozenset(description["active"]), frozenset(description["idle"])
    for name in (*active, *idle):
        system[name]
    return Configuration(active, idle, tuple(others.items()))


def lost_parts(descriptions: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the titles of constraints and forces created by user functions, which cannot be reconstructed.

    `descriptions` are the data of segments from `described`.
    """
    others = [one for each in descriptions for one in each["others"] if one["by"] == "function"]
    return list(dict.fromkeys(one["what"] for one in others))


def used_events(descriptions: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the names of events whose actions have replaced constraints or forces.

    `descriptions` are the data of segments from `described`.
    """
    return {part["event"] for description in descriptions for part in description["others"] if part["by"] == "action"}


def described_part(part: Any, system: System) -> dict[str, Any]:
    """Return JSON data that describe a constraint or force which replaces one of the system; see `rebuilt_part`."""
    return _replacement_record(part, system, {})


def rebuilt_part(description: Mapping[str, Any], system: System) -> Any:
    """Return the constraint or force described by the JSON data of `described_part`."""
    return _reconstructed(description, system, {})


def _replacement_record(part: Any, system: System, actions: Mapping[tuple[str, int], Any]) -> dict[str, Any]:
    """Return JSON data that describe a constraint or force which replaces one of the system.

    `actions` are the replacing actions, by the name of their event and their index in this event.
    """
    own: Any = system[part.name]
    name = {"name": part.name}
    if isinstance(part, Sticking):
        held: Any = part.primitives[0].function  # type: ignore[union-attr]
        sticks: dict[str, Any] = {"which": list(part.which), "side": 1, "part": 0}
        if isinstance(part, StickingJoint):
            return {**name, "by": "sticking", **sticks, "value": part.value}
        if isinstance(part, StickingBall):
            return {**name, "by": "sticking", **sticks, "value": list(part.value)}
        sticks |= {"side": _side(held.slip), "part": part.friction.part}
        if isinstance(part.friction, Friction) and part.friction.takes != NORMAL:
            sticks["shares"] = _record_of_shares(part.friction.shares)
        return {**name, "by": "sticking", **sticks}
    if isinstance(part, Friction) and isinstance(own, Friction):
        slides = {"direction": part.direction.tolist(), "floor": part.floor, "side": _side(part.slip)}
        shares = _record_of_shares(part.shares)
        return {**name, "by": "sliding", **slides, "part": part.part, "shares": shares, "begins": part.begins}
    if isinstance(part, JointFriction) and isinstance(own, JointFriction) and part.direction_of_slip:
        slides = {"direction": list(part.direction_of_slip), "floor": part.floor}
        return {**name, "by": "sliding", **slides, "side": 1, "part": 0, "begins": getattr(part, "begins", 0.0)}
    if isinstance(part, Flanks):
        return {**name, "by": "flank", "side": int(part.side)}
    if isinstance(part, ElasticRope):
        return {**name, "by": "rope", "states": list(part.states)}
    if isinstance(part, Unilateral):
        return {**name, "by": "closed", "gap": [one is part for one in own.closed].index(True)}
    for (event, number), action in actions.items():
        if (isinstance(action, Replace) and action.force is part) or (
            isinstance(action, Follow) and action.name == part.name and getattr(part, "motion", None) is action.motion
        ):
            return {**name, "by": "action", "event": event, "action": number}
    if isinstance(part, Distance):
        return {**name, "by": "length", "length": part.length}
    if isinstance(part, Joint) and type(part) is type(own):
        frame = part.frame_i
        return {**name, "by": "frame", "origin": frame.origin.tolist(), "rotation": frame.rotation.tolist()}
    return {**name, "by": "function", "what": f"{part}"}


def directions_by_name(record: Mapping[str, Iterable[float]]) -> dict[str, tuple[float, ...]]:
    """Return the directions of the last slip of a segment, `Segment.last_slip`, from JSON data."""
    return {str(name): tuple(map(float, direction)) for name, direction in record.items()}


def _record_of_shares(shares: LoadShares) -> Any:
    """Return the constraint rows on which a normal load depends as JSON data: their weights, or how to compute them."""
    terms = [list(share) for share in shares.terms]
    if shares.rows is None:
        return terms
    left_out = [[one.name, one.number, one.slips, one.side, one.part] for one in shares.rows.left_out]
    kept, compliance = [list(row) for row in shares.rows.kept], list(shares.rows.compliance)
    return {"terms": terms, "row": shares.row, "kept": kept, "left out": left_out, "compliance": compliance}


def _shares_of(record: Any, system: System) -> LoadShares:
    """Return the constraint rows on which a normal load depends from the data of `_record_of_shares`.

    Files of earlier versions have a number as weight.
    """
    listed = record["terms"] if isinstance(record, dict) else record
    terms = tuple((str(name), int(row), tuple(map(float, np.ravel(weights)))) for name, row, weights in listed)
    if not isinstance(record, dict):
        return LoadShares(terms)
    kept = tuple((str(name), int(row)) for name, row in record["kept"])
    left_out = tuple(_left_out(system, *one) for one in record["left out"])
    return LoadShares(terms, SharedRows(kept, left_out, tuple(map(float, record["compliance"]))), int(record["row"]))


def _left_out(system: System, name: str, number: int, slips: bool, side: int, part: int) -> LeftOutRow:
    """Return a row that a run leaves out, from its name and numbers in a file."""
    own: Any = system[name]
    if slips:
        law: ForceElement = SlipComponent(own.on_part(part), number, side)
    else:
        law = Gap(own, number, relation=None if own.parts is None else own.resting_gaps[part])
    return LeftOutRow(name, int(number), bool(slips), int(side), int(part), law)


def _side(slip: Any) -> int:
    return slip.side if isinstance(slip, OfSurfaces | OfGap) else 1


def _reconstructed(record: Mapping[str, Any], system: System, actions: Mapping[tuple[str, int], Any]) -> Any:
    """Return the constraint or force described by the JSON data `record`.

    `actions` are the replacing actions, by the name of their event and their index in this event.
    """
    own: Any = system[record["name"]]
    match record["by"]:
        case "sticking":
            which, value = tuple(int(c) for c in record["which"]), record.get("value")
            at = None if value is None else tuple(map(float, np.ravel(value)))
            return own.sticking(
                which, int(record["side"]), int(record.get("part", 0)), at, _shares_of(record.get("shares", ()), system)
            )
        case "sliding":
            direction, on = (
                tuple(float(x) for x in record["direction"]),
                (int(record["side"]), int(record.get("part", 0))),
            )
            shares = None if record.get("shares") is None else _shares_of(record["shares"], system)
            begins = bool(record.get("begins", False))
            return own.sliding(direction, float(record["floor"]), *on, shares, begins)
        case "flank":
            return own.on_side(int(record["side"]))
        case "rope":
            return own.in_state(tuple(int(state) for state in record["states"]))
        case "closed":
            return own.closed[int(record["gap"])]
        case "length":
            ends = {"point_i": own.frame_i.origin, "point_j": own.frame_j.origin}
            return Distance(own.name, own.body_i, own.body_j, **ends, length=float(record["length"]))
        case "frame":
            return with_frame_i(own, _frame(record["origin"], record["rotation"]))
        case "action":
            return _after_action(record, own, actions)
    raise LostPartError(
        f'the replacement of "{record["name"]}" ({record.get("what")}), which no action of an event of the run has put '
        "in and which cannot be reconstructed: use actions of events instead of functions to replace parts"
    )


def _after_action(record: Mapping[str, Any], part: Any, actions: Mapping[tuple[str, int], Any]) -> Any:
    action = actions.get((record["event"], int(record["action"])))
    if isinstance(action, Follow):
        return part.following(action.motion)
    if not isinstance(action, Replace):
        raise LostPartError(
            f'event "{record["event"]}" of the run has replaced "{record["name"]}", but there is no '
            "such event in the system: add it to its parts"
        )
    return action.force


def _frame(origin: Any, orientation: Any) -> Frame:
    """Return a frame with exactly the given origin and quaternion.

    The constructor of `Frame` would normalize the quaternion again and change its last digits.
    """
    made = Frame(origin, orientation)
    q = np.array(orientation, dtype=float)
    again: Frame = object.__new__(Frame)
    vars(again).update({**vars(made), "rotation": q, "matrix": matrix(q)})
    return again
