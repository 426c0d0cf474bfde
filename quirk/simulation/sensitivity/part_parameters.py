"""Constants of bodies, constraints and forces in the equations of motion, and their derivatives.

For derivatives, parts are constructed again with varied arguments. "Parts" are bodies, constraints and force elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from quirk.bodies.body import Body
from quirk.constraints import Constraint
from quirk.constraints.primitives import Primitive
from quirk.constraints.relation import frame_numbers
from quirk.constraints.unilateral import Unilateral
from quirk.errors import InputError
from quirk.forces import ForceElement
from quirk.util.construction import made_with

if TYPE_CHECKING:
    from quirk.system.system import System

# Kind of data, name of the part, and index among the part's data of this kind.
Key = tuple[str, str, int]
MASS, INERTIA, LAW, RELATION, INTERNAL, GRAVITY = "mass", "inertia", "law", "relation", "internal", "gravity"
# For unilateral constraints: restitution, and each gap, by its label.
RESTITUTION, GAP = "restitution", "gap "
Numbers = Mapping[Key, np.ndarray]

# Difference quotients: first step over the magnitude of the parameter, and number of halvings for the extrapolation;
# and number of first steps, each a tenth of the one before, that are tried where a part does not allow larger ones.
STEP, HALVINGS, SMALLER = 1e-2, 5, 6
# Relative difference of difference quotients that is round-off; the dependence is then linear.
LINEAR = 1e-13


def numbers_of(part: Any) -> dict[Key, np.ndarray]:
    """Return the constants of a body, constraint or force element in the equations of motion, by (kind, name, index).

    Bodies have mass and inertia. Force elements have the parameters of their force laws, followed by their frames (12
    numbers each), and initial internal variables. Constraints have the constants and frames of each constraint
    function; consecutive primitive constraints count as one function. Unilateral constraints have the constants and
    frames of each gap, and the coefficient of restitution.
    """
    if isinstance(part, Body):
        return {(MASS, part.name, 0): np.array([part.mass]), (INERTIA, part.name, 0): part.inertia.ravel().copy()}
    if isinstance(part, ForceElement):
        frames = [frame_numbers(frame) for _, frame in part.acting_ends]
        collected = {(LAW, part.name, 0): np.concatenate([part.numbers, *frames])}
        for n, name in enumerate(part.internal):
            collected[INTERNAL, part.name, n] = np.array([getattr(part, name)], dtype=float)
        return collected
    assert isinstance(part, Constraint)
    if isinstance(part, Unilateral):
        frames = [frame_numbers(frame) for _, frame in part.ends]
        collected = {(GAP + gap.labels[0], part.name, 0): np.concatenate([gap.numbers, *frames]) for gap in part.gaps}
        return {**collected, (RESTITUTION, part.name, 0): np.array([part.restitution])}
    return {(RELATION, part.name, first): numbers for first, numbers in _rows(part)}


def _rows(constraint: Constraint) -> Iterable[tuple[int, np.ndarray]]:
    """Yield the first row and the constants of each constraint function of a constraint.

    Consecutive primitive constraints count as one function.
    """
    first = 0
    frames = [frame_numbers(frame) for frame in (constraint.frame_i, constraint.frame_j)]
    for of_primitives, group in groupby(constraint.primitives, lambda part: isinstance(part, Primitive)):
        parts: list[Any] = list(group)
        if of_primitives:
            yield first, np.concatenate([[primitive.offset for primitive in parts], *frames])
            first += sum(len(part.labels) for part in parts)
            continue
        for part in parts:
            yield first, np.concatenate([part.numbers, *(frame_numbers(frame) for _, frame in constraint.ends)])
            first += len(part.labels)


def reconstructed(part: Any, arguments: Mapping[str, Any], left_out: Iterable[str] = ()) -> Any:
    """Return a part constructed again with some `arguments` replaced, and the arguments named in `left_out` omitted."""
    constructed = made_with(part)
    if constructed is None:
        raise InputError(
            f"simulate: sensitivities: the construction of {part} is unknown: construct it by calling its class"
        )
    kept = {name: value for name, value in constructed.arguments.items() if name not in left_out}
    return constructed.maker(**{**kept, **arguments})


def dependents(system: System, original: Any) -> list[Any]:
    """Return all constraints and forces that were constructed with a given part, in the order of the system.

    Constraints on a body depend only on its pose; some force elements depend on its mass, or on the frames of joints.
    """
    rebuilt: dict[int, Any] = {id(original): None}
    for part in (*system.constraints, *system.forces):
        constructed = made_with(part)
        if part is original or constructed is None or (isinstance(original, Body) and isinstance(part, Constraint)):
            continue
        read = isinstance(part, ForceElement) and any(one is original for one in part.reads)
        if read or any(_substituted(x, rebuilt) is not x for x in constructed.arguments.values()):
            rebuilt[id(part)] = part
    return list(rebuilt.values())[1:]


def with_dependents(system: System, original: Any, changed: Any, dependent_parts: Iterable[Any]) -> list[Any]:
    """Return the part `changed`, followed by all `dependent_parts` constructed again with it in place of `original`.

    `dependent_parts` are the parts that depend on `original`, directly or indirectly, as returned by `dependents`.
    """
    replaced: dict[int, Any] = {id(original): changed}
    if isinstance(changed, ForceElement):
        replaced[id(original)] = changed.placed(system.bodies, system.constraints)
    for part in dependent_parts:
        constructed = made_with(part)
        assert constructed is not None
        arguments = {name: _substituted(x, replaced) for name, x in constructed.arguments.items()}
        again = reconstructed(part, {name: x for name, x in arguments.items() if x is not constructed.arguments[name]})
        replaced[id(part)] = again
        if isinstance(again, ForceElement):
            bodies = [replaced.get(id(body), body) for body in system.bodies]
            constraints = [replaced.get(id(one), one) for one in system.constraints]
            replaced[id(part)] = again.placed(bodies, constraints)
    return list(replaced.values())


def _substituted(x: Any, replaced: Mapping[int, Any]) -> Any:
    """Return the constructor argument `x` with some parts replaced, or `x` itself if it contains none of them.

    `replaced` are the new parts by id of the old ones.
    """
    if id(x) in replaced:
        return replaced[id(x)]
    if isinstance(x, tuple | list):
        parts = [_substituted(element, replaced) for element in x]
        return x if all(a is b for a, b in zip(parts, x, strict=True)) else type(x)(parts)
    return x


# Reason in messages if a number determines the structure of a part.
CHANGING = "the number of parameters of the part depends on it, so that there is no derivative"


def derivative(function: Callable[[float], Numbers], size: float) -> dict[Key, np.ndarray]:
    """Return the derivatives at 0 of a function of one variable, by extrapolated difference quotients.

    `function` must be smooth; it returns a dict of numbers or arrays, and the derivatives have the same keys. `size` is
    the typical magnitude of the variable. Numbers computed by the constructor of a part, with arithmetic, are smooth in
    its arguments.
    """
    table, base = _quotients(function, STEP * (size if size > 0 else 1.0))
    if any({key: x.shape for key, x in row.items()} != {key: x.shape for key, x in table[0].items()} for row in table):
        raise InputError(CHANGING)
    for k in range(1, len(table)):
        factor = base**k
        table = [
            {key: (factor * finer[key] - coarse[key]) / (factor - 1) for key in finer}
            for coarse, finer in pairwise(table)
        ]
    return {key: change for key, change in table[0].items() if change.any()}


def _quotients(function: Callable[[float], Numbers], h: float) -> tuple[list[dict[Key, np.ndarray]], float]:
    """Return difference quotients of a function at 0, see `_halved`, and the ratio of the errors of successive ones.

    The first step is h, or smaller by powers of ten, as the value may be close to a limit of the part on either side.
    If the function fails for all of these steps, its first error is raised.
    """
    here, errors = function(0.0), list[InputError]()
    ways: tuple[tuple[Callable[[float], dict[Key, np.ndarray]], float], ...] = (
        (lambda x: _difference(function(x), function(-x), 2 * x), 4.0),
        (lambda x: _difference(function(x), here, x), 2.0),
        (lambda x: _difference(here, function(-x), x), 2.0),
    )
    for smaller in range(SMALLER):
        for difference, ratio in ways:
            try:
                return _halved(difference, h * 0.1**smaller), ratio
            except InputError as error:
                errors.append(error)
    raise errors[0]


def _halved(difference: Callable[[float], dict[Key, np.ndarray]], h: float) -> list[dict[Key, np.ndarray]]:
    """Return difference quotients for the steps h, h/2, h/4 and so on.

    `difference` is the function of the step that returns difference quotients, by key. If the first two sets are equal,
    the differentiated function is linear, and only these two are returned.
    """
    table = [difference(h), difference(0.5 * h)]
    if all(_nearly_equal(x, table[0].get(key, np.zeros(0))) for key, x in table[1].items()):
        return table
    return table + [difference(h * 0.5**k) for k in range(2, HALVINGS)]


def _nearly_equal(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and bool((np.abs(a - b) <= LINEAR * np.abs(a).max(initial=0.0)).all())


def _difference(a: Numbers, b: Numbers, step: float) -> dict[Key, np.ndarray]:
    if {key: x.shape for key, x in a.items()} != {key: x.shape for key, x in b.items()}:
        raise InputError(CHANGING)
    # Equal values do not change, even if infinite, such as an infinite friction coefficient.
    return {key: np.subtract(x, b[key], out=np.zeros(x.shape), where=x != b[key]) / step for key, x in a.items()}
