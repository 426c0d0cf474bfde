"""Event functions of a run for the events that the user has declared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from quirk.bodies.body import Body
from quirk.bodies.state import Kinematics
from quirk.constraints import Constraint
from quirk.dynamics.model.applied_loads import law_inputs
from quirk.dynamics.model.time_derivatives import PoseDerivatives
from quirk.dynamics.sparse.stepping.crossing_tests import ROUND_OFF
from quirk.dynamics.sparse.stepping.watched_quantities import EventFunction
from quirk.errors import InputError
from quirk.events import Event, Sampled
from quirk.events.dimension import Dimension
from quirk.events.names import Reading
from quirk.events.quantity import Quantity, number_of
from quirk.forces.place import Place
from quirk.forces.state_view import RecordingView, StateView
from quirk.system.system import System


def guards_of(system: System, events: Sequence[Event], every: bool = False) -> list[EventFunction]:
    """Return the event function of each event.

    An integration step ends at a zero of the function if the event has an action, or if `every` is True.
    """
    parts = {part.name: part for part in system}

    def guard(event: Event) -> EventFunction:
        quantity, acts = event.quantity(parts, _probe(system, event)), every or bool(event.actions)
        dimension = Dimension.UNKNOWN if isinstance(quantity, Reading) else quantity.dimension
        return EventFunction(
            event.name, f"{event}", quantity, event.direction, acts, dimension=dimension, level=event.level,
            side_before=event.side_before, tolerance=max(event.tolerance, ROUND_OFF * abs(event.level)),
        )  # fmt: skip

    return [guard(event) for event in events]


def other_called_functions(system: System, events: Sequence[Event]) -> list[Callable[..., Any]]:
    """Return the user functions of events and all sampled functions, called by a run in addition to force laws."""
    parts: list[Event | Sampled] = [*events, *system.sampled]
    return [function for part in parts for function in part.user_functions]


def _probe(system: System, event: Event) -> Callable[[Any], list[str]]:
    """Return a function that determines which bodies and joints a user function of an event reads.

    The returned function calls the user function once and returns their names. `event` is named in error messages.
    """

    def probe(function: Any) -> list[str]:
        parts = {part.name: part for part in system if isinstance(part, Body | Constraint)}
        every = Quantity(event.name, f"{event}", function, 0.0, parts)
        layout, state = every.layout(), system.initial_state()
        rows = [_row(system, body) for body in every.bodies]
        inputs = law_inputs(every, layout, rows, PoseDerivatives.of(Kinematics.of(state), 1), 0.0, {})
        places = {name: Place(layout, f, inputs, False) for f, name in enumerate(every.places)}
        recording = RecordingView(StateView(parts, places))
        try:
            value = function(0.0, recording)
        except InputError as error:
            raise InputError(f"{event}: {error}") from error
        except Exception as error:
            raise InputError(
                f"{event}: its function, called as f(t, state), failed at the initial state: "
                f"{type(error).__name__}: {error}"
            ) from error
        if number_of(value) is None:
            raise InputError(f"{event}: its function must return a number that crosses zero; got {value!r}")
        return recording.names

    return probe


def _row(system: System, body: Any) -> int:
    return system.bodies.index(body) if isinstance(body, Body) else len(system.bodies)
