"""Snapshots of a run, from which it can be continued with bitwise equal results."""

from __future__ import annotations

import io
import pickle
import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..constraints.sticking import Sticking
from ..constraints.unilateral import Unilateral
from ..errors import CheckpointWarning, InputError, outside
from ..events import Event
from ..events.actions import Follow, replacing_actions
from ..forces.elastic_rope import ElasticRope
from ..forces.flanks import Flanks
from ..forces.stick_slip import StickSlip
from ..functions.digest import digest
from ..result.segment_records import described_part, rebuilt_part
from ..system.system import System
from .controller_memory import holder_of
from .identity import PartDigests, system_digest
from .memory_copies import reduced_view

# Maximum number of differences that the error of `restore` names.
MOST_NAMED = 3
# Name, in error messages, of the digest of names and kinds of all parts.
LISTED = "the parts of the system"
# Second part of the name of the object with the function of a `Sampled`.
CONTROLLER = "controller"


class SavedRun:
    """Snapshot of a run, returned by `Run.save`; it can be pickled.

    Pickled snapshots refer to bodies, constraints and forces by name, and can be restored in a run of the same system
    in another process.

    Attributes
    ----------
    time : time of the snapshot, s
    """

    def __init__(self, time: float, identity: RunIdentity, content: Any, names: PartNames) -> None:
        self.time, self._identity = time, identity
        self._content, self._names = content, names
        self._text = b""

    def __repr__(self) -> str:
        return f"<SavedRun: at t = {self.time:.9g} s>"

    def __getstate__(self) -> dict[str, Any]:
        """Return the data to be pickled, in which names replace bodies, constraints and forces.

        Raises
        ------
        InputError
            If an attribute of a controller, or an object added to the run by an event function, cannot be pickled.
        """
        return {
            "time": self.time,
            "_identity": self._identity,
            "_content": None,
            "_names": None,
            "_text": self._pickled,
        }

    @property
    def _pickled(self) -> bytes:
        if self._names is None:
            return self._text
        stream = io.BytesIO()
        try:
            _Writer(stream, self._names).dump(self._content)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise InputError(
                f"SavedRun: it cannot be pickled ({error}): let controllers have attributes that can be pickled, and "
                "give parts that an event puts into the run as actions, not by functions"
            ) from error
        return stream.getvalue()

    def content_for(self, identity: RunIdentity, names: PartNames) -> Any:
        """Return the saved data for a run with the given identity; `names` maps names to the objects of the run.

        The returned data must not be modified.

        Raises
        ------
        InputError
            If the system or the settings are different.
        """
        same = self._names is not None and self._names.agrees_with(names)
        differing = self._identity.differences(identity, same_parts=same)
        if differing:
            more = f" and {len(differing) - MOST_NAMED} more" if len(differing) > MOST_NAMED else ""
            raise InputError(
                f"Run.restore: what was saved is of another run, which differs in {', '.join(differing[:MOST_NAMED])}"
                f"{more}: restore it in a run of the same system that was made with the same arguments"
            )
        if same:
            return self._content
        return _Reader(io.BytesIO(self._pickled), names).load()


class RunIdentity:
    """Digests of the system and of the arguments of a run, used to check that a snapshot belongs to the run.

    Values that functions read are those at the start of the run.

    Parameters
    ----------
    system : System
    events : events of the run
    options : arguments that must be equal, by name
    """

    def __init__(self, system: System, events: Sequence[Event], options: Mapping[str, Any]) -> None:
        self._system_and_digests: tuple[System, PartDigests] | None = system, PartDigests(system, events)
        self._options = {name: digest(value, {}) for name, value in options.items()}
        self._unknown = self._system_and_digests[1].unknown

    @cached_property
    def _parts(self) -> dict[str, str]:
        """Digests of the system and its parts, computed on first use because digests of large meshes take time."""
        assert self._system_and_digests is not None
        system, digests = self._system_and_digests
        return {
            LISTED: digest([f"{part}" for part in system], {}),
            "gravity and active parts": system_digest(system),
            **digests.by_name,
        }

    def __getstate__(self) -> dict[str, Any]:
        """Return the digests, which are the only content of a pickle."""
        return {
            "_system_and_digests": None,
            "_options": self._options,
            "_parts": self._parts,
            "_unknown": self._unknown,
        }

    def differences(self, other: RunIdentity, *, same_parts: bool) -> list[str]:
        """Return the names of the arguments, bodies, constraints and forces that differ from another run.

        If `same_parts` is True, bodies, constraints and forces are compared by object identity instead of digests.
        """
        options, own, theirs = other._options, {} if same_parts else self._parts, {} if same_parts else other._parts
        found = [name for name in options if self._options[name] != options[name]]
        for part, unknown in ({} if same_parts else self._unknown | other._unknown).items():
            warnings.warn(
                f"Run.restore: {part}: its functions read {unknown}, which cannot be compared with those of the saved "
                "run: see yourself that they are the same, or read their values before the run",
                CheckpointWarning,
                stacklevel=outside(),
            )
        parts = [name for name in own if own[name] != theirs.get(name)]
        # If names or kinds of parts differ, digests of single parts cannot be compared.
        return found + ([LISTED] if LISTED in parts else parts)


class PartNames:
    """Names of all objects to which a snapshot refers.

    They are bodies, constraints, forces, events, objects in actions, and objects with sampled functions.

    Sliding or sticking friction has no name; it is identified by a description of the friction element and its state.

    Parameters
    ----------
    system : System
    events : events of the run
    """

    def __init__(self, system: System, events: Sequence[Event]) -> None:
        self._system = system
        self._named: dict[Any, Any] = {part.name: part for part in system}
        self._named.update((event.name, event) for event in events)
        self._named.update(((one.name, CONTROLLER), holder_of(one.function)) for one in system.sampled)
        for place, action in replacing_actions(events):
            self._named[place] = action.motion if isinstance(action, Follow) else action.force
        for constraint in system.constraints:
            for number, closed in enumerate(constraint.closed if isinstance(constraint, Unilateral) else ()):
                self._named[constraint.name, number] = closed
        self._names = {id(part): name for name, part in self._named.items()}

    def agrees_with(self, other: PartNames) -> bool:
        """Whether `other` assigns the same names to the same objects."""
        return self._names == other._names

    def name(self, value: Any) -> Any:
        """Return the name of an object of the run, or None for other objects.

        The name is a pair ("part", name) or, for sliding and sticking friction, ("stand-in", description).
        """
        if id(value) in self._names:
            return "part", self._names[id(value)]
        if isinstance(value, Sticking | StickSlip | Flanks | ElasticRope) and value.name in self._system:
            return "stand-in", described_part(value, self._system)
        return None

    def object_named(self, kind: str, name: Any) -> Any:
        """Return the object of the run that has a given name or, if `kind` is "stand-in", a given description."""
        return self._named[name] if kind == "part" else rebuilt_part(name, self._system)


class _Writer(pickle.Pickler):
    """Pickler that replaces bodies, constraints and forces by their names."""

    def __init__(self, stream: io.BytesIO, names: PartNames) -> None:
        super().__init__(stream, protocol=5)
        self._name = names.name

    def persistent_id(self, value: Any) -> Any:
        """Return the name of an object, or None if the object is to be pickled."""
        return self._name(value)

    def reducer_override(self, value: Any) -> Any:
        """Return the reduced form of an array that is a view of a block of bytes, as arrays with shared memory are."""
        block = value.base if type(value) is np.ndarray else None
        if isinstance(block, np.ndarray) and block.dtype == np.uint8 and block.ndim == 1 and not value.dtype.hasobject:
            return reduced_view(value, block)
        return NotImplemented


class _Reader(pickle.Unpickler):
    """Unpickler that replaces names by the objects of the run."""

    def __init__(self, stream: io.BytesIO, names: PartNames) -> None:
        super().__init__(stream)
        self._part = names.object_named

    def persistent_load(self, name: Any) -> Any:
        """Return the object of the run with a given name or description."""
        return self._part(*name)
