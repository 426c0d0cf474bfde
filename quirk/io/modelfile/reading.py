"""Conversion of a model file to a system and the options of a run."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from quirk.analysis.closure import Closure
from quirk.bodies.body import Body
from quirk.errors import InputError, QuirkError
from quirk.simulation.hybrid.event_functions import guards_of
from quirk.simulation.simulate import simulate
from quirk.system.system import System
from quirk.util import validate
from quirk.util.suggestion import suggestion

from .lines import lines_of
from .mistakes import Mistakes
from .parts import FLAWED, PartMaker
from .start import moved_bodies, start_from
from .tables import tables_of
from .written import FAMILIES, FORMAT

SECTIONS = ("format", "system", *FAMILIES, "state", "run")
# Arguments of `simulate` that are not allowed in the section [run], because other sections specify them.
ELSEWHERE = ("system", "initial_state", "events")


def _anything(owner: str, argument: str, value: Any) -> None:
    """Accept any value; used for options that `simulate` validates when the run begins."""


def _text(owner: str, argument: str, value: Any) -> None:
    if not isinstance(value, str):
        raise InputError(f"{owner}: {argument} must be a text; got {value!r}")


# Function that checks an argument of `simulate`, by annotation of the argument.
CHECKS: dict[str, Callable[[str, str, Any], Any]] = {
    "float": validate.number,
    "int": validate.whole,
    "bool": validate.flag,
    "str": _text,
}


@dataclass(frozen=True)
class ModelText:
    """The contents of a model file.

    Attributes
    ----------
    system : System
    run : dict
        Arguments of `simulate` in the section [run], for ``quirk.simulate(model.system, **model.run)``; empty without
        this section.
    """

    system: System
    run: Mapping[str, Any] = field(default_factory=dict)


def model_of(text: str, where: str = "the model") -> ModelText:
    """Return the parsed contents of a model file.

    Parameters
    ----------
    text : TOML document
    where : name of the document in messages

    Raises
    ------
    InputError
        If the document has errors; the message lists all of them with their lines.
    """
    tables = tables_of(text, where)
    mistakes = Mistakes(where, lines_of(text))
    _check_sections(tables, mistakes)
    maker = PartMaker(tables, mistakes)
    items = maker.all_parts()
    options = _options(tables, maker, mistakes)
    run = _run(tables, maker, mistakes)
    state = _section(tables, "state", mistakes)
    moved = moved_bodies(state, maker.names_of("body"), mistakes)
    if mistakes.entries:
        # The options are also checked, to report all mistakes.
        _system([Body("any", 1.0, (1, 1, 1))], {**options, "order": []}, maker, mistakes)
    mistakes.check()
    system = _system(items, options, maker, mistakes)
    if system is not None:
        _switch(system, options, mistakes)
        system = _closed(system, options, mistakes)
        if state:
            start_from(system, state, moved, mistakes)
        _check_events(system, run, maker, mistakes)
    mistakes.check()
    assert system is not None
    return ModelText(system, run)


def _check_events(system: System, run: Mapping[str, Any], maker: PartMaker, mistakes: Mistakes) -> None:
    """Record an error for each event that depends on a quantity that does not exist in the system.

    `run` contains the arguments of the run, with additional events.
    """
    of_run = [(event, ("run", "event", k)) for k, event in enumerate(run.get("events", ()))]
    for event, path in [*((event, maker.declared.get(event.name, ())) for event in system.events), *of_run]:
        try:
            guards_of(system, [event])
        except InputError as error:
            mistakes.add((*path, "function"), str(error))


def _check_sections(tables: Mapping[str, Any], mistakes: Mistakes) -> None:
    for key in tables:
        if key not in SECTIONS:
            mistakes.add((key,), f'there is no section "{key}"; {suggestion(key, SECTIONS)}')
    number = tables.get("format", FORMAT)
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        mistakes.add(("format",), f"format must be a whole number, such as format = {FORMAT}; got {number!r}")
    elif number > FORMAT:
        mistakes.add(("format",), f"format {number} is newer than {FORMAT}, the newest supported format")


def _section(tables: Mapping[str, Any], key: str, mistakes: Mistakes) -> dict[str, Any]:
    section = tables.get(key, {})
    if not isinstance(section, dict):
        mistakes.add((key,), f"{key} must be a section [{key}]; got {section!r}")
        return {}
    return section


def _options(tables: Mapping[str, Any], maker: PartMaker, mistakes: Mistakes) -> dict[str, Any]:
    """Return the options in the section [system]: arguments of `System`, enabled and disabled parts, order of parts.

    `tables` are the tables of the file.
    """
    section = _section(tables, "system", mistakes)
    named = ("switched_on", "switched_off", "order")
    known = (*_arguments(System), *named, "closure")
    for key, value in section.items():
        if key not in known:
            mistakes.add(("system", key), f'[system]: there is no "{key}"; {suggestion(key, known)}')
        elif key in named and not (isinstance(value, list) and all(isinstance(x, str) for x in value)):
            mistakes.add(("system", key), f"[system]: {key} must be a list of names; got {value!r}")
        elif key in named:
            for name in value:
                maker.part(name, ("system", key), f"[system]: {key}")
    return section


def _arguments(function: Any) -> list[str]:
    """Return the names of the keyword-only arguments of a function."""
    return [p.name for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]


def _system(items: list[Any], options: dict[str, Any], maker: PartMaker, mistakes: Mistakes) -> System | None:
    arguments = {key: value for key, value in options.items() if key in _arguments(System)}
    if "order" in options:
        by_name = {item.name: item for item in items}
        first = [by_name.get(name) or maker.part(name, ("system", "order")) for name in options["order"]]
        items = [*first, *(item for item in items if item.name not in options["order"])]
    try:
        with np.errstate(over="raise"):
            return System(items, **arguments)
    except ArithmeticError:
        mistakes.add(("system",), "System: its numbers are too large for computation")
    except (QuirkError, TypeError) as error:
        mistakes.add(("system",), str(error))
    return None


def _switch(system: System, options: Mapping[str, Any], mistakes: Mistakes) -> None:
    for key, switch in (("switched_on", system.enable), ("switched_off", system.disable)):
        try:
            switch(*options.get(key, ()))
        except QuirkError as error:
            mistakes.add(("system", key), f"[system]: {key}: {error}")


def _closed(system: System, options: Mapping[str, Any], mistakes: Mistakes) -> System:
    """Return the system with the absorbed closure errors listed in the section [system.closure]."""
    table = options.get("closure")
    if table is None:
        return system
    if (
        not isinstance(table, dict)
        or table.keys() != {"tolerance", "offsets"}
        or not isinstance(table["offsets"], dict)
    ):
        mistakes.add(("system", "closure"), f"[system]: closure must have tolerance and offsets; got {table!r}")
        return system
    try:
        return system.with_closure(Closure.of(system.constraints, table["tolerance"], table["offsets"]))
    except QuirkError as error:
        mistakes.add(("system", "closure"), f"[system]: {error}")
        return system


def _run(tables: Mapping[str, Any], maker: PartMaker, mistakes: Mistakes) -> dict[str, Any]:
    """Return the arguments of `simulate` in the section [run].

    `tables` are the tables of the file.
    """
    section = dict(_section(tables, "run", mistakes))
    known = {key: p for key, p in inspect.signature(simulate).parameters.items() if key not in ELSEWHERE}
    events = section.pop("event", [])
    for key, value in section.items():
        if key not in known:
            mistakes.add(("run", key), f'[run]: there is no "{key}"; {suggestion(key, (*known, "event"))}')
            continue
        check = CHECKS.get(str(known[key].annotation).removesuffix(" | None"), _anything)
        try:
            check("[run]", key, value)
        except InputError as error:
            mistakes.add(("run", key), str(error))
    if "run" in tables and "duration" not in section:
        mistakes.add(("run",), "[run]: duration, in s, must be given")
    if not isinstance(events, list) or not all(isinstance(table, dict) for table in events):
        mistakes.add(("run", "event"), "[run]: write a section [[run.event]] for each event")
        return section
    made = [maker.event_of_run(k, table) for k, table in enumerate(events)]
    listed = [event for one in made for event in (one if isinstance(one, list) else [one]) if event is not FLAWED]
    return {**section, "events": listed} if listed else section
