"""Saved state of a run, from which it continues bit for bit."""

from __future__ import annotations

import hashlib
import io
import pickle
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..constraints.sticking import Sticking
from ..constraints.unilateral import Unilateral
from ..errors import InputError
from ..events import Event
from ..events.actions import After, Follow, Replace
from ..forces import Friction
from ..result.segment_records import described_part, rebuilt_part
from ..system.system import System


class SavedRun:
    """Snapshot of a run, returned by `Run.save`; it can be pickled.

    A pickle refers to parts of the system by name, so that it can be restored in a run of the same system in another
    process.

    Attributes
    ----------
    time : time of the snapshot, s
    """

    def __init__(self, time: float, identity: Mapping[str, str], content: Any, names: PartNames) -> None:
        self.time, self._identity = time, dict(identity)
        self._content, self._names = content, names
        self._text = b""

    def __repr__(self) -> str:
        return f"<SavedRun: at t = {self.time:.9g} s>"

    def __getstate__(self) -> dict[str, Any]:
        """Return plain data for a pickle, with names in place of parts.

        Raises
        ------
        InputError
            If an object added to the run by an event function cannot be pickled.
        """
        return {
            "time": self.time,
            "_identity": self._identity,
            "_content": None,
            "_names": None,
            "_text": self._written,
        }

    @property
    def _written(self) -> bytes:
        if self._names is None:
            return self._text
        stream = io.BytesIO()
        try:
            _Writer(stream, self._names).dump(self._content)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise InputError(
                f"SavedRun: what a function of an event has put into the run cannot be pickled ({error}): give such "
                "parts as actions, not by functions"
            ) from error
        return stream.getvalue()

    def content_for(self, identity: Mapping[str, str], names: PartNames) -> Any:
        """Return the saved data, with the parts that have these names; the data must not be changed.

        Raises
        ------
        InputError
            If the system or the settings are different.
        """
        differing = [name for name, own in identity.items() if self._identity.get(name) != own]
        if differing:
            raise InputError(
                f"Run.restore: what was saved is of another run, which differs in {', '.join(differing)}: restore it "
                "in a run of the same system that was made with the same arguments"
            )
        if self._names is not None and self._names.same(names):
            return self._content
        return _Reader(io.BytesIO(self._written), names).load()


def identity(system: System, options: Mapping[str, Any]) -> dict[str, str]:
    """Return data that distinguish runs: digests of the model and of the arguments."""
    model = system.plant.model
    numbers = np.concatenate([model.mass, np.ravel(model.inertia), np.ravel(model.gravity)])
    laws = [element.numbers for element in system.forces]
    return {
        "the parts of the system": _digest([f"{part}" for part in system]),
        "masses, inertias and gravity": _digest(numbers.tolist()),
        "numbers of forces": _digest([law.tolist() for law in laws]),
        **{name: _digest(value) for name, value in options.items()},
    }


class PartNames:
    """Names of all objects that a saved run refers to: parts, events, and parts added by actions.

    Friction states are described by their origin.

    Parameters
    ----------
    system : System
    events : events of the run
    """

    def __init__(self, system: System, events: Iterable[Event]) -> None:
        self._system = system
        self._named: dict[Any, Any] = {part.name: part for part in system}
        for event in events:
            self._named[event.name] = event
            for number, action in enumerate(_flat(event.actions)):
                put_in = getattr(action, "force", None) if isinstance(action, Replace) else None
                put_in = action.motion if isinstance(action, Follow) else put_in
                if put_in is not None:
                    self._named[event.name, number] = put_in
        for constraint in system.constraints:
            for number, closed in enumerate(constraint.closed if isinstance(constraint, Unilateral) else ()):
                self._named[constraint.name, number] = closed
        self._names = {id(part): name for name, part in self._named.items()}

    def same(self, other: PartNames) -> bool:
        """Return whether `other` assigns equal names to equal objects."""
        return self._names == other._names

    def name(self, value: Any) -> Any:
        """Return the name of an object, or a description; None if it has none."""
        if id(value) in self._names:
            return "part", self._names[id(value)]
        if isinstance(value, Sticking | Friction) and value.name in self._system:
            return "stand-in", described_part(value, self._system)
        return None

    def part(self, kind: str, name: Any) -> Any:
        """Return the part, event or other object of the run with the given name."""
        return self._named[name] if kind == "part" else rebuilt_part(name, self._system)


def _flat(actions: Any) -> Any:
    for action in actions:
        if isinstance(action, After):
            yield from _flat(action.actions)
        else:
            yield action


def _digest(value: Any) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]


class _Writer(pickle.Pickler):
    """Pickler that writes parts of the system by name."""

    def __init__(self, stream: io.BytesIO, names: PartNames) -> None:
        super().__init__(stream, protocol=5)
        self._name = names.name

    def persistent_id(self, value: Any) -> Any:
        """Return the name of a part."""
        return self._name(value)


class _Reader(pickle.Unpickler):
    """Unpickler that replaces names by the parts of the run."""

    def __init__(self, stream: io.BytesIO, names: PartNames) -> None:
        super().__init__(stream)
        self._part = names.part

    def persistent_load(self, name: Any) -> Any:
        """Return the part with a name."""
        return self._part(*name)
