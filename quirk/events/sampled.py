"""Sampled functions: digital controllers, which set inputs at equal time intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..errors import InputError
from ..forces import ForceElement
from ..functions.expression import Expression
from ..functions.user_function import check_arguments
from ..util import validate
from ..util.immutable import Immutable
from .watched import Watched


class Sampled(Immutable):
    """Digital controller: a function that is called at equal time intervals and sets inputs of the system.

    The function is called at ``start + k * period``, k = 0, 1, ..., from the start of a run up to its end, exclusive;
    its values are held in between. Only runs call the function (`simulate`, `Run`, `sweep`). Other methods, such as
    `System.acceleration` and `System.linearize`, use the constant inputs given at construction.

    Parameters
    ----------
    name : str
        Unique in the system.
    period : float
        Interval between two calls, s, positive.
    function : function or Expression, or list of Expressions
        ``f(t, state)`` returns the value of the input, or a list of values: a number, or three for a `Force` or
        `Torque`. ``state["hinge"].angle`` and ``state["rod"].velocity`` are present values, as in ``run["hinge"]`` of a
        `Run`; ``state.position`` and so on are arrays as in `State`. An `Expression` of t and of bodies and joints by
        name, or a string such as "-20*hinge.angle - 5*hinge.angle_rate", gives one number; use a list of them for
        several inputs. A method ``reset()`` of the function is called at the start of each run.
    inputs : list of str
        Names of force elements with a constant that the function replaces: the effort of an `Actuator`, `JointTorque`
        or `JointForce`, the vector (3,) of a `Force` or `Torque`, or the target of a `Controller`.

    Examples
    --------
    >>> cart = quirk.Body.box("cart", mass=1.0, size=[0.1, 0.1, 0.1], velocity=[1.0, 0, 0])
    >>> rail = quirk.Prismatic("rail", quirk.GROUND, cart, point=[0, 0, 0], axis="x")
    >>> def law(t, state):
    ...     return -state["rail"].travel - 1.5 * state["rail"].travel_rate
    >>> controller = quirk.Sampled("controller", 0.1, law, inputs=["motor"])
    >>> system = quirk.System([cart, rail, quirk.JointForce("motor", rail, 0.0), controller])
    >>> result = quirk.simulate(system, 0.2, output=0.1)
    >>> result["motor"].effort.round(4)
    array([-1.5   , -1.3675, -1.3675])
    """

    def __init__(
        self,
        name: str,
        period: float,
        function: Callable[..., Any] | str | Expression | Iterable[str | Expression],
        inputs: Iterable[str | ForceElement],
    ) -> None:
        self.name = validate.name("Sampled", name)
        self.period = validate.positive(f"{self}", "period", period)
        listed = [inputs] if isinstance(inputs, str | ForceElement) else inputs
        if not isinstance(listed, Iterable):
            raise InputError(f"{self}: inputs must be a list of names of force elements; got {inputs!r}")
        self.inputs: tuple[str, ...] = tuple(one.name if isinstance(one, ForceElement) else one for one in listed)
        if not self.inputs or not all(isinstance(one, str) for one in self.inputs):
            raise InputError(f"{self}: inputs must be a list of one or more names of force elements; got {inputs!r}")
        if len(set(self.inputs)) < len(self.inputs):
            raise InputError(f"{self}: inputs names an element twice: {list(self.inputs)}")
        self.function = _checked(f"{self}", function, len(self.inputs))

    def __str__(self) -> str:
        return f'Sampled "{self.name}"'

    def __repr__(self) -> str:
        return f"<{self}>"

    @property
    def user_functions(self) -> list[Callable[..., Any]]:
        """Python function of the controller, in a list; empty for expressions."""
        return [] if isinstance(self.function, tuple) else [self.function]

    def in_system(self, parts: Mapping[str, Any]) -> Callable[[float, Any], Any]:
        """Return the controller of a system as a function of (t, state) that computes the values of the inputs.

        `parts` are the bodies, constraints and forces of the system by name, to which expressions refer. A Python
        function is returned unchanged; expressions become a function that returns a list of floats.
        """
        if not isinstance(self.function, tuple):
            return self.function
        watched = [Watched.of(f"{self}", expression, parts) for expression in self.function]
        return lambda t, state: [float(law(t, state)) for law in watched]


def _checked(owner: str, function: Any, count: int) -> Callable[..., Any] | tuple[Expression, ...]:
    """Return a Python function, or a tuple of `count` expressions, from the user's argument `function`.

    `owner` names the object in errors.
    """
    if callable(function) and not isinstance(function, Expression):
        check_arguments(owner, "function", function, {"f(t, state)": 2})
        return function
    listed = list(function) if isinstance(function, list | tuple) else [function]
    if not all(isinstance(one, str | Expression) for one in listed):
        raise InputError(
            f"{owner}: function must be a function f(t, state), an Expression, or a list of Expressions; got "
            f"{function!r}"
        )
    if len(listed) != count:
        raise InputError(f"{owner}: function must be an Expression for each of its {count} inputs; got {len(listed)}")
    return tuple(Expression(one) if isinstance(one, str) else one for one in listed)
