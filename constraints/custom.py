"""User-defined constraints.

A user gives either functions of poses or velocities, which are differentiated, or the rows A and b of A x'' = b.

A relation is a constraint given by a function. Phi denotes the residuals of the constraint rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..autodiff.jet import Jet
from ..autodiff.numerical import in_directions
from ..bodies import rotation
from ..bodies.body import GROUND, Body, Ground, checked_body
from ..bodies.frame import Frame
from ..errors import InputError
from ..functions.expression import function_of
from ..functions.user_function import check_arguments, on_jets
from ..util import validate
from .constraint import Constraint
from .relation import FORCE, TORQUE, MovingFrame, Relation, RelationLayout, differentiate, frame_numbers, layout_of

# Maximum number of rows per relation in the compiled solver; longer results are split.
MOST_ROWS = 6

LEVELS = ("position", "velocity")
# Names of the bodies' frames in expressions.
LETTERS = "abcdefghijklmnopqrs"
UNITS = {"force": FORCE, "torque": TORQUE}


class OfBodies(Constraint):
    """Base class of constraints between any number of bodies, with frames that coincide with the body frames."""

    def __init__(self, kind: str, name: str, bodies: Any, active: bool) -> None:
        owner = f'{kind} "{validate.name(kind, name)}"'
        if not isinstance(bodies, Body | Ground | Iterable):
            raise InputError(f"{owner}: bodies must be a body or a list of bodies; got {bodies!r}")
        members = [bodies] if isinstance(bodies, Body | Ground) else list(bodies)
        for k, body in enumerate(members):
            checked_body(owner, f"bodies[{k}]", body)
        if len({id(body) for body in members}) < len(members):
            raise InputError(f"{owner}: bodies must differ from each other; got {members!r}")
        if not any(isinstance(body, Body) for body in members):
            raise InputError(f"{owner}: bodies must name at least one body; got {members!r}")
        # A single body is constrained relative to the ground, which is not passed to the user's function.
        self.given = len(members)
        self.members: tuple[Body | Ground, ...] = tuple(members) if len(members) > 1 else (GROUND, *members)
        super().__init__(name, self.members[0], self.members[1], Frame(), Frame(), active)

    @property
    def ends(self) -> tuple[tuple[Body | Ground, Frame], ...]:
        """The bodies of the constraint, each with its body frame."""
        return tuple((body, Frame()) for body in self.members)

    def _inputs(self, layout: RelationLayout) -> np.ndarray:
        """Return the initial frames, poses and velocities of all bodies as the flat input array of a relation."""
        parts = []
        for body in self.members:
            R = rotation.matrix(body.orientation)
            moving = [body.position, body.velocity, np.zeros(3), R.ravel(), R @ body.angular_velocity, np.zeros(3)]
            parts += [frame_numbers(Frame()), *moving]
        return np.concatenate(parts)


class Implicit(OfBodies):
    """A constraint given by a function of poses and time that must vanish; it is differentiated exactly.

    Parameters
    ----------
    name : str
    bodies : Body or list of bodies
        GROUND may be included. Results contain the load on the second body of the list, or on a single body, at its
        center of mass.
    phi : function, or the string of an `Expression`
        ``phi(t, a, b, ...)`` with a moving frame for each body: `a.position` (3,), `a.rotation` (3, 3, body to
        inertial), `a.point(local)` and `a.direction(local)` in the inertial frame. It returns a scalar, or a list with
        one scalar per row. With level="velocity" the frames also have `a.velocity`, `a.spin` (angular velocity in the
        inertial frame) and `a.velocity_of(local)`. Use + - * / ** @ and numpy's elementwise functions; the function is
        compiled unless it branches on its arguments.
    level : "position" or "velocity"
        Level of the constraint. Velocity constraints must be linear in the velocities; positions are not corrected.
    units : "force" or "torque"
        Unit of the multipliers: "force" if Phi is a length, "torque" if it is an angle.

    Examples
    --------
    >>> bead = quirk.Body.sphere("bead", 0.1, 0.02, position=[1, 0, 0])
    >>> wall = quirk.Implicit("wall", bead, lambda t, a: a.position @ a.position - 1.0)
    >>> quirk.System([bead, wall]).mobility().degrees_of_freedom
    5
    """

    def __init__(
        self,
        name: str,
        bodies: Body | Ground | Iterable[Body | Ground],
        phi: Callable[..., Any] | str,
        *,
        level: str = "position",
        units: str = "force",
        active: bool = True,
    ) -> None:
        super().__init__("Implicit", name, bodies, active)
        owner = str(self)
        phi = function_of(owner, "phi", phi, ("t", *LETTERS[: self.given]))
        if not callable(phi):
            raise InputError(f"{owner}: phi must be a function phi(t, {self._form}); got {phi!r}")
        check_arguments(owner, "phi", phi, {f"phi(t, {self._form})": 1 + self.given})
        validate.choice(owner, "level", level, LEVELS)
        unit = UNITS[validate.choice(owner, "units", units, tuple(UNITS))]
        self.phi, self.level = phi, level
        skipped = len(self.members) - self.given

        rows = UserRows(phi, skipped)
        count = self._count(owner, rows)
        self.primitives = tuple(
            Relation(
                UserRows(phi, skipped, begin, begin + MOST_ROWS),
                tuple(f"phi[{k}]" for k in range(begin, min(begin + MOST_ROWS, count))),
                (unit,) * min(MOST_ROWS, count - begin),
                of_velocities=level == "velocity",
                source=phi,
            )
            for begin in range(0, count, MOST_ROWS)
        )

    @property
    def _form(self) -> str:
        return ", ".join(body.name for body in self.members[-self.given :])

    def _count(self, owner: str, rows: Callable[..., list[Jet]]) -> int:
        """Return the number of rows of the user function, found by a trial evaluation at the initial poses."""
        found: list[Jet] = []

        def note(*arguments: Any) -> list[Jet]:
            found.extend(rows(*arguments))
            return []

        trial = Relation(note, (), (), of_velocities=self.level == "velocity")
        layout = layout_of(trial, len(self.members), 2)
        try:
            differentiate(trial, layout, True, 0.0, self._inputs(layout), np.zeros(0))
            values = [float(row.value) for row in found]
            free = [k for k, row in enumerate(found) if all(g is None for g in row.gradient)]
        except Exception as error:
            raise InputError(
                f"{owner}: its function, called as phi(t, {self._form}), failed where the bodies are placed: "
                f"{type(error).__name__}: {error}"
            ) from error
        if not values or not np.isfinite(values).all():
            raise InputError(f"{owner}: what its function returns must be one or more finite quantities; got {values}")
        if free:
            on = "velocities" if self.level == "velocity" else "poses"
            raise InputError(f"{owner}: what its function returns must depend on the {on}; entry {free[0]} does not")
        return len(values)


# Two of them are equal only if they are the same object: an equality of the user's functions may mean anything.
@dataclass(frozen=True, eq=False)
class UserRows:
    """Constraint function that calls a function of the user.

    Attributes
    ----------
    function : function of the time and the moving frames of the given bodies that returns the residuals
    skipped : number of leading frames that are not passed to `function`
    begin, end : the rows are the residuals `begin` to `end` - 1; all if `end` is None
    """

    function: Callable[..., Any]
    skipped: int
    begin: int = 0
    end: int | None = None

    def __call__(self, t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> list[Jet]:
        """Return the residuals; there are no constants and motions."""
        returned = on_jets(self.function, t, *frames[self.skipped :])
        # Flattened, so that the function may return vectors and matrices of rows.
        listed = np.asarray(returned, dtype=object).ravel().tolist()
        if any(isinstance(row, bool) or row is None for row in listed):
            raise TypeError(f"it must return quantities computed from its arguments; got {returned!r}")
        return [row if isinstance(row, Jet) else t * 0.0 + row for row in listed[self.begin : self.end]]


@dataclass(frozen=True)
class GivenRows(Relation):
    """Constraint rows A and b returned by a user function.

    Attributes
    ----------
    owner : title of the constraint, for error messages
    skipped : number of leading frames that are not passed to the function
    first_row : index of the first row of this object among all rows that the function returns
    """

    function: Any
    owner: str = ""
    skipped: int = 0
    first_row: int = 0

    compilable = False

    def missing(self, order: int) -> tuple[str, str] | None:
        """Explain why derivatives of the residual Phi up to order `order` are not available.

        Rows given as A and b have no derivatives beyond order 2, the accelerations. The result is a pair of the reason
        and a remedy, or None if all derivatives up to this order exist.
        """
        return None if order < 3 else ("rows given as A and b have no derivatives", "use Implicit instead")

    def fill(self, layout: RelationLayout, resting: bool, t: Any, inputs: Any, outputs: Any) -> None:
        """Evaluate the user function at time `t`, and write its rows into `outputs`.

        `layout` is the layout of `inputs` and `outputs`. If `resting` is true, accelerations are assumed to be zero.
        """
        lack = self.missing(3 if layout.gradient_order > 0 else layout.order)
        if lack is not None:
            raise InputError(f"{self.owner}: {lack[0]}: {lack[1]}")
        A, b, phi, phi_dot = self.call(layout, t, inputs)
        part = slice(self.first_row, self.first_row + layout.rows)
        bend = -b
        if not resting and layout.order > 1:
            after = 12 + 3 * (layout.order + 1)
            frames = inputs[layout.first_frame :].reshape(layout.frames, layout.frame_size)[self.skipped :]
            accelerations = np.concatenate([2 * frames[:, 18:21], frames[:, after + 12 : after + 15]], axis=1)
            bend = bend + np.einsum("mkc,kc->m", A, accelerations)
        levels = [np.zeros_like(b) if x is None else x for x in (phi, phi_dot)]
        derivatives = np.column_stack([*levels, bend])[part, : layout.order + 1]
        gradient = np.zeros((layout.rows, layout.frames, 8))
        gradient[:, self.skipped :, :6] = A[part]
        outputs[: layout.first_gradient] = derivatives.ravel()
        outputs[layout.first_gradient :] = gradient.ravel()

    def fill_dual(self, layout: RelationLayout, t: Any, inputs: Any, outputs: Any) -> None:
        """Evaluate the user function and its derivatives along eight directions, and write both to `outputs`.

        The derivatives are finite differences, because the function accepts only floats.
        """

        def filled(t: float, values: np.ndarray) -> np.ndarray:
            row_values = np.zeros(layout.outputs)
            self.fill(layout, False, t, values, row_values)
            return row_values

        value, derivative = in_directions(
            filled, t, [np.array([inputs[k] for k in range(layout.inputs)], dtype=object)]
        )
        outputs.values[:] = np.concatenate([value, derivative.ravel()])

    def call(self, layout: RelationLayout, t: float, inputs: np.ndarray) -> tuple[Any, ...]:
        """Evaluate the user function for k bodies, and return A and b of m rows, and Phi and its rate.

        A (m, k, 6) multiplies accelerations and angular accelerations in the inertial frame. b, Phi and the rate of Phi
        are (m,); the last two are None if the function does not return them.
        """
        frames = inputs[layout.first_frame :].reshape(layout.frames, layout.frame_size)[self.skipped :]
        k, after = len(frames), 12 + 3 * (layout.order + 1)
        position, velocity = frames[:, 12:15], frames[:, 15:18]
        R, spin = frames[:, after : after + 9].reshape(k, 3, 3), frames[:, after + 9 : after + 12]
        omega = np.einsum("kji,kj->ki", R, spin)
        q = np.array([rotation.from_matrix(matrix) for matrix in R])
        form = "rows(t, position, orientation, velocity, angular_velocity)"
        try:
            returned = list(self.function(t, position.copy(), q.copy(), velocity.copy(), omega.copy()))
        except Exception as error:
            raise InputError(
                f"{self.owner}: its function, called as {form}, failed at t = {t:g} s: {type(error).__name__}: {error}"
            ) from error
        if len(returned) not in (2, 4):
            raise InputError(f"{self.owner}: {form} must return A and b, or A, b, Phi and Phi_dot; got {len(returned)}")
        where = f"{self.owner}, at t = {t:g} s"
        b = _checked(where, "b", returned[1])
        phi, phi_dot = (
            None if x is None else _checked(where, what, x, b.shape)
            for what, x in zip(("Phi", "Phi_dot"), returned[2:] or [None, None], strict=True)
        )
        given = validate.numbers(returned[0])
        columns = 7 if given is not None and given.shape[-1:] == (7 * k,) else 6
        rows = returned[0] if given is None else np.atleast_2d(given)
        A = validate.array(where, "A", rows, (len(b), columns * k)).reshape(len(b), k, columns)
        if columns == 7:
            # q'' = T^T omega' / 4 - |omega|^2 q / 4
            b = b + 0.25 * np.einsum("mki,ki,k->m", A[..., 3:], q, (omega**2).sum(axis=1))
            A = np.concatenate([A[..., :3], 0.25 * np.einsum("mki,kji->mkj", A[..., 3:], rotation.T_matrix(q))], axis=2)
        return np.concatenate([A[..., :3], np.einsum("kij,mkj->mki", R, A[..., 3:])], axis=2), b, phi, phi_dot


def _checked(location: str, quantity: str, value: Any, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """Return a number or list of numbers from a user function as an array, after checking its shape and values.

    `location` and `quantity` describe the value in errors; `shape` is the required shape, if any.
    """
    checked = validate.numbers(value)
    if checked is None:
        raise InputError(f"{location}: {quantity} must be a number for each row; got {value!r}")
    listed = np.atleast_1d(checked)
    return validate.array(location, quantity, listed, listed.shape[:1] if shape is None else shape)


class CustomRows(OfBodies):
    """A constraint defined by rows A and b as functions of the state and time.

    Parameters
    ----------
    name : str
    bodies : Body or list of k bodies
        Results contain the load on the second body of the list, or on a single body, at its center of mass.
    rows : function
        ``rows(t, position, orientation, velocity, angular_velocity)``, with arrays (k, 3), or (k, 4) for `orientation`,
        returns A and b of the m rows A x'' = b, and optionally Phi and its rate, which are then kept at zero. A is
        (m, 6 k) for x'' = (v_0', omega_0', v_1', ...), with v in the inertial frame and omega in body axes, or (m, 7 k)
        for x'' = (r_0'', q_0'', ...), as in `System.constraint_rows`.
    units : "force" or "torque"
        Unit of the multipliers.

    Examples
    --------
    >>> bead = quirk.Body.sphere("bead", 0.1, 0.02, velocity=[1.0, 0, 0])
    >>> def level(t, position, *motion):
    ...     return [[0, 0, 1.0, 0, 0, 0]], [0.0]
    >>> system = quirk.System([bead, quirk.CustomRows("level", bead, level)], gravity=[0, 0, -9.81])
    >>> system.acceleration(system.initial_state()).linear.round(6) + 0.0
    array([[0., 0., 0.]])
    """

    def __init__(
        self,
        name: str,
        bodies: Body | Ground | Iterable[Body | Ground],
        rows: Callable[..., Any],
        *,
        units: str = "force",
        active: bool = True,
    ) -> None:
        super().__init__("CustomRows", name, bodies, active)
        owner = str(self)
        if not callable(rows):
            raise InputError(f"{owner}: rows must be a function; got {rows!r}")
        unit = UNITS[validate.choice(owner, "units", units, tuple(UNITS))]
        self.rows = rows
        skipped = len(self.members) - self.given
        trial = GivenRows(rows, ("",), (unit,), owner=owner, skipped=skipped)
        layout = layout_of(trial, len(self.members), 2)
        _, b, phi, _ = trial.call(layout, 0.0, self._inputs(layout))
        count = len(b)
        labels, parts = tuple(f"row {k}" for k in range(count)), range(0, count, MOST_ROWS)
        self.primitives = tuple(
            GivenRows(rows, labels[k : k + MOST_ROWS], (unit,) * len(labels[k : k + MOST_ROWS]), owner=owner,
                      skipped=skipped, first_row=k, of_velocities=phi is None, source=rows)
            for k in parts
        )  # fmt: skip
