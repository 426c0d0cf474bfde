"""The base class of all force elements: the frames on which one acts, and its law."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from ..bodies.body import Body, Ground, checked_body
from ..bodies.frame import Frame
from ..errors import InputError
from ..functions.motion import Motion
from ..functions.user_function import read_only
from ..util import validate
from ..util.immutable import Immutable
from .law import LawLayout
from .place import Place
from .value import Value

FORMS = ("potential", "stored", "along", "load")


def _of_any_arguments(method: Callable[..., Any]) -> Callable[..., Any]:
    """Tell type checkers that classes may write a method with other arguments, such as one for each frame."""
    return method


class ForceElement(Immutable):
    """A force element: frames fixed in bodies, and a law that says what it exerts there.

    A subclass sets its parameters in `__init__`, calls that of this class, and writes its law once, by one or more of
    these methods; their loads add up:

    * ``potential(t, *frames)`` returns an energy, J. The loads are its exact negative gradient.
    * ``coordinate(t, *frames)`` returns a length or an angle x, or a list of such. ``along(t, x, rate)`` returns the
      force or torque that acts on it, positive where it makes x grow: one for each. ``stored(t, x)`` returns an energy,
      J, whose negative derivatives by x act likewise. Both get angles with all the turns that they have made.
    * ``load(t, *frames)`` returns a force and a torque for each frame, at its origin and in inertial axes; 0 for none.

    What an element that has no coordinate shows under the names of `coordinates`, ``shown(t, *frames)`` returns.

    An element may have internal variables, such as the integral of a controller's error or the current of a motor,
    which runs integrate with the motion. ``internal`` names the attributes that hold what they start from; in the law
    they stand for the values at the time, and ``internal_rates(t, x, rate)``, or ``internal_rates(t, *frames)`` of an
    element without a coordinate, returns their rates.

    They get the time and the frames as `Place` objects, whose `position`, `velocity`, `rotation` and `spin` are arrays
    of quantities that know their derivatives: use ``+ - * / ** @`` and numpy's functions, and in place of a branch on
    their values `quirk.where(condition, a, b)`. Runs call the machine code that is made of them.

    Parameters
    ----------
    name : str
        Unique in a system.
    ends : pairs of Body or GROUND, and Frame in its coordinates
        Where it acts; the law gets these frames in this order.

    Attributes
    ----------
    parameters : names of attributes that are numbers or arrays of numbers, or a `Value`, or None
        All numbers on which the law depends, apart from those of its frames.
    motions : names of attributes that are a `Motion`; in the law they stand for its value at the time
    internal : names of attributes that are numbers, from which internal variables start
    drawing : how animations show it: "coil" or "line" between its two ends; "force" or "torque" for an arrow of that
        load on the body of its last end; "" for not at all
    aside : names of attributes on which the law does not depend
    coordinates : names of what `coordinate` returns, for views and plots
    undefined : what messages say where its law gives no numbers
    turning : which of the coordinates are angles whose turns count, by their numbers; see `turns_near`
    between : whether it acts between its bodies, and not on each of them by itself

    Examples
    --------
    >>> class Repulsion(quirk.ForceElement):
    ...     def potential(self, t, i, j):
    ...         d = j.position - i.position
    ...         return 1.0 / np.sqrt(d @ d)
    >>> a, b = quirk.Body.sphere("a", 1.0, 0.1), quirk.Body.sphere("b", 1.0, 0.1, position=[2, 0, 0])
    >>> system = quirk.System([a, b, Repulsion("repulsion", (a, quirk.Frame()), (b, quirk.Frame()))])
    >>> system.acceleration(system.initial_state()).linear[1].round(6) + 0.0
    array([0.25, 0.  , 0.  ])
    """

    parameters: tuple[str, ...] = ()
    motions: tuple[str, ...] = ()
    internal: tuple[str, ...] = ()
    drawing: str = "line"
    aside: tuple[str, ...] = ()
    coordinates: tuple[str, ...] = ()
    turning: tuple[int, ...] = ()
    between: bool = True
    undefined: str = "its loads, rates of internal variables, or derivatives of them that are needed, are not finite"

    name: str
    ends: tuple[tuple[Body | Ground, Frame], ...]

    def __init__(self, name: str, *ends: tuple[Body | Ground, Frame]) -> None:
        kind = type(self).__name__
        owner = f'{kind} "{validate.name(kind, name)}"'
        for end in ends:
            if not (isinstance(end, tuple | list) and len(end) == 2):
                raise InputError(f"{owner}: each end must be a pair (body, quirk.Frame); got {end!r}")
        for body, frame in ends:
            checked_body(owner, "body", body)
            if not isinstance(frame, Frame):
                raise InputError(f"{owner}: a frame must be a quirk.Frame in body coordinates; got {frame!r}")
        if not ends:
            raise InputError(f"{owner}: it acts nowhere: give it a body and a frame")
        if not any(self.has(form) for form in FORMS):
            raise InputError(
                f"{owner}: {kind} has no law: write its potential, its load, or a coordinate with along or stored"
            )
        if (self.has("along") or self.has("stored")) and not self.has("coordinate"):
            raise InputError(f"{owner}: {kind} acts along a coordinate that it does not say: write its coordinate")
        if self.turning and type(self).turns_near is ForceElement.turns_near:
            raise InputError(f"{owner}: {kind} counts turns, but does not say of which joint: write turns_near")
        if not isinstance(self.internal, tuple | list):
            raise InputError(f'{owner}: internal must be a tuple of names, such as ("current",); got {self.internal!r}')
        writes_rates = type(self).internal_rates is not ForceElement.internal_rates
        if self.internal and not writes_rates:
            raise InputError(f"{owner}: {kind} has internal variables, but no rates of them: write internal_rates")
        if writes_rates and not self.internal and self.built_in is False:
            raise InputError(f"{owner}: {kind} has internal_rates, but no internal variables: name them in internal")
        for attribute in self.internal:
            setattr(self, attribute, validate.number(owner, attribute, getattr(self, attribute, None)))
        self.name, self.ends = name, tuple(ends)

    def check_names(self) -> None:
        """Raise InputError where the class or the element names attributes that are not what they should be."""
        owner = f"{self}"
        for what in ("parameters", "motions", "internal", "coordinates"):
            names = getattr(self, what)
            if not isinstance(names, tuple | list):
                raise InputError(f'{owner}: {what} must be a tuple of names, such as ("stiffness",); got {names!r}')
            for name in names if what != "coordinates" else ():
                if not hasattr(self, name):
                    raise InputError(
                        f"{owner}: {what} names {name!r}, which it does not have: set self.{name} in __init__"
                    )
        named = [*self.parameters, *self.motions, *self.internal]
        twice = sorted({name for name in named if named.count(name) > 1})
        if twice:
            raise InputError(f"{owner}: {twice[0]!r} is named twice among parameters, motions and internal")
        for name in self.motions:
            if not isinstance(getattr(self, name), Motion):
                raise InputError(
                    f"{owner}: {name} must be a quirk.Motion, since it is one of its motions; got "
                    f"{getattr(self, name)!r}: for a constant use Motion.polynomial([value])"
                )

    @_of_any_arguments
    def potential(self, t: Any, *frames: Place) -> Any:
        """Return the stored energy, J."""
        raise NotImplementedError

    @_of_any_arguments
    def coordinate(self, t: Any, *frames: Place) -> Any:
        """Return the lengths, m, or angles, rad, along which `along` acts."""
        raise NotImplementedError

    @_of_any_arguments
    def stored(self, t: Any, x: Any) -> Any:
        """Return the energy, J, stored in the coordinates."""
        raise NotImplementedError

    @_of_any_arguments
    def along(self, t: Any, x: Any, rate: Any) -> Any:
        """Return the force, newton, or torque, newton meter, that acts on each coordinate."""
        raise NotImplementedError

    @_of_any_arguments
    def load(self, t: Any, *frames: Place) -> Any:
        """Return a force, newton, and a torque, newton meter, for each frame, in the inertial frame."""
        raise NotImplementedError

    @_of_any_arguments
    def shown(self, t: Any, *frames: Place) -> Any:
        """Return a quantity for each name in `coordinates`, of an element that has no `coordinate`."""
        raise NotImplementedError

    @_of_any_arguments
    def internal_rates(self, t: Any, *arguments: Any) -> Any:
        """Return the rates of the internal variables, 1/s times their units: a number, or as many as there are."""
        raise NotImplementedError

    @property
    def bodies(self) -> tuple[Body | Ground, ...]:
        """The bodies on which it acts, one for each frame."""
        return tuple(body for body, _ in self.ends)

    @property
    def needs(self) -> tuple[Body | Ground, ...]:
        """The bodies without which it cannot be in a system."""
        return self.bodies

    @property
    def conservative(self) -> bool:
        """Whether all its work is taken from the energy that it stores."""
        return not (self.has("along") or self.has("load"))

    @property
    def wakes(self) -> bool:
        """Whether its load may come and go within a moment, as that of a spring that only pushes, or a user's function.

        A step may pass over that, so runs that choose their steps look for it between the stages of each.
        """
        return self.of_user

    def has(self, form: str) -> bool:
        """Whether its class writes its law in this form."""
        return getattr(type(self), form) is not getattr(ForceElement, form)

    @property
    def stores(self) -> bool:
        """Whether it can store energy."""
        return self.has("potential") or self.has("stored")

    def placed(self, bodies: Sequence[Body]) -> Self:
        """Return the element for a system of these bodies: itself, or a copy that acts on all if it is to do so."""
        return self

    @property
    def functions(self) -> list[Value]:
        """The functions of a user that take part in the law."""
        given = (getattr(self, name) for name in self.parameters)
        return [value for value in given if isinstance(value, Value) and value.function is not None]

    @property
    def sources(self) -> list[Any]:
        """The functions of a user that the law calls besides `functions`: the methods of a class of the user."""
        forms = (*FORMS, "coordinate", "internal_rates", "shown")
        return [] if self.built_in else [getattr(self, form) for form in forms if self.has(form)]

    @property
    def of_user(self) -> bool:
        """Whether a user wrote the law or functions in it, which may depend on time in any way."""
        return bool(self.functions) or not self.built_in

    @property
    def built_in(self) -> bool:
        """Whether the class is one of QuIRK's."""
        return type(self).__module__.startswith("quirk.")

    @property
    def numbers(self) -> np.ndarray:
        """Its parameters as one array, those that are functions left out."""
        given = (getattr(self, name) for name in self.parameters)
        known = (value.constant if isinstance(value, Value) else value for value in given)
        return np.concatenate([np.zeros(0), *(np.ravel(value) for value in known if value is not None)]).astype(float)

    def layout(self, order: int = 0) -> LawLayout:
        """Return the layout of the inputs and outputs of its law, for loads with `order` derivatives."""
        return LawLayout(
            parameters=self.numbers.size,
            turning=len(self.turning),
            function_inputs=tuple(value.room for value in self.functions),
            function_outputs=tuple(value.returns for value in self.functions),
            motions=len(self.motions),
            internal=len(self.internal),
            frames=len(self.ends),
            coordinates=len(self.coordinates),
            order=order,
        )

    def turns_near(self, angles: Mapping[str, Any]) -> list[float]:
        """Return the approximate value of each turning coordinate from the angles (3,) of joints, by name.

        The coordinate is then taken nearest to it, of all values that differ by whole turns. Turns are counted for
        joints alone, so an element with turning coordinates overrides this.
        """
        return []

    def turn_rates(self, rates: Mapping[str, Any]) -> list[float]:
        """Return the approximate rate of each turning coordinate from the rates (3,) of joints' angles, by name."""
        return self.turns_near(rates)

    def motion(self, name: str) -> Motion:
        """Return one of its motions."""
        found: Motion = getattr(self, name)
        return found

    def with_values(self, values: Mapping[str, Any]) -> Self:
        """Return a copy of this element with other values in place of its parameters, on which its law is run."""
        made = object.__new__(type(self))
        vars(made).update({**vars(self), **values})
        return made

    def as_law(self, traced: bool) -> Any:
        """Return what the law is run on, a copy made by `with_values`: what a user wrote may do more than arithmetic.

        `traced` says whether machine code is being written.
        """
        return self if self.built_in or not traced else read_only(self)

    @property
    def structure(self) -> tuple[Any, ...]:
        """All on which the law depends besides numbers: elements of equal structure share machine code."""
        other = {
            "name",
            "ends",
            "drawing",
            "_sealed",
            "_made",
            *self.parameters,
            *self.motions,
            *self.internal,
            *self.aside,
        }
        parts = sorted((name, value) for name, value in vars(self).items() if name not in other)
        forms = ((name, _form(getattr(self, name))) for name in self.parameters)
        return type(self), *forms, *((name, _key(value)) for name, value in parts)

    def __str__(self) -> str:
        return f'{type(self).__name__} "{self.name}"'

    def __repr__(self) -> str:
        return f"<{self}>"


def _form(parameter: Any) -> Any:
    """Return the kind and shape of a parameter, without its numbers."""
    if isinstance(parameter, Value):
        return parameter.shape, parameter.function is None
    return None if parameter is None else np.shape(parameter)


def _key(value: Any) -> Any:
    """Return a hashable key that is equal for equal values; other objects are equal to themselves alone."""
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str, value.tobytes()
    if isinstance(value, list | tuple):
        return tuple(_key(part) for part in value)
    if isinstance(value, dict):
        return tuple((key, _key(part)) for key, part in value.items())
    if isinstance(value, float):
        return type(value), value.hex()  # which tells zeros of both signs apart
    try:
        hash(value)
    except TypeError:
        return "object", id(value)
    return type(value), value
