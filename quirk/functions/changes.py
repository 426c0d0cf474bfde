"""Detection of user functions that read values modified by other functions during a run.

An outside value is a global variable, closure variable or attribute that a function uses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .effects import Effects
from .object_kinds import identity
from .outside_values import differ, outside_values, title_of


class Changes:
    """Selection of user functions that must run in Python, because other functions may modify values that they read.

    The remaining functions are compiled, with their outside values as constants. After the actions of events and at its
    end, a run checks that these outside values have not changed. It checks the same of functions whose loads are
    evaluated again after an event, for the motion before it.

    Parameters
    ----------
    functions : functions that are called in Python during a run
    in_python : those of them that must not be compiled even if no other function modifies values that they read
    called_again : those of `functions` that are evaluated again for the motion before an event
    """

    def __init__(
        self, functions: Sequence[Any], in_python: Sequence[Any] = (), called_again: Sequence[Any] = ()
    ) -> None:
        self._others = {identity(function): Effects(function) for function in functions}
        self._writers = [effects for effects in self._others.values() if effects.writes]
        self._functions = list(functions)  # which keeps their identities valid
        self._known: dict[Any, tuple[Any, Effects | None, Any]] = {identity(f): (f, None, None) for f in in_python}
        for function in called_again:
            self(function)

    def __call__(self, function: Any) -> bool:
        """Whether a function reads outside values that functions called in Python may modify."""
        if not self._others:
            return False
        key = identity(function)
        if key not in self._known:
            reads = Effects(function)
            if any(writer.may_change(reads) for writer in self._writers):
                self._known[key] = function, None, None
            else:
                self._known[key] = function, reads, outside_values(reads)
        return self._known[key][1] is None

    def remembers(self, function: Any) -> bool:
        """Whether a function that is called in Python reads a variable or attribute that it sets itself."""
        effects = self._others.get(identity(function))
        return effects is not None and effects.remembers

    def may_alter(self, function: Any) -> bool:
        """Whether a call of `function` may modify outside values that are read by functions called in Python."""
        readers = [*self._others.values(), *(Effects(f) for f, reads, _ in self._known.values() if reads is None)]
        return any(self._others[identity(function)].may_change(reader) for reader in readers)

    def unforeseen(self) -> list[str]:
        """Return the names of functions whose outside values have changed although no change was expected."""
        kept = [(function, reads, before) for function, reads, before in self._known.values() if reads is not None]
        return [title_of(function) for function, reads, before in kept if differ(before, outside_values(reads))]
