"""Two bodies with one constraint, of every kind that there is; how a state moves on."""

import numpy as np
import pytest
from mechanisms import SPECIAL, VARIANTS, crossed_gear, pulley_with_drums, random_body, random_joint, random_state
from quirk.constraints.unilateral import Unilateral

import quirk
from quirk import constraints, rotation

# Those that push have rows when they are closed: these are among the variants.
KINDS = [
    kind
    for name in constraints.__all__
    if issubclass(kind := getattr(constraints, name), quirk.Constraint)
    and name not in ("Constraint", "Joint", "Free")
    and not issubclass(kind, Unilateral)
] + VARIANTS
# Those whose code takes longest to compile.
LONG = {quirk.CurveOnCurve, quirk.PointOnCurve, quirk.Implicit, pulley_with_drums}
# Angles and displacements relative to a carrier, which is the ground here.
CARRIED = [quirk.Gear, quirk.RackPinion, crossed_gear]


def declared_rows(kind):
    """How many rows a class of constraints says that it has, or else the builder of one with arguments."""
    count = kind.row_count
    return SPECIAL[kind].row_count if count is None else count


def pair(kind, seed, ground=None):
    rng = np.random.default_rng(seed)
    a, b = random_body(rng, "a"), random_body(rng, "b")
    ends = {None: (a, b), "i": (quirk.GROUND, b), "j": (a, quirk.GROUND)}[ground]
    if (kind is quirk.RollingDisk and ground == "j") or (kind in CARRIED and ground):
        pytest.skip("the ground is neither a disk nor, where it is the carrier, a gear")
    joint = random_joint(rng, "joint", *ends, kind)
    more = [] if getattr(joint, "joint", None) is None else [joint.joint]
    return quirk.System([a, b, joint, *more]), random_state(rng, 2)


def moved(state, h, acceleration=None):
    """The state a time h later: exact rotation about the body axes, uniform motion plus a given acceleration."""
    linear, angular = acceleration or (0.0, 0.0)
    turn = rotation.exp(h * state.angular_velocity + 0.5 * h * h * np.asarray(angular))
    return quirk.State(
        state.position + h * state.velocity + 0.5 * h * h * np.asarray(linear),
        rotation.multiply(state.orientation, turn),
        state.velocity + h * np.asarray(linear),
        state.angular_velocity + h * np.asarray(angular),
    )


def qdot(state):
    return np.concatenate([state.velocity, rotation.rate(state.orientation, state.angular_velocity)], axis=1).ravel()
