"""Suggestions for misspelled names and for names from other programs."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

# Names that other programs and textbooks use, in lower case, with QuIRK's names for them.
ELSEWHERE = {
    # arguments
    **dict.fromkeys(
        ("dt", "h", "timestep", "time_step", "stepsize", "step_size", "delta_t"), ("step", "output", "times")
    ),
    **dict.fromkeys(("tol", "tolerance", "eps", "reltol"), ("rtol", "closure_tolerance")),
    "abstol": ("atol",),
    **dict.fromkeys(("integrator", "ode_solver", "scheme", "algorithm"), ("method",)),
    **dict.fromkeys(("t_end", "tend", "t_final", "tmax", "t_stop", "end", "t_span", "tspan", "time"), ("duration",)),
    **dict.fromkeys(("t_eval", "saveat", "save_at", "times"), ("output", "time", "times")),
    **dict.fromkeys(("t0", "t_start"), ("start",)),
    **dict.fromkeys(("x0", "y0", "state0", "initial"), ("initial_state",)),
    **dict.fromkeys(("xyz", "center", "com", "origin", "location", "translation"), ("position", "center_of_mass")),
    **dict.fromkeys(("rotation", "attitude", "quaternion", "quat", "rpy", "euler"), ("orientation",)),
    **dict.fromkeys(("omega", "w", "spin"), ("angular_velocity",)),
    **dict.fromkeys(("alpha",), ("angular_acceleration",)),
    **dict.fromkeys(("rgba", "rgb"), ("color",)),
    **dict.fromkeys(("dimensions", "dims", "extents", "lengths"), ("size",)),
    **dict.fromkeys(("k", "spring_constant", "rate"), ("stiffness",)),
    **dict.fromkeys(("c", "damper", "viscosity"), ("damping",)),
    **dict.fromkeys(("l0", "free_length", "natural_length", "unstretched_length"), ("rest_length",)),
    **dict.fromkeys(("body1", "body_1", "body_a", "parent"), ("body_i",)),
    **dict.fromkeys(("body2", "body_2", "body_b", "child"), ("body_j",)),
    **dict.fromkeys(("anchor", "pivot", "pos"), ("point", "position")),
    **dict.fromkeys(("minimum", "min"), ("lower",)),
    **dict.fromkeys(("maximum", "max"), ("upper",)),
    **dict.fromkeys(("cor", "elasticity"), ("restitution",)),
    **dict.fromkeys(("freq", "frequency"), ("angular_frequency",)),
    **dict.fromkeys(("density", "weight"), ("mass",)),
    "g": ("gravity",),
    "mu": ("coefficient", "static"),
    "threshold": ("level",),
    # kinds of parts
    **dict.fromkeys(("hinge", "pin", "rotary", "revolutejoint"), ("Revolute",)),
    **dict.fromkeys(("ball", "socket", "balljoint", "ball_joint"), ("Spherical",)),
    **dict.fromkeys(("slider", "slide", "linear", "translational"), ("Prismatic",)),
    **dict.fromkeys(("weld", "lock", "rigid", "locked"), ("Fixed",)),
    **dict.fromkeys(("hooke", "cardan"), ("Universal",)),
    **dict.fromkeys(("cube", "cuboid", "brick", "block"), ("Body.box", "box")),
    **dict.fromkeys(("motor", "servo"), ("Drive", "JointTorque")),
    **dict.fromkeys(("limit", "limits", "endstop"), ("Stop",)),
    **dict.fromkeys(("cable", "tether"), ("Rope",)),
    **dict.fromkeys(("rod", "link", "strut"), ("Distance",)),
    **dict.fromkeys(("rigidbody", "rigid_body"), ("Body",)),
    **dict.fromkeys(("belt", "winch"), ("Pulley",)),
    **dict.fromkeys(("pid", "regulator"), ("Controller",)),
    **dict.fromkeys(("world", "model", "multibody"), ("System",)),
    **dict.fromkeys(("simulation", "simulator"), ("simulate", "Run")),
}
# Minimum number of letters of a name, and of the beginning of a word in a name, for a match.
SHORTEST, SHORTEST_WORD = 2, 3
# Maximum number of suggested names.
MOST_MEANT = 2


def nearest_names(unknown: str, known: Iterable[str]) -> list[str]:
    """Return at most two of the known names that are similar to `unknown`, the most similar first."""
    listed, folded = list(dict.fromkeys(known)), unknown.lower()
    lower, plural = {name: name.lower() for name in listed}, folded.removesuffix("s")
    close = difflib.get_close_matches(folded, lower.values(), n=1)
    ways = (
        [name for name in listed if folded in (lower[name], lower[name].rpartition(".")[2])],
        [name for name in ELSEWHERE.get(folded, ()) if name in lower],
        sorted((name for name in listed if lower[name].startswith(plural)), key=len)[: len(plural) >= SHORTEST],
        [name for name in listed if len(folded) >= SHORTEST_WORD and _has_word(lower[name], folded)][:1],
        [name for name in listed if lower[name] in close],
    )
    return next((names for names in ways if names), [])[:MOST_MEANT]


def suggestion(given: str, known: Iterable[str], *, every: bool = False, most: int | None = None) -> str:
    """Return the end of an error message about an unknown name: a suggestion, or a list of known names.

    Parameters
    ----------
    given : str
        The unknown name.
    known : iterable of str
        Valid names.
    every : bool
        Whether all valid names are listed even if one is suggested.
    most : int, optional
        Maximum number of listed names; default: all.
    """
    names = list(known)
    meant = quoted(nearest_names(given, names))
    listed = ", ".join(names[:most]) + (", ..." if most is not None and len(names) > most else "")
    if meant:
        return f"did you mean {meant}?" + (f" There are: {listed}" if every else "")
    return f"there are: {listed}" if names else "there are none"


def quoted(names: Iterable[str], word: str = "or") -> str:
    """Return the names in double quotes as one string, joined by `word`."""
    return f" {word} ".join(f'"{name}"' for name in names)


def _has_word(name: str, beginning: str) -> bool:
    """Whether a word in a name starts with `beginning`; words are separated by underscores, dots or spaces."""
    return any(word.startswith(beginning) for word in re.split(r"[_. ]", name))
