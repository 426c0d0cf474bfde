"""Axes that rotate with the bodies, for the computations of implicit steps, in compiled code.

Stiff loads often have directions fixed in bodies. In axes that rotate with the bodies, at constant rates during a step,
these directions are constant. The derivatives are then also nearly constant, as required by Newton's method, which
evaluates them at a single state. Each body has two sets of axes: one for its translation and one for its rotation.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from quirk.dynamics.model.layout import ORIENTATION, POSITION, SPIN, VELOCITY
from quirk.dynamics.model.vectors import body_vector, cross, dot, load3, minus, plus, store3, times
from quirk.jit.compilation import kernel
from quirk.jit.simd import load, put, splat, store
from quirk.jit.tracing import traced

from ..implicit.tables import AXES, ROTATIONS, TRANSLATIONS
from ..kernels.bodies import CON, KIN, STATE
from ..kernels.constraint_solve import copy

# Offsets per block of eight bodies of the quaternions of the axes for rotations, and for translations.
OF_ROTATIONS, OF_TRANSLATIONS = 0, 32
TURNED = 64


@kernel
def choose_axes(constants: np.ndarray, y: np.ndarray, kin: np.ndarray, ydot: np.ndarray, axes: np.ndarray) -> None:
    """Choose the angular velocities of the rotating axes at the last evaluated state y, and write them to `axes`.

    `ydot` is y' at this state. The axes for the translation of a body do not rotate if its velocity varies less in
    inertial axes, as for a wheel on a straight road. `constants` and `kin` are the constants and the kinematics of all
    bodies.
    """
    for slot in range(8 * (constants.shape[0] // CON)):
        block, lane = slot // 8, slot % 8
        s, o = block * STATE + lane, block * AXES + lane
        spin, v, a = (
            body_vector(kin, block * KIN + lane + 8 * SPIN),
            body_vector(y, s + 8 * VELOCITY),
            body_vector(ydot, s + 8 * VELOCITY),
        )
        left = minus(a, cross(spin, v))
        follows = 1.0 if dot(left, left) <= dot(a, a) else 0.0
        for c in range(3):
            put(axes, o + ROTATIONS + 8 * c, spin[c])
            put(axes, o + TRANSLATIONS + 8 * c, follows * spin[c])


@kernel
def turn_axes(axes: np.ndarray, time: float, turned: np.ndarray, first: int) -> None:
    """Compute the quaternions of all axes `time` (s) after they coincided with the inertial axes.

    They are written to `turned`, beginning at element `first`; `axes` contains the angular velocities of the axes.
    """
    for block in range(axes.shape[0] // AXES):
        for part in range(2):
            for lane in range(8):
                rate = body_vector(axes, block * AXES + 24 * part + lane)
                speed, o = dot(rate, rate) ** 0.5, first + block * TURNED + 32 * part + lane
                scale = math.sin(0.5 * speed * time) / speed if speed > 0.0 else 0.0
                put(turned, o, math.cos(0.5 * speed * time))
                for c in range(3):
                    put(turned, o + 8 * (1 + c), scale * rate[c])


@kernel
def to_rotating(turned: np.ndarray, first: int, blocks: int, y: np.ndarray, out: np.ndarray) -> None:
    """Transform a state or a variation from the inertial frame to the rotating axes; the result is written to `out`.

    Angular velocities remain in body axes. The quaternions of the axes begin at element `first` of `turned`. `y` is the
    state or variation, and `blocks` the number of blocks of eight bodies.
    """
    copy(y, out)
    for block in range(blocks):
        s, o = block * STATE, first + block * TURNED
        w, x = load(turned, o + OF_TRANSLATIONS), times(load3(turned, o + OF_TRANSLATIONS + 8), -1.0)
        store3(out, s + 8 * POSITION, rotated(w, x, load3(y, s + 8 * POSITION)))
        store3(out, s + 8 * VELOCITY, rotated(w, x, load3(y, s + 8 * VELOCITY)))
        w, x = load(turned, o + OF_ROTATIONS), times(load3(turned, o + OF_ROTATIONS + 8), -1.0)
        turn(w, x, y, out, s + 8 * ORIENTATION)


@kernel
def to_inertial(turned: np.ndarray, first: int, blocks: int, y: np.ndarray, out: np.ndarray) -> None:
    """Transform a state or a variation from the rotating axes to the inertial frame; the result is written to `out`.

    Angular velocities remain in body axes. The quaternions of the axes begin at element `first` of `turned`. `y` is the
    state or variation, and `blocks` the number of blocks of eight bodies.
    """
    copy(y, out)
    for block in range(blocks):
        s, o = block * STATE, first + block * TURNED
        w, x = load(turned, o + OF_TRANSLATIONS), load3(turned, o + OF_TRANSLATIONS + 8)
        store3(out, s + 8 * POSITION, rotated(w, x, load3(y, s + 8 * POSITION)))
        store3(out, s + 8 * VELOCITY, rotated(w, x, load3(y, s + 8 * VELOCITY)))
        turn(load(turned, o + OF_ROTATIONS), load3(turned, o + OF_ROTATIONS + 8), y, out, s + 8 * ORIENTATION)


@kernel
def subtract_rotation(axes: np.ndarray, y: np.ndarray, slope: np.ndarray) -> None:
    """Subtract the rate due to the rotation of the axes from `slope`, y' of a state y in rotating axes."""
    for block in range(axes.shape[0] // AXES):
        s, o = block * STATE, block * AXES
        rate = load3(axes, o + TRANSLATIONS)
        for place in (8 * POSITION, 8 * VELOCITY):
            store3(slope, s + place, minus(load3(slope, s + place), cross(rate, load3(y, s + place))))
        half, q = times(load3(axes, o + ROTATIONS), 0.5), s + 8 * ORIENTATION
        w, x = load(y, q), load3(y, q + 8)
        store(slope, q, load(slope, q) + dot(half, x))
        store3(slope, q + 8, minus(load3(slope, q + 8), plus(times(half, w), cross(half, x))))


@kernel
def copy_positions(blocks: int, y: np.ndarray, out: np.ndarray) -> None:
    """Copy the positions of all bodies in the state y to `out`, and set all other elements to zero.

    `blocks` is the number of blocks of eight bodies.
    """
    for o in range(0, out.shape[0], 8):
        store(out, o, splat(0.0))
    for block in range(blocks):
        store3(out, block * STATE + 8 * POSITION, load3(y, block * STATE + 8 * POSITION))


@traced
def rotated(w: Any, x: Any, a: Any) -> Any:
    """Return the vector `a` rotated by a unit quaternion with scalar part w and vector part x."""
    return plus(a, times(cross(x, plus(cross(x, a), times(a, w))), 2.0))


@traced
def turn(w: Any, x: Any, y: Any, out: Any, q: Any) -> None:
    """Multiply quaternions of eight bodies from the left by unit quaternions, and write the products to `out`.

    The left factors have scalar parts w and vector parts x; the right factors begin at element q of the array y, and
    the products at element q of `out`.
    """
    v, u = load(y, q), load3(y, q + 8)
    store(out, q, w * v - dot(x, u))
    store3(out, q + 8, plus(plus(times(u, w), times(x, v)), cross(x, u)))
