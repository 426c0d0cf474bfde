"""Events: a watched quantity, the level and direction of its crossing, and the actions at the crossing."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any

from ..errors import InputError
from ..functions.expression import Expression
from ..util import validate
from ..util.immutable import Immutable
from .actions import ActionLike, checked_actions, functions_in
from .names import Reading, Separation, named, separation
from .quantity import Gap, Quantity, used_parts
from .watched import Watched


class Event(Immutable):
    """Watched quantity with actions when it crosses a level.

    An event is an item of a `System`, or is passed to `simulate` for a single run.

    Parameters
    ----------
    name : str
        Unique in the system.
    function : function, str or quantity
        Watched quantity: a function ``f(t, state)`` that returns a number, where ``state["rod"]`` is a body and
        ``state["hinge"]`` a joint, see `quirk.forces.state_view`; the name of a quantity, such as "time", "rod.speed",
        "rod.position.z", "hinge.angle", "slider.travel_rate", "latch.force", "spring.length", "energy.kinetic"; the
        result of `distance_between`; or an `Expression` of t and of bodies and joints by name, such as
        ``quirk.Expression("rod.position.z - 0.1*t")``, with ``state["left rod"]`` for names that are not identifiers.
    direction : -1, 0 or 1
        Direction of the crossing: -1 if the quantity decreases, 1 if it increases, 0 for both.
    action : str, action, function or list
        "record" lists the event in ``result.events``; "stop" also ends the run. Other actions are returned by `enable`,
        `disable`, `replace`, `follow` and `set_velocity`. A function ``f(t, state)`` is called with a `State` and may
        return any of these actions, or None. Lists are executed in order.
    level : float
        Value at which the event occurs, in the unit of the quantity.

    Examples
    --------
    >>> ball = quirk.Body.sphere("ball", 1.0, 0.1)
    >>> low = quirk.Event("low", "ball.position.z", level=-1.0, direction=-1, action="stop")
    >>> result = quirk.simulate(quirk.System([ball, low], gravity=[0, 0, -2.0]), 5.0, output=0.5)
    >>> result.status, result.time[-1:].round(6)
    ('stopped', array([1.]))
    """

    # Side of the level, -1 below or 1 above it, on which the quantity counts as being before a run begins; 0 for the
    # side on which it is at the start.
    side_before: int = 0
    # Largest magnitude of the quantity that counts as round-off, in its unit.
    tolerance: float = 0.0

    def __init__(
        self,
        name: str,
        function: str | Separation | Expression | Callable[..., Any],
        *,
        direction: int = 0,
        action: ActionLike = "record",
        level: float = 0.0,
    ) -> None:
        self.name = validate.name("Event", name)
        if isinstance(direction, bool) or direction not in (-1, 0, 1):
            raise InputError(f"{self}: direction must be -1, 0 or 1; got {direction!r}")
        self.function, self.direction = function, int(direction)
        self.level = validate.number(f"{self}", "level", level)
        self.actions = checked_actions(f"{self}", action)

    def __str__(self) -> str:
        return f'Event "{self.name}"'

    def __repr__(self) -> str:
        return f"<{self}>"

    @property
    def watched_functions(self) -> list[Callable[..., Any]]:
        """The user-defined function that the event watches, if it has one."""
        return [self.function] if callable(self.function) and not isinstance(self.function, Expression) else []

    @property
    def user_functions(self) -> list[Callable[..., Any]]:
        """User-defined functions of the event: the watched function and functions among the actions."""
        return [*self.watched_functions, *functions_in(self.actions)]

    def watched_beside(self, active: Container[str]) -> bool:
        """Whether runs watch the event while the constraints with the names `active` are enabled."""
        return True

    def quantity(self, parts: Mapping[str, Any], probe: Any) -> Quantity | Gap | Reading:
        """Return the watched quantity of this event for a system.

        `parts` are the bodies, constraints and forces of the system by name. `probe` is a function that calls a user
        function once and returns the names of the parts that it has read; see `used_parts`.
        """
        title = f"{self}"
        if isinstance(self.function, str):
            return named(title, self.name, self.function, self.level, parts)
        if isinstance(self.function, Separation):
            return separation(title, self.name, self.function, self.level)
        if isinstance(self.function, Expression):
            function = Watched.of(title, self.function, parts)
            return Quantity(self.name, title, function, self.level, {name: parts[name] for name in function.names})
        asked = used_parts(title, self.function, parts, probe)
        return Quantity(self.name, title, self.function, self.level, asked)
