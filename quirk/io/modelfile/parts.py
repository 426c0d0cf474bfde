"""Creation of bodies, constraints, forces and events ("parts") from the tables of a model file.

The family of a part is the name of its section: body, constraint, force or event. Its kind is the class or function
that creates it. A path, such as ("constraint", 2, "axis"), locates a table or key in the file. FLAWED is a placeholder
for an object that could not be created because of an error in the file, which has been recorded.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from quirk.bodies.body import GROUND
from quirk.errors import QuirkError
from quirk.events import Event
from quirk.util.renamed import present_arguments
from quirk.util.suggestion import suggestion

from .kinds import Maker, kinds_of, makers, names_parts, parameters
from .mistakes import Mistakes, Path
from .written import DEFAULT_KINDS, FAMILIES, NESTED

# Maximum nesting depth of tables; typical files have a few levels.
DEEPEST = 20
# Placeholder for an object that could not be created because of an error in the file, which has been recorded.
FLAWED = object()


class PartMaker:
    """Creator of the parts (bodies, constraints, forces, events) that tables describe, ordered by dependency.

    Parameters
    ----------
    tables : tables of the file
    mistakes : list of errors

    Attributes
    ----------
    made : parts by name; FLAWED if a part could not be created
    declared : path of the table of each part, by name
    """

    def __init__(self, tables: Mapping[str, Any], mistakes: Mistakes) -> None:
        self.tables, self.mistakes = tables, mistakes
        self.declared: dict[str, Path] = {}
        self.made: dict[str, Any] = {GROUND.name: GROUND}
        self._companions: dict[str, Any] = {}
        self._in_the_making: set[str] = set()
        self._unnamed: list[Path] = []
        for family in FAMILIES:
            for path, table in self._listed(family):
                self._declare(family, path, table)

    def all_parts(self) -> list[Any]:
        """Create all parts, and return them ordered by family; parts that could not be created are left out."""
        items: list[Any] = []
        for name in self.declared:
            made = self.part(name, ())
            items += made if isinstance(made, list) else [made]
        for path in self._unnamed:
            self._checked_part(path)
        return [item for item in items if item is not FLAWED]

    def part(self, name: str, reference: Path, description: str = "") -> Any:
        """Return the part named `name`, created on first use; FLAWED if its table has an error.

        `reference` is the path of the argument that refers to the part, and `description` describes this argument in
        messages.
        """
        if name not in self.made and name in self.declared:
            if name in self._in_the_making or len(self._in_the_making) > DEEPEST:
                self.mistakes.add(reference, f'{description}: "{name}" depends on itself, or is nested too deeply')
                return FLAWED
            self._in_the_making.add(name)
            self.made[name] = made = self._checked_part(self.declared[name])
            self._in_the_making.discard(name)
            for companion in getattr(made, "companions", ()):
                self._companions[companion.name] = companion
        found = self.made.get(name, self._companions.get(name))
        if found is None:
            known = [GROUND.name, *self.declared, *self._companions]
            self.mistakes.add(reference, f'{description}: there is no part "{name}"; {suggestion(name, known)}')
            return FLAWED
        return found

    def names_of(self, family: str) -> list[str]:
        """Return the names of all parts of a family, including those that other parts contain."""
        belonging = [name for name, part in self._companions.items() if isinstance(part, FAMILIES[family])]
        return [name for name, path in self.declared.items() if path[0] == family] + belonging

    def object(
        self,
        table: Mapping[str, Any],
        path: Path,
        title: str,
        default: str | None = None,
        depth: int = 0,
        expected: Any = None,
    ) -> Any:
        """Return the object described by a table, or FLAWED after recording an error in the table.

        Parameters
        ----------
        table, path : the table and its path
        title : description of the object in messages
        default : kind if the table has none
        depth : level of nesting of the table
        expected : class of the object; messages suggest kinds that create objects of this class
        """
        kind = table.get("kind", default)
        if kind is None:
            self.mistakes.add(path, f'{title}: it has no kind, such as kind = "Revolute"')
            return FLAWED
        if not isinstance(kind, str) or kind not in makers():
            hint = suggestion(str(kind), makers() if expected is None else kinds_of(expected))
            self.mistakes.add((*path, "kind"), f"{title}: there is no kind {kind!r}; {hint}")
            return FLAWED
        maker, known = makers()[kind], parameters(makers()[kind])
        table = present_arguments(maker, table)
        arguments, sound = {}, depth < DEEPEST
        if not sound:
            self.mistakes.add(path, f"{title}: tables are nested more than {DEEPEST} levels deep")
            return FLAWED
        for key, value in table.items():
            if key == "kind":
                continue
            if key not in known:
                self.mistakes.add((*path, key), f'{title}: there is no "{key}"; {suggestion(key, known)}')
                sound = False
                continue
            annotation = str(known[key].annotation)
            arguments[key] = self._value(value, (*path, key), f"{title}: {key}", annotation, depth + 1)
        missing = [key for key, p in known.items() if _needed(p) and key not in table]
        if missing:
            self.mistakes.add(path, f"{title}: {' and '.join(missing)} must be given")
        if missing or any(_flawed(value) for value in arguments.values()):
            return FLAWED
        made = self._called(maker, arguments, path, title)
        return made if sound else FLAWED

    def _called(self, maker: Maker, arguments: dict[str, Any], path: Path, title: str) -> Any:
        """Call a class or function of quirk, and return its result; for an error, record it and return FLAWED.

        `path` and `title` locate and describe the call in messages.
        """
        several = [key for key, p in parameters(maker).items() if p.kind is inspect.Parameter.VAR_POSITIONAL]
        positional = [x for key in several for x in _listed(arguments.pop(key, ()))]
        try:
            with np.errstate(over="raise"):
                return maker(*positional, **arguments)
        except ArithmeticError:
            said = "its numbers are too large for computation"
        except (QuirkError, TypeError, ValueError) as error:
            said = str(error)
        self.mistakes.add(path, said if said.startswith(_owner(title)) else f"{title}: {said}")
        return FLAWED

    def _value(self, value: Any, path: Path, title: str, annotation: str, depth: int) -> Any:
        """Return the value of an argument, with names replaced by parts, and tables by the objects they describe.

        Which replacements are made depends on the annotation of the parameter. `path` and `title` locate and describe
        the argument in messages; `depth` is the level of nesting of the value.
        """
        if isinstance(value, str):
            return self.part(value, path, title) if names_parts(annotation) else value
        if isinstance(value, list):
            if depth >= DEEPEST:
                self.mistakes.add(path, f"{title}: lists are nested more than {DEEPEST} levels deep")
                return FLAWED
            return [self._value(x, path, title, annotation, depth + 1) for x in value]
        if not isinstance(value, dict):
            return value
        if isinstance(value.get("kind"), str):
            return self.object(value, path, title, depth=depth)
        if value and not all(isinstance(x, dict) for x in value.values()):
            return self.object(value, path, title, NESTED, depth)
        return {key: self._value(x, (*path, key), f"{title}: {key}", annotation, depth + 1) for key, x in value.items()}

    def _listed(self, family: str) -> list[tuple[Path, Any]]:
        """Return the tables of a family with their paths."""
        listed = self.tables.get(family, [])
        if not isinstance(listed, list) or not all(isinstance(table, dict) for table in listed):
            self.mistakes.add((family,), f"{family}: write a section [[{family}]] for each")
            return []
        return [((family, k), table) for k, table in enumerate(listed)]

    def _declare(self, family: str, path: Path, table: Mapping[str, Any]) -> None:
        name = table.get("name")
        if not isinstance(name, str) or not name.strip():
            given = f"; got {name!r}" if "name" in table else ""
            self.mistakes.add(path, f'[[{family}]]: it must have a name, such as name = "{family} 1"{given}')
            self._unnamed.append(path)
        elif name == GROUND.name:
            self.mistakes.add(path, f'[[{family}]]: the name "{name}" is that of the inertial frame: use another')
        elif name in self.declared:
            line = self.mistakes.lines.get(self.declared[name])
            there = f" on line {line}" if line else ""
            self.mistakes.add(path, f'[[{family}]]: the name "{name}" is already used{there}: rename one')
            self._unnamed.append(path)
        else:
            self.declared[name] = path

    def event_of_run(self, number: int, table: dict[str, Any]) -> Any:
        """Return the event with index `number` in the section [run]; FLAWED if its table has an error.

        The event belongs to the run, and not to the system.
        """
        return self._checked(table, "event", ("run", "event", number))

    def _checked_part(self, path: Path) -> Any:
        """Return the part whose table has this path; FLAWED if the table has an error."""
        family, number = str(path[0]), path[1]
        return self._checked(self.tables[family][number], family, path)

    def _checked(self, table: dict[str, Any], family: str, path: Path) -> Any:
        """Return the part described by a table; FLAWED if the table has an error or the part is of another family."""
        kind = table.get("kind", DEFAULT_KINDS.get(family, family))
        title = f'{kind} "{table.get("name", "?")}"' if isinstance(kind, str) else f"[[{family}]]"
        if (isinstance(table.get("name"), str) and not table["name"].strip()) or "name" not in table:
            table = {**table, "name": "?"}  # the missing name has been recorded
        wanted: Any = Event if family == "event" else FAMILIES[family]
        made = self.object(table, path, title, DEFAULT_KINDS.get(family), expected=wanted)
        for one in made if isinstance(made, list) else [made]:
            if one is not FLAWED and not isinstance(one, wanted):
                what = f"kind {kind!r} creates a {type(one).__name__}"
                self.mistakes.add((*path, "kind"), f"{title}: {what}, which does not belong under [[{family}]]")
                return FLAWED
        return made


def _owner(title: str) -> str:
    """Return the beginning of error messages about a part: class and name, from its `title`.

    The class is Body for kinds such as "Body.box".
    """
    kind, _, name = title.partition(" ")
    return f"{'Body' if kind.split('.')[0] == 'Body' or 'PlanarBody' in kind else kind.split('.')[-1]} {name}"


def _needed(parameter: inspect.Parameter) -> bool:
    return parameter.default is parameter.empty and parameter.kind is not parameter.VAR_POSITIONAL


def _flawed(value: Any) -> bool:
    if isinstance(value, list):
        return any(_flawed(x) for x in value)
    return any(_flawed(x) for x in value.values()) if isinstance(value, dict) else value is FLAWED


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]
