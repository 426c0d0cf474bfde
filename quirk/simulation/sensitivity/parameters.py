"""Parameters of sensitivities by name, such as ("rod", "mass")."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from quirk.bodies.body import Body
from quirk.constraints import Constraint
from quirk.errors import InputError, UnknownNameError
from quirk.forces import ForceElement
from quirk.forces.elastic_rope import ElasticRope
from quirk.forces.flanks import Flanks
from quirk.integrators import IMPLICIT_METHODS, TABLEAUX, TAYLOR

from .change import ParameterChange
from .motions import OWNER
from .numeric_arguments import similar_pairs
from .parameter_derivatives import derivatives_by_body, derivatives_by_part
from .part_parameters import GRAVITY

if TYPE_CHECKING:
    from quirk.bodies.state import State
    from quirk.system.system import System

GRAVITY_NAME = "gravity"


@dataclass(frozen=True)
class Parameter:
    """Parameter, a scalar or an array, with respect to which sensitivities are computed.

    Attributes
    ----------
    key : pair (part, name) as passed to `simulate`, or "gravity"
    shape : shape of the value
    changes : derivatives of the system with respect to each element of the value
    """

    key: Any
    shape: tuple[int, ...]
    changes: tuple[ParameterChange, ...]

    @property
    def size(self) -> int:
        """Number of elements of the parameter's value."""
        return math.prod(self.shape)


def parameters_of(system: System, start: State, pairs: Any) -> list[Parameter]:
    """Return the parameters named by the user's list of pairs (part, parameter), for a run from the state `start`."""
    if isinstance(pairs, str | dict) or not isinstance(pairs, Iterable):
        raise InputError(f'{OWNER} must be a list, such as [("rod", "mass")]; got {pairs!r}')
    parameters = [_parameter(system, start, what) for what in pairs]
    twice = [
        parameter.key
        for n, parameter in enumerate(parameters)
        if parameter.key in [earlier.key for earlier in parameters[:n]]
    ]
    if twice:
        raise InputError(f"{OWNER}: {twice[0]!r} is listed twice: remove one")
    return parameters


def checked_parameters(
    system: System, start: State, pairs: Any, method: str, solver: str, checkpoint: Any, for_objective: bool
) -> list[Parameter]:
    """Return the parameters described by the user's list of pairs (part, parameter), if the run supports derivatives.

    `start` is the initial state; `method`, `solver` and `checkpoint` are arguments of `simulate`. If `for_objective` is
    True, the run must support the gradient of an objective, which is computed by the adjoint method.

    Raises
    ------
    InputError
        If the run does not support derivatives.
    """
    parameters = parameters_of(system, start, pairs)
    methods = (*TABLEAUX, TAYLOR, *(() if for_objective else (*IMPLICIT_METHODS, "auto")))
    if parameters and (solver != "sparse" or method not in methods):
        what = "simulate: objective: gradients" if for_objective else OWNER
        kind = "explicit compiled" if for_objective else "compiled"
        raise InputError(
            f"{what} are computed along the steps of {kind} methods: use method= one of "
            f"{', '.join(methods)}, and solver='sparse'; got method={method!r}, solver={solver!r}"
        )
    loose = next((force for force in system.forces if isinstance(force, Flanks) and force.switches), None)
    if parameters and loose is not None:
        raise InputError(f"{OWNER}: {loose}: the instants at which flanks with free play meet are not differentiated")
    rope = next((force for force in system.forces if isinstance(force, ElasticRope) and force.switches), None)
    if parameters and rope is not None:
        raise InputError(
            f"{OWNER}: {rope}: the instants at which a rope with friction slips and sticks are not differentiated: "
            "leave out its friction"
        )
    if parameters and checkpoint is not None:
        raise InputError(f"{OWNER}: not available in a run with checkpoint=: leave out one of them")
    return parameters


def _parameter(system: System, start: State, pair: Any) -> Parameter:
    if pair in (GRAVITY_NAME, (GRAVITY_NAME,)):
        size = float(np.abs(system.gravity).max())
        return Parameter(
            GRAVITY_NAME, (3,), tuple(ParameterChange({(GRAVITY, "", 0): axis}, size=size) for axis in np.eye(3))
        )
    if not (isinstance(pair, tuple | list) and len(pair) == 2 and all(isinstance(x, str) for x in pair)):
        raise InputError(
            f'{OWNER}: each must be a pair (part, parameter) such as ("rod", "mass"), or "gravity"; got {pair!r}'
            f"{similar_pairs(system, pair)}"
        )
    name, parameter = pair
    try:
        part = system[name]
    except UnknownNameError as error:
        raise UnknownNameError(f"{OWNER}: {pair!r}: {error}") from None
    if isinstance(part, Body):
        shape, changes = derivatives_by_body(system, start, part, parameter)
    elif isinstance(part, Constraint | ForceElement):
        shape, changes = derivatives_by_part(system, part, parameter)
    else:
        raise InputError(f"{OWNER}: {pair!r}: {part} has no parameters on which the motion depends smoothly")
    return Parameter((name, parameter), shape, tuple(changes))
