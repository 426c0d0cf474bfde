"""Derivatives of prescribed motions with respect to their parameters; each derivative is also a function of time."""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.errors import InputError
from quirk.functions.motion import Motion
from quirk.functions.motion_kernels import PIECES
from quirk.util.construction import made_with

OWNER = "simulate: sensitivities"


def motion_derivatives(part: Any, argument: str, motion: Motion, number: str) -> tuple[tuple[int, ...], list[Motion]]:
    """Return the shape of a parameter of a prescribed motion, and the derivative with respect to each of its elements.

    `number` is the name of the parameter, such as "rate"; `part` and `argument` are the constraint or force and the
    name of its argument with the motion, for error messages.
    """
    construction = made_with(motion)
    arguments: dict[str, Any] = {} if construction is None else dict(construction.arguments)
    maker = "" if construction is None else construction.maker.__name__
    makers: dict[str, Any] = {
        "constant_rate": {"rate": _power(1), "start": _power(0)},
        "sinusoid": _of_sinusoid(arguments) if maker == "sinusoid" else {},
    }
    known = makers.get(maker, {})
    if number in known:
        return (), [known[number]]
    if maker == "polynomial" and number == "coefficients":
        return (len(arguments[number]),), [_power(k) for k in range(len(arguments[number]))]
    if maker == "spline" and number == "values":
        units = np.eye(len(arguments["values"]))
        periodic = bool(arguments.get("periodic", False))
        if periodic:  # first and last value are the same parameter
            units[[0, -1]] = 0.5 * (units[0] + units[-1])
        return (len(units),), [Motion.spline(arguments["times"], unit, periodic) for unit in units]
    if maker == "rest_to_rest" and number == "values":
        return (len(arguments["values"]),), [
            Motion.rest_to_rest(arguments["times"], unit) for unit in np.eye(len(arguments["values"]))
        ]
    if maker == "rest_to_rest" and number == "times":
        derivatives = _by_times(motion)
        return (len(derivatives),), derivatives
    own = {"polynomial": ["coefficients"], "spline": ["values"], "rest_to_rest": ["values", "times"]}
    listed = own.get(maker, list(known))
    names = ", ".join(repr((part.name, f"{argument}.{name}")) for name in listed) or "none"
    missing = "is not differentiated by its" if number in arguments else "has no numeric argument"
    raise InputError(f"{OWNER}: {part}: its {motion!r} {missing} {number!r}; available: {names}")


def _by_times(motion: Motion) -> list[Motion]:
    """Return the derivatives of a motion `Motion.rest_to_rest` with respect to its times.

    Between two successive times t_0 and t_1 the motion is x_0 + (x_1 - x_0) p(s), with s = (t - t_0) / (t_1 - t_0) and
    p' = 30 s^2 (1 - s)^2, so that its derivatives are (x_1 - x_0) p' (s - 1) / (t_1 - t_0) with respect to t_0 and
    -(x_1 - x_0) p' s / (t_1 - t_0) with respect to t_1. Value, rate and acceleration of the motion are continuous at
    its times, so that the derivatives have no additional terms there.
    """
    lengths = np.diff(motion.breaks)[1:-1]
    moves = np.diff(motion.coefficients[1:, 0])
    scales = (moves / lengths)[:, None] / lengths[:, None] ** np.arange(6)
    by_first = scales * [0.0, 0.0, -30.0, 90.0, -90.0, 30.0]
    by_last = scales * [0.0, 0.0, 0.0, -30.0, 60.0, -30.0]
    derivatives = []
    for k in range(len(lengths) + 1):
        powers = np.zeros_like(motion.coefficients)
        if k < len(lengths):
            powers[k + 1] = by_first[k]
        if k > 0:
            powers[k] = by_last[k - 1]
        derivatives.append(Motion(PIECES, motion.breaks, powers))
    return derivatives


def _power(k: int) -> Motion:
    return Motion.polynomial([0.0] * k + [1.0])


def _of_sinusoid(arguments: dict[str, Any]) -> dict[str, Motion]:
    a, w = float(arguments["amplitude"]), float(arguments["angular_frequency"])
    phase = float(arguments.get("phase", 0.0))
    return {
        "amplitude": Motion.sinusoid(1.0, w, phase),
        "angular_frequency": Motion.function(f"{a!r}*t*cos({w!r}*t + {phase!r})"),
        "phase": Motion.sinusoid(a, w, phase + np.pi / 2),
        "offset": _power(0),
    }
