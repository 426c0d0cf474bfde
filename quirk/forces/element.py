"""Base class of all force elements.

A force element acts on frames fixed in bodies. Its law gives the loads from the motion of these frames.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from ..bodies.body import Body, Ground, checked_body
from ..bodies.frame import Frame
from ..constraints import Constraint
from ..errors import InputError
from ..functions.motion import Motion
from ..functions.user_function import read_only
from ..util import validate
from ..util.immutable import Immutable
from .law_layout import LawLayout
from .place import Place
from .value import Value

FORMS = ("potential", "stored", "along", "load")


def _of_any_arguments(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return `method` unchanged; its type allows any arguments, so that overriding methods may have others."""
    return method


def _lacks(element: ForceElement, method: str) -> TypeError:
    """Return the error for a call of an optional method that the class of a force element does not define."""
    kind = type(element).__name__
    return TypeError(f"{kind} has no {method}: define {method} in the class")


class ForceElement(Immutable):
    """A force element: frames fixed in bodies, and a law for the loads on them.

    A subclass sets its parameters in `__init__`, calls `__init__` of this class, and defines its law by one or more of
    these methods, whose loads are added:

    * ``potential(t, *frames)`` returns an energy, J. The loads are its exact negative gradient with respect to the
      poses.
    * ``coordinate(t, *frames)`` returns a length or an angle x, or a list of such coordinates. ``along(t, x, rate)``
      returns the force or torque along each coordinate, positive if it increases x. ``stored(t, x)`` returns an energy
      (J) whose negative derivatives with respect to x are the loads along the coordinates. Both methods receive angles
      with all turns counted.
    * ``load(t, *frames)`` returns a force and a torque for each frame, at its origin and in inertial axes; 0 stands for
      a zero vector.

    If there is no method `coordinate`, ``shown(t, *frames)`` may return the quantities named in `coordinates` for
    plots.

    An element may have internal variables, such as the integral of a controller's error or the current of a motor,
    which runs integrate together with the motion. ``internal`` names the attributes with their initial values; in the
    law these attributes are the current values, and ``internal_rates(t, x, rate)``, or ``internal_rates(t, *frames)``
    of an element without a coordinate, returns their rates.

    The methods receive the time and the frames as `Place` objects, whose `position`, `velocity`, `rotation` and `spin`
    are arrays of jets, which are numbers with derivatives: use ``+ - * / ** @`` and numpy's functions, and
    `quirk.where(condition, a, b)` instead of branches on their values. The law is compiled to machine code for runs.

    Parameters
    ----------
    name : str
        Unique in a system.
    ends : pairs of Body or GROUND, and Frame in its coordinates
        Bodies and frames on which the element acts; the law receives these frames in this order.

    Attributes
    ----------
    parameters : names of the attributes with all values in the law except the frames; each attribute is a number, an
       array, a `Value` or None
    motions : names of attributes that are a `Motion`; in the law these are its value at the current time
    internal : names of attributes with the initial values of internal variables
    drawing : graphics: "coil" or "line" between two ends; "force" or "torque" for an arrow of that load on the body of
       the last end; "" for none
    aside : names of attributes that do not enter the law
    coordinates : names of the quantities that `coordinate` returns, for views and plots
    undefined : explanation in the error message if the law gives a non-finite value
    turning : indices of the coordinates that are angles with all turns counted; see `turns_near`
    between : True if the loads act between the bodies, False if they act on each body independently
    counted : name of the joint and index of the axis for each of the `turning` coordinates that is a 1-2-3 angle
    reading : number of ends, at the end of the list, on which the element does not act; only their motion is read, by
       functions of the state

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
    reading: int = 0
    counted: tuple[tuple[str, int], ...] = ()
    undefined: str = "its loads, rates of internal variables, or derivatives of them that are needed, are not finite"

    # Parts that a system adds with the element, such as the flywheel of an actuator with a rotor.
    companions: tuple[Any, ...] = ()

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
            raise InputError(f"{owner}: needs at least one (body, frame) pair")
        if not any(self.has(form) for form in FORMS):
            raise InputError(f"{owner}: {kind} has no law: define potential, load, or coordinate with along or stored")
        if (self.has("along") or self.has("stored")) and not self.has("coordinate"):
            raise InputError(f"{owner}: {kind} has along or stored, but no coordinate: define coordinate")
        if self.turning and type(self).turns_near is ForceElement.turns_near:
            raise InputError(f"{owner}: {kind} has turning coordinates, but no turns_near: define turns_near")
        if not isinstance(self.internal, tuple | list):
            raise InputError(f'{owner}: internal must be a tuple of names, such as ("current",); got {self.internal!r}')
        writes_rates = type(self).internal_rates is not ForceElement.internal_rates
        if self.internal and not writes_rates:
            raise InputError(f"{owner}: {kind} has internal variables, but no rates: define internal_rates")
        if writes_rates and not self.internal and self.built_in is False:
            raise InputError(f"{owner}: {kind} has internal_rates, but no internal variables: name them in internal")
        for attribute in self.internal:
            setattr(self, attribute, validate.number(owner, attribute, getattr(self, attribute, None)))
        self.name, self.ends = name, tuple(ends)

    def check_names(self) -> None:
        """Raise an InputError if a name in `parameters`, `motions`, `internal` or `coordinates` is invalid.

        Each name, except in `coordinates`, must be an attribute of the element, and those in `motions` must be of type
        Motion.
        """
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
                    f"{owner}: {name} must be a quirk.Motion, because motions lists it; got "
                    f"{getattr(self, name)!r}: for a constant use Motion.polynomial([value])"
                )

    @_of_any_arguments
    def potential(self, t: Any, *frames: Place) -> Any:
        """Return the stored energy (J) at time t (s) and for moving frames."""
        raise _lacks(self, "potential")

    @_of_any_arguments
    def coordinate(self, t: Any, *frames: Place) -> Any:
        """Return a length (m), an angle (rad), or a list of such coordinates, at time t (s) and for moving frames.

        The methods `along` and `stored` give the loads along the coordinates and the energy stored in them.
        """
        raise _lacks(self, "coordinate")

    @_of_any_arguments
    def stored(self, t: Any, x: Any) -> Any:
        """Return the energy (J) stored in the coordinates x at time t (s)."""
        raise _lacks(self, "stored")

    @_of_any_arguments
    def along(self, t: Any, x: Any, rate: Any) -> Any:
        """Return the force (N) or torque (N m) along each coordinate; positive if it increases the coordinate.

        `x` and `rate` are the coordinates, m or rad, and their rates; `t` is in s.
        """
        raise _lacks(self, "along")

    @_of_any_arguments
    def load(self, t: Any, *frames: Place) -> Any:
        """Return a force (N) and a torque (N m) for each frame, both (3,) in the inertial frame.

        The force acts at the origin of the frame. The number 0 stands for a zero vector.
        """
        raise _lacks(self, "load")

    @_of_any_arguments
    def shown(self, t: Any, *frames: Place) -> Any:
        """Return the quantities named in `coordinates`, for plots; used only if there is no method `coordinate`."""
        raise _lacks(self, "shown")

    @_of_any_arguments
    def internal_rates(self, t: Any, *arguments: Any) -> Any:
        """Return the time derivative of each internal variable, in the variable's unit per second.

        The arguments are (x, rate) of the coordinates, or the frames of an element without coordinates.
        """
        raise _lacks(self, "internal_rates")

    @property
    def acting_ends(self) -> tuple[tuple[Body | Ground, Frame], ...]:
        """Bodies and frames on which the element acts, without the ends whose motion is only read."""
        return self.ends[: len(self.ends) - self.reading]

    @property
    def lines(self) -> Sequence[tuple[tuple[Body | Ground, np.ndarray], tuple[Body | Ground, np.ndarray]]]:
        """Pairs of points between which an element with the `drawing` "coil" or "line" is drawn.

        Each point is a body and a position (3,) in its coordinates, m. By default an element with two ends is drawn
        between the origins of its two frames.
        """
        points = [(body, frame.origin) for body, frame in self.acting_ends]
        return [(points[0], points[1])] if len(points) == 2 else []

    @property
    def bodies(self) -> tuple[Body | Ground, ...]:
        """Bodies on which the element acts, one entry for each frame."""
        return tuple(body for body, _ in self.ends)

    @property
    def needs(self) -> tuple[Body | Ground, ...]:
        """Bodies that a system with this element must contain."""
        return self.bodies

    @property
    def conservative(self) -> bool:
        """Whether the element conserves energy: it neither dissipates nor supplies energy."""
        return not (self.has("along") or self.has("load"))

    @property
    def wakes(self) -> bool:
        """Whether the load may act in short pulses, as for a one-sided spring or a user function.

        Adaptive integration then also samples the load inside each step, so that no pulse is missed.
        """
        return self.of_user

    def has(self, form: str) -> bool:
        """Whether the class overrides the method named `form`, such as "along"."""
        return getattr(type(self), form) is not getattr(ForceElement, form)

    @property
    def stores(self) -> bool:
        """Whether the class defines an energy, by the method `potential` or `stored`."""
        return self.has("potential") or self.has("stored")

    def placed(self, bodies: Sequence[Body], constraints: Sequence[Constraint]) -> Self:
        """Return the element for a system with the given bodies and constraints.

        The result is the element itself, or a copy if the element was declared for all bodies or its force law uses
        properties of bodies or constraints.
        """
        return self

    @property
    def reads(self) -> tuple[Any, ...]:
        """Bodies and constraints whose properties, such as masses, may be parameters of the force law."""
        return self.bodies

    @property
    def functions(self) -> list[Value]:
        """User functions among the parameters, such as a force given as a function of time."""
        given = (getattr(self, name) for name in self.parameters)
        return [value for value in given if isinstance(value, Value) and value.function is not None]

    @property
    def sources(self) -> list[Any]:
        """User functions other than `functions`: the methods of a user-defined element."""
        forms = (*FORMS, "coordinate", "internal_rates", "shown")
        return [] if self.built_in else [getattr(self, form) for form in forms if self.has(form)]

    @property
    def of_user(self) -> bool:
        """Whether the force law calls user code, and may therefore depend on time in an unknown way."""
        return bool(self.functions) or not self.built_in

    @property
    def built_in(self) -> bool:
        """Whether the class belongs to QuIRK; otherwise it is user-defined."""
        return type(self).__module__.startswith("quirk.")

    @property
    def numbers(self) -> np.ndarray:
        """Values of all parameters as one flat array, in the order of `parameters`."""
        given = (getattr(self, name) for name in self.parameters)
        known = (value.constant if isinstance(value, Value) else value for value in given)
        return np.concatenate([np.zeros(0), *(np.ravel(value) for value in known if value is not None)]).astype(float)

    def layout(self, order: int = 0) -> LawLayout:
        """Return the layout of the flat input and output arrays of the compiled law.

        `order` is the number of time derivatives of the loads.
        """
        return LawLayout(
            parameters=self.numbers.size,
            turning=len(self.turning),
            function_inputs=tuple(value.entries for value in self.functions),
            function_outputs=tuple(value.returns for value in self.functions),
            motions=len(self.motions),
            internal=len(self.internal),
            frames=len(self.ends),
            coordinates=len(self.coordinates),
            order=order,
        )

    def turns_near(self, angles: Mapping[str, Any]) -> list[float]:
        """Return approximate values (rad) of the coordinates that are angles with counted revolutions.

        The poses determine an angle up to full turns; the turn nearest to the returned value is selected. `angles`
        holds the 1-2-3 angles (3,), rad, of joints by name, with all turns counted. Elements with such coordinates
        override this method.
        """
        return []

    def turn_rates(self, rates: Mapping[str, Any]) -> list[float]:
        """Return approximate rates, rad/s, of the coordinates that are angles with counted revolutions.

        `rates` holds the rates (3,) of the 1-2-3 angles, rad/s, of joints by name.
        """
        return self.turns_near(rates)

    def motion(self, name: str) -> Motion:
        """Return the `Motion` in the attribute `name`."""
        found: Motion = getattr(self, name)
        return found

    def motion_changes(self, name: str, change: Motion) -> dict[str, Motion]:
        """Return the derivatives of all motions, by attribute name, with respect to a parameter of one motion.

        The parameter belongs to the motion in the attribute `name`, and `change` is the derivative of that motion.
        Subclasses add other motions that are derived from it.
        """
        return {name: change}

    def with_values(self, values: Mapping[str, Any]) -> Self:
        """Return a copy of the element with the attributes named in `values` replaced by these values."""
        made = object.__new__(type(self))
        vars(made).update({**vars(self), **values})
        return made

    def as_law(self, traced: bool) -> Any:
        """Return the object that evaluates the force law; `self` is a copy made by `with_values`.

        If machine code is generated (`traced`), a user-defined element is wrapped in a read-only proxy.
        """
        return self if self.built_in or not traced else read_only(self)

    @property
    def structure(self) -> tuple[Any, ...]:
        """Hashable key of the compiled force law, made of all properties that determine its machine code.

        Numerical values of parameters are not included. Elements with equal keys share machine code.
        """
        other = {
            "name",
            "ends",
            "drawing",
            "companions",
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
    """Return the shape of a parameter and, for a `Value`, whether it is constant; numerical values are excluded."""
    if isinstance(parameter, Value):
        return parameter.shape, parameter.function is None
    return None if parameter is None else np.shape(parameter)


def _key(value: Any) -> Any:
    """Return a hashable key that is equal for equal values; objects of unknown types equal only themselves."""
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str, value.tobytes()
    if isinstance(value, list | tuple):
        return tuple(_key(part) for part in value)
    if isinstance(value, dict):
        return tuple((key, _key(part)) for key, part in value.items())
    if isinstance(value, float):
        return type(value), value.hex()  # distinguishes the signs of zeros
    try:
        hash(value)
    except TypeError:
        return "object", id(value)
    return type(value), value
