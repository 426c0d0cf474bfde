"""Constraints that a user writes: a function of poses or velocities to be differentiated, or the rows themselves."""

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
from ..functions.user_function import on_jets
from ..util import validate
from .constraint import Constraint
from .relation import FORCE, TORQUE, MovingFrame, Relation, RelationLayout, differentiate, frame_numbers, layout_of

# A node of the compiled solver holds so many rows: more are handed over in parts.
MOST_ROWS = 6

LEVELS = ("position", "velocity")
# What expressions call the frames of the bodies.
LETTERS = "abcdefghijklmnopqrs"
UNITS = {"force": FORCE, "torque": TORQUE}


class OfBodies(Constraint):
    """A constraint among any number of bodies, each with its own frame."""

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
        # One body is constrained relative to the ground, of which its function is not told.
        self.given = len(members)
        self.members: tuple[Body | Ground, ...] = tuple(members) if len(members) > 1 else (GROUND, *members)
        super().__init__(name, self.members[0], self.members[1], Frame(), Frame(), active)

    @property
    def ends(self) -> tuple[tuple[Body | Ground, Frame], ...]:
        """All bodies with their own frames."""
        return tuple((body, Frame()) for body in self.members)

    def _inputs(self, layout: RelationLayout) -> np.ndarray:
        """The inputs of a relation at the initial poses."""
        parts = []
        for body in self.members:
            R = rotation.matrix(body.orientation)
            moving = [body.position, body.velocity, np.zeros(3), R.ravel(), R @ body.angular_velocity, np.zeros(3)]
            parts += [frame_numbers(Frame()), *moving]
        return np.concatenate(parts)


class Implicit(OfBodies):
    """Whatever a function of poses and time says shall be zero; QuIRK differentiates it exactly.

    Parameters
    ----------
    name : str
    bodies : Body or list of bodies
        GROUND may be among them. The load is that on the second of them, or on the only one, at its center of mass.
    phi : function, or the text of an `Expression`
        ``phi(t, a, b, ...)`` with a moving frame for each body: `a.position` (3,), `a.rotation` (3, 3, body to N),
        `a.point(local)` and `a.direction(local)` in N. Returns one quantity or a list, one for each row. With
        level="velocity" the frames also have `a.velocity`, `a.spin` (angular velocity in N) and
        `a.velocity_of(local)`. Use + - * / ** @ and numpy's functions of numbers; it becomes machine code unless it
        compares its arguments.
    level : "position" or "velocity"
        What is related. Relations of velocities must be linear in these, and are not kept at position level.
    units : "force" or "torque"
        What the multipliers are: forces where Phi is a length, torques where it is an angle.

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
        validate.choice(owner, "level", level, LEVELS)
        unit = UNITS[validate.choice(owner, "units", units, tuple(UNITS))]
        self.phi, self.level = phi, level
        skipped = len(self.members) - self.given

        def rows(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> list[Jet]:
            returned = on_jets(phi, t, *frames[skipped:])
            # Flat, so that vectors and matrices of rows will do.
            listed = np.asarray(returned, dtype=object).ravel().tolist()
            if any(isinstance(row, bool) or row is None for row in listed):
                raise TypeError(f"it returned {returned!r}, which is no quantity")
            return [row if isinstance(row, Jet) else t * 0.0 + row for row in listed]

        count = self._count(owner, rows)
        self.primitives = tuple(
            Relation(
                _part(rows, begin, begin + MOST_ROWS),
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
        """How many rows there are: try the function where the bodies are."""
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


def _part(rows: Callable[..., list[Jet]], begin: int, end: int) -> Any:
    def part(*arguments: Any) -> list[Jet]:
        """Some of the rows."""
        return rows(*arguments)[begin:end]

    return part


@dataclass(frozen=True)
class GivenRows(Relation):
    """Rows A and b that a user's function returns, or a part of them.

    Attributes
    ----------
    owner : who asks, for messages
    skipped : how many of the frames the function is not told of
    first : the first row of the part
    """

    function: Any
    owner: str = ""
    skipped: int = 0
    first: int = 0

    compilable = False

    def missing(self, order: int) -> tuple[str, str] | None:
        """Rows say what b is, and nothing of its rate."""
        return None if order < 3 else ("rows given as A and b have no derivatives", "use Implicit instead")

    def fill(self, layout: RelationLayout, resting: bool, t: Any, inputs: Any, outputs: Any) -> None:
        """Ask the function, and write its rows as those of a relation are."""
        lack = self.missing(3 if layout.gradient_order > 0 else layout.order)
        if lack is not None:
            raise InputError(f"{self.owner}: {lack[0]}: {lack[1]}")
        A, b, phi, phi_dot = self.call(layout, t, inputs)
        part = slice(self.first, self.first + layout.rows)
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
        """Differentiate what the function returns by interpolation, as it takes floats alone."""

        def filled(t: float, given: np.ndarray) -> np.ndarray:
            found = np.zeros(layout.outputs)
            self.fill(layout, False, t, given, found)
            return found

        value, derivative = in_directions(
            filled, t, [np.array([inputs[k] for k in range(layout.inputs)], dtype=object)]
        )
        outputs.values[:] = np.concatenate([value, derivative.ravel()])

    def call(self, layout: RelationLayout, t: float, inputs: np.ndarray) -> tuple[Any, ...]:
        """A (m, k, 6) over velocities and angular velocities in N, b, and Phi and Phi_dot (m,) or None for both."""
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


def _checked(where: str, what: str, value: Any, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """Return a number or a list of them as an array (m,)."""
    given = validate.numbers(value)
    if given is None:
        raise InputError(f"{where}: {what} must be a number for each row; got {value!r}")
    listed = np.atleast_1d(given)
    return validate.array(where, what, listed, listed.shape[:1] if shape is None else shape)


class CustomRows(OfBodies):
    """Rows A and b given as functions of the state and time.

    Parameters
    ----------
    name : str
    bodies : Body or list of k bodies
        The load is that on the second of them, or on the only one, at its center of mass.
    rows : function
        ``rows(t, position, orientation, velocity, angular_velocity)`` of these bodies, (k, 3) and (k, 4) arrays,
        returns A and b, and if it knows them Phi and its rate, which are then kept at zero. A (m, 6 k) is over
        (v_0', omega_0', v_1', ...) with v in N and omega in body axes, or (m, 7 k) over (r_0'', q_0'', ...) as in
        `System.constraint_rows`.
    units : "force" or "torque"
        What the multipliers are.

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
                      skipped=skipped, first=k, of_velocities=phi is None, source=rows)
            for k in parts
        )  # fmt: skip
