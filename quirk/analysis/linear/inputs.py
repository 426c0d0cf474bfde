"""Inputs u of a linear system: parameters of force elements, and motions of drivers.

Each input defines a direction, that is, the variation of the model for a unit change of this input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from quirk.constraints import Constraint
from quirk.dynamics.model.directions import Directions
from quirk.dynamics.model.model import Model
from quirk.dynamics.model.primitives_as_relations import as_relations
from quirk.errors import InputError
from quirk.forces import ForceElement
from quirk.forces.value import Value

OWNER = "System.linearize"
LETTERS = "xyz"
# Suffixes of the names of the three inputs of a driver, and the factors of these inputs in the Taylor coefficients of
# the motion.
RATES = (("", 1.0), (".rate", 1.0), (".acceleration", 0.5))


@dataclass(frozen=True)
class Input:
    """An input of a linear system.

    Attributes
    ----------
    name : name of the input
    write : function of a direction's index that writes the unit variation of the input into this direction
    """

    name: str
    write: Callable[[Directions, int], None]


def inputs_of(model: Model, names: Iterable[Any]) -> list[Input]:
    """Return the inputs for the user's list of names and pairs (name, parameter).

    Each component of a vector parameter is one input.
    """
    if isinstance(names, str):
        raise InputError(f'{OWNER}: inputs must be a list, such as ["{names}"]; got the text {names!r}')
    return [one for what in names for one in _inputs(model, what)]


def directions_of(model: Model, inputs: list[Input]) -> Directions:
    """Return one direction for each input: its unit variation, with all other inputs constant."""
    made = Directions.none(model, len(inputs))
    made = Directions(made.bodies, made.time, made.internal, made.mass, made.inertia, made.gravity, {}, {})
    for c, one in enumerate(inputs):
        one.write(made, c)
    return made


def _inputs(model: Model, key: Any) -> list[Input]:
    elements = {element.name: (number, element) for number, (element, _) in enumerate(model.forces)}
    if isinstance(key, str):
        name, _, letter = key.rpartition(".")
        if key in elements:
            return _of_element(*elements[key], None, key)
        if name in elements and letter in LETTERS and letter:
            found = _of_element(*elements[name], None, name)
            if len(found) == 3:
                return [found[LETTERS.index(letter)]]
    if isinstance(key, tuple | list) and len(key) == 2 and all(isinstance(x, str) for x in key):
        if key[0] in elements:
            return _of_element(*elements[key[0]], key[1], key[0])
        driven = [one for one, _ in model.joint_bodies if one.name == key[0]]
        if driven:
            return _of_driver(model, driven[0], key[1])
    known = ", ".join(f'"{name}"' for name in elements) or "none"
    raise InputError(
        f'{OWNER}: an input is the name of a force element, one component of it as in "push.x", a pair (element, '
        f'parameter) or a pair (driver, "motion"); got {key!r}; active force elements: {known}'
    )


def _of_element(number: int, element: ForceElement, parameter: str | None, name: str) -> list[Input]:
    """Return the inputs for a parameter or motion of a force element or, if `parameter` is None, for its load.

    `number` is the index of the element in the model, and `name` is the name of the element.
    """
    layout, places = element.layout(), _places(element)
    chosen = getattr(element, "argument", None) if parameter is None else parameter
    title = name if parameter is None else f"{name}.{parameter}"
    if parameter is None and chosen not in (*places, *element.motions) and element.motions:
        # A load whose components are motions.
        return [_law_input(f"{name}.{x}", number, layout.first_motion + 2 * m)
                for m, x in enumerate(LETTERS[: len(element.motions)])]  # fmt: skip
    if chosen in element.motions:
        place = layout.first_motion + 2 * element.motions.index(chosen)
        rates = RATES[:1] if parameter is None else RATES[:2]
        return [_law_input(title + more, number, place + k) for k, (more, _) in enumerate(rates)]
    if chosen not in places:
        listed = ", ".join(repr((name, own)) for own in (*places, *element.motions)) or "none"
        given = getattr(element, str(chosen), None)
        cure = f"there are: {listed}"
        if isinstance(given, Value):
            cure = "it is a function: add an element of the same kind beside it with the number 0 for the input"
        if chosen is None:
            raise InputError(f"{OWNER}: {element} has no single value: give the parameter, too; {cure}")
        raise InputError(f"{OWNER}: {element} has no number {chosen!r}; {cure}")
    first, shape = places[chosen]
    if shape == ():
        return [_law_input(title, number, first)]
    parts = [f"{title}.{x}" for x in LETTERS] if shape == (3,) else [
        f"{title}[{', '.join(map(str, k))}]" for k in np.ndindex(*shape)
    ]  # fmt: skip
    return [_law_input(part, number, first + k) for k, part in enumerate(parts)]


def _places(element: ForceElement) -> dict[str, tuple[int, tuple[int, ...]]]:
    """Return the index of the first law input and the shape of each numerical parameter of a force element, by name."""
    found, place = {}, 0
    for name in element.parameters:
        given = getattr(element, name)
        given = given.constant if isinstance(given, Value) else given
        if given is not None:
            found[name] = place, np.shape(given)
            place += np.size(given)
    return found


def _law_input(name: str, number: int, place: int) -> Input:
    def write(directions: Directions, c: int) -> None:
        _entry(directions.laws, number, place, directions.count)[c] = 1.0

    return Input(name, write)


def _of_driver(model: Model, driver: Constraint, parameter: str) -> list[Input]:
    """Return three inputs for the motion of a driver: its value, its rate and its acceleration.

    `parameter` is the name of the motion.
    """
    motion = getattr(driver, parameter, None)
    rows = model.joint_rows[driver.name]
    for number, placed in enumerate(as_relations(model)):
        if not rows.start <= placed.rows.start < rows.stop:
            continue
        motions = list(placed.relation.motions)
        found = [m for m, one in enumerate(motions) if one is motion]
        if not found and parameter in LETTERS and len(motions) == 3:
            found = [LETTERS.index(parameter)]
        if found:
            first = len(placed.relation.numbers) + 3 * found[0]
            title = f"{driver.name}.{parameter}"
            return [_relation_input(title + more, number, first + k, x) for k, (more, x) in enumerate(RATES)]
    raise InputError(f'{OWNER}: {driver} follows no motion {parameter!r}; inputs of drivers are ("drive", "motion")')


def _relation_input(name: str, number: int, place: int, factor: float) -> Input:
    def write(directions: Directions, c: int) -> None:
        _entry(directions.relations, number, place, directions.count)[c] = factor

    return Input(name, write)


def _entry(changes: Any, number: int, place: int, count: int) -> np.ndarray:
    found: np.ndarray = changes.setdefault(number, {}).setdefault(place, np.zeros(count))
    return found
