"""Pictures of a result with matplotlib; they work without a display."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from . import validate
from .dynamics.sparse.host.derivatives import highest_order
from .errors import InputError
from .figures import drawing, finish, shown
from .plot_ghosts import checked_times, draw_ghosts
from .plot_group import draw_centre_of_mass, draw_momentum
from .plot_paths import checked_paths, checked_points, coordinates, draw_paths
from .plot_power import draw_balance, draw_power
from .result import BodyView, JointView, Result
from .views import PlanarBodyView

LETTERS = "xyz"
# Components slower than this part of the fastest one are round-off, too.
UNMOVED = 1e-9
ORDERS = (
    ("position", "m"),
    ("velocity", "m/s"),
    ("acceleration", "m/s$^2$"),
    ("jerk", "m/s$^3$"),
    ("snap", "m/s$^4$"),
)


class Plotter:
    """Pictures of one result; every method returns a matplotlib figure and, given `path`, saves it there.

    A figure that was saved is closed: `matplotlib.pyplot` shows those alone that were not.

    Calling the plotter itself draws an overview: energies, residuals, positions and joint loads.
    """

    def __init__(self, result: Result) -> None:
        self.result = result

    def __call__(self, path: str | Path | None = None) -> Figure:
        """Draw an overview of the whole run."""
        with drawing("plot", path, (11, 7)) as figure:
            axes = figure.subplots(2, 2)
            self._draw_energy(axes[0, 0])
            self._draw_residuals(axes[0, 1])
            for body in self.result.system.bodies:
                moved = self.result[body.name].position - self.result[body.name].position[0]
                axes[1, 0].plot(self.result.time, np.linalg.norm(moved, axis=1), label=shown(body.name))
            finish(axes[1, 0], "displacement of the centres of mass", "m")
            for constraint in self.result.loaded:
                force = np.linalg.norm(self.result[constraint.name].force(), axis=1)
                axes[1, 1].plot(self.result.time, force, label=shown(constraint.name))
            finish(axes[1, 1], "joint forces", "N")
        return figure

    def motion(self, body: str, *, path: str | Path | None = None) -> Figure:
        """Draw position, velocity, orientation and angular velocity of a body over time."""
        view = self._view(body, BodyView, "plot.motion", "a body")
        with drawing("plot.motion", path, (11, 7)) as figure:
            axes = figure.subplots(2, 2, sharex=True)
            figure.suptitle(shown(body))
            for ax, values, letters, title, unit in (
                (axes[0, 0], view.position, LETTERS, "position, inertial axes", "m"),
                (axes[0, 1], view.velocity, LETTERS, "velocity, inertial axes", "m/s"),
                (axes[1, 0], view.orientation, "wxyz", "orientation (quaternion)", ""),
                (axes[1, 1], view.angular_velocity, LETTERS, "angular velocity, body axes", "rad/s"),
            ):
                self._components(ax, values, letters)
                finish(ax, title, unit)
        return figure

    def joint(self, joint: str, *, path: str | Path | None = None) -> Figure:
        """Draw a joint's relative displacement and rotation and their rates, in joint frame i, over time."""
        view = self._view(joint, JointView, "plot.joint", "a joint")
        with drawing("plot.joint", path, (11, 7)) as figure:
            axes = figure.subplots(2, 2, sharex=True)
            figure.suptitle(f"{shown(joint)}: frame j from frame i, in the axes of joint frame i (z is the joint axis)")
            for ax, values, title, unit in (
                (axes[0, 0], view.displacement, "displacement", "m"),
                (axes[0, 1], view.velocity, "rate of displacement", "m/s"),
                (axes[1, 0], view.rotation, "1-2-3 angles", "rad"),
                (axes[1, 1], view.angular_velocity, "relative angular velocity", "rad/s"),
            ):
                self._components(ax, values, LETTERS)
                finish(ax, title, unit)
        return figure

    def energy(self, *, path: str | Path | None = None) -> Figure:
        """Draw kinetic, potential and total energy over time."""
        with drawing("plot.energy", path, (7, 4.5)) as figure:
            self._draw_energy(figure.subplots())
        return figure

    def power(self, *, path: str | Path | None = None) -> Figure:
        """Draw the power of all that does work, by name, and what forces have dissipated, over time.

        That is `result.power`: of gravity, forces, and constraints that do work, such as drivers. Of more than ten, all
        but the nine that reach the largest are drawn as their sum.
        """
        with drawing("plot.power", path, (9, 7)) as figure:
            draw_power(figure, self.result)
        return figure

    def balance(self, *, path: str | Path | None = None) -> Figure:
        """Draw where energy has come from and gone to since the start, and what is missing, over time.

        Kinetic and potential energy and what forces have dissipated grow by what constraints, such as drivers, put in.
        What is missing is `result.power.balance`: errors of the integration, or of the work, which is found from the
        powers at the times of output and is uncertain by `result.power.uncertainty`.
        """
        with drawing("plot.balance", path, (9, 7)) as figure:
            draw_balance(figure, self.result)
        return figure

    def momentum(self, bodies: Any = None, about: Any = None, *, path: str | Path | None = None) -> Figure:
        """Draw linear and angular momentum of some of the bodies, by default of all, over time.

        `about` is a point (3,) in N, m, by default their centre of mass; see `Result.momentum_of`.
        """
        with drawing("plot.momentum", path, (9, 7)) as figure:
            draw_momentum(figure, self.result, bodies, about)
        return figure

    def centre_of_mass(self, bodies: Any = None, *, path: str | Path | None = None) -> Figure:
        """Draw position, velocity and acceleration of the centre of mass of some bodies, by default of all."""
        with drawing("plot.centre_of_mass", path, (9, 9)) as figure:
            draw_centre_of_mass(figure, self.result, bodies)
        return figure

    def residuals(self, *, path: str | Path | None = None) -> Figure:
        """Draw the largest constraint residuals over time."""
        with drawing("plot.residuals", path, (7, 4.5)) as figure:
            self._draw_residuals(figure.subplots())
        return figure

    def loads(self, joint: str, frame: str = "inertial", *, path: str | Path | None = None) -> Figure:
        """Draw force and torque on body j by body i over time, in N or in the axes of body "i" or "j"."""
        view = self._view(joint, JointView, "plot.loads", "a joint")
        constraint = view.constraint
        bodies = {"i": shown(constraint.body_i.name), "j": shown(constraint.body_j.name)}
        axes_of = f"axes of {bodies[frame]}" if frame in bodies else "inertial axes"
        with drawing("plot.loads", path, (7, 7)) as figure:
            both = figure.subplots(2, 1, sharex=True)
            for ax, what, values, unit in zip(
                both, ("force", "torque"), (view.force(frame), view.torque(frame)), ("N", "N m"), strict=True
            ):
                self._components(ax, values, LETTERS)
                finish(ax, f"{shown(joint)}: {what} on {bodies['j']} by {bodies['i']}, {axes_of}", unit)
        return figure

    def derivatives(
        self,
        body: str,
        point: Any = (0, 0, 0),
        *,
        over: tuple[str, Any] | None = None,
        path: str | Path | None = None,
    ) -> Figure:
        """Draw position, velocity, acceleration, jerk and snap of a body point, one below the other.

        Along the axes of N, or for a planar body along those of its plane; components that do not move are left out.

        Parameters
        ----------
        point : (3,)
            In body coordinates, m; default: the centre of mass.
        over : (label, values (nt,)), optional
            What stands on the horizontal axis instead of time, such as ("crank angle (deg)", angles).
        """
        owner = "plot.derivatives"
        view = self._view(body, BodyView, owner, "a body")
        ((_, local),) = checked_points(owner, "point", [(body, point)])
        label, values = ("time (s)", self.result.time) if over is None else self._horizontal(owner, over)
        along = view.in_plane.path(local[:2]) if isinstance(view, PlanarBodyView) else view.path(local)
        fastest = np.abs(along.velocity).max(axis=0)
        moving = np.flatnonzero(fastest > UNMOVED * fastest.max()) if fastest.any() else range(len(fastest))
        # Motions given without their third or fourth derivatives leave those of the point unknown.
        known = ORDERS[: highest_order(self.result.model) + 2]
        with drawing(owner, path, (7, 2 * len(known))) as figure:
            axes = figure.subplots(len(known), 1, sharex=True)
            figure.suptitle(f"{shown(body)}, point {coordinates(local)} m" if local.any() else shown(body))
            figure.align_ylabels(axes)
            for order, (ax, (title, unit)) in enumerate(zip(axes, known, strict=True)):
                derivative = along.derivative(order)
                for c in moving:
                    ax.plot(values, derivative[:, c], label=LETTERS[c] if len(moving) > 1 else None)
                if len(moving) == 1:
                    title = f"{title} along {LETTERS[moving[0]]}"
                elif order > 0:
                    ax.plot(values, np.linalg.norm(derivative, axis=1), "k--", linewidth=0.8, label="magnitude")
                if "deg" in label:
                    ax.xaxis.set_major_locator(MaxNLocator(steps=[1, 1.5, 3, 4.5, 9, 10]))  # parts of a turn
                finish(ax, title, unit, label if ax is axes[-1] else "")
        return figure

    def paths(
        self,
        points: Sequence[tuple[str, Any]] | None = None,
        *,
        color: str | None = None,
        at: float | None = None,
        path: str | Path | None = None,
    ) -> Figure:
        """Draw paths in space of body points; a motion that stays in a coordinate plane is drawn in that plane.

        Parameters
        ----------
        points : ((body name, point (3,) in body coordinates), ...)
            Default: the centres of mass.
        color : "velocity", "acceleration", "jerk" or "snap", optional
            Whose magnitude colours the paths.
        at : float, optional
            s; draws the bodies as they are at this time.
        """
        if points is None:
            points = [(body.name, (0, 0, 0)) for body in self.result.system.bodies]
        pairs = checked_paths(self.result, points, color, at)
        with drawing("plot.paths", path, (7 if color is None else 8, 7)) as figure:
            draw_paths(figure, self.result, pairs, color, at)
        return figure

    def ghosts(
        self,
        times: Sequence[float] | None = None,
        *,
        trails: Sequence[tuple[str, Any]] = (),
        view: tuple[float, float] | None = None,
        path: str | Path | None = None,
    ) -> Figure:
        """Draw the mechanism at several times in one picture, the earlier the fainter.

        A motion that stays in a coordinate plane is drawn in that plane.

        Parameters
        ----------
        times : s; default: six from the start to the end
        trails : ((body name, point (3,) in body coordinates), ...)
            Points whose paths from the first to the last of these times are drawn.
        view : (elevation, azimuth), degrees, optional
            From where it is seen in space, as in `result.animate`.
        """
        owner = "plot.ghosts"
        when, points = checked_times(self.result, times), checked_points(owner, "trails", trails)
        for name, _ in points:
            self._view(name, BodyView, owner, "a body")
        seen = None if view is None else validate.array(owner, "view", view, (2,))
        with drawing(owner, path, (8, 7)) as figure:
            draw_ghosts(figure, self.result, when, points, None if seen is None else (float(seen[0]), float(seen[1])))
        return figure

    def _view(self, name: str, kind: type, method: str, what: str) -> Any:
        view = self.result[name]
        if not isinstance(view, kind):
            raise InputError(f'{method}: "{name}" must be the name of {what}; got {view.of}')
        return view

    def _horizontal(self, owner: str, over: Any) -> tuple[str, np.ndarray]:
        if not isinstance(over, tuple) or len(over) != 2 or not isinstance(over[0], str):
            raise InputError(
                f'{owner}: over must be a label with values (nt,), such as ("crank angle (deg)", angles); got {over!r}'
            )
        return over[0], validate.array(owner, "values of over", over[1], self.result.time.shape)

    def _draw_energy(self, ax: Axes) -> None:
        energy = self.result.energy
        for label in ("kinetic", "potential", "total"):
            ax.plot(self.result.time, getattr(energy, label), label=label)
        finish(ax, "energy", "J")

    def _draw_residuals(self, ax: Axes) -> None:
        residual = self.result.residual
        for values, label in ((residual.position, "position level"), (residual.velocity, "velocity level")):
            # Exact zeros have no place on a logarithmic axis.
            ax.semilogy(self.result.time, np.where(values > 0, values, np.nan), ".", markersize=2,
                        label=label)  # fmt: skip
        ax.set_ylim(1e-18, max(1e-12, 10 * residual.position.max(), 10 * residual.velocity.max()))
        finish(ax, "largest constraint residual", "m, rad and their rates")

    def _components(self, ax: Axes, values: np.ndarray, letters: str) -> None:
        for column, letter in enumerate(letters):
            ax.plot(self.result.time, values[:, column], label=letter)
