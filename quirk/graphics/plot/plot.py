"""Plots of a result with matplotlib; no display is required."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Unpack

import numpy as np
from matplotlib.figure import Figure

from quirk.errors import InputError
from quirk.result.body_views import BodyView
from quirk.result.force_views import ForceView
from quirk.result.joint_views import JointView
from quirk.result.named_quantities import curve, curves, rate_of
from quirk.result.result import Result
from quirk.util import validate
from quirk.util.misuse import explained
from quirk.util.renamed import Renamed

from .body_points import checked_points
from .compare import draw_differences
from .derivatives import draw_derivatives
from .figures import Options, TimeOptions, drawing, with_options_written_out
from .ghosts import checked_times, draw_ghosts
from .groups import draw_center_of_mass, draw_momentum
from .loads import checked_loads, draw_loads
from .magnitudes import Magnitudes
from .panels import (
    draw_coordinates,
    draw_energies,
    draw_energy,
    draw_joint,
    draw_motion,
    draw_overview,
    draw_quantities,
    draw_rank,
    draw_residuals,
)
from .paths import checked_paths, draw_paths
from .phase import draw_phase
from .polar import checked_forces, draw_polar
from .power import draw_balance, draw_power
from .spectrum import draw_spectrum


@explained
@with_options_written_out
class Plotter(Renamed):
    """Plots of one result; every method returns a matplotlib figure. Calling the plotter itself draws an overview.

    All methods accept these keyword arguments:

    path : str or Path, optional
        File of the plot; the suffix determines the format. A saved figure is closed, so that `matplotlib.pyplot.show`
        displays only unsaved figures.
    ax : matplotlib Axes, or a list of Axes (row by row) for plots with several axes; optional
        Axes to draw on instead of a new figure.
    size : (width, height), optional
        Size of a new figure, inches.
    style : optional
        "paper" for a figure as wide as one column of a paper, the name of a matplotlib style, a dictionary of settings
        such as {"font.size": 8}, or a list of names and dictionaries.
    events : bool
        For plots over time, phase portraits and paths: whether to mark events. Default: False for paths, otherwise
        True.

    If there are many curves, only the curves with the largest values are named; the others are drawn as a band. Curves
    that are zero up to round-off are marked in the legend; if all curves are zero, the axes are lower and state this.
    """

    _earlier_names: ClassVar = {"centre_of_mass": "center_of_mass"}

    def __init__(self, result: Result) -> None:
        self.result = result

    def __call__(self, path: Any = None, **options: Any) -> Figure:
        """Draw an overview of the run in four axes: energies, residuals, displacements and joint forces."""
        with self._over_time("plot", (11, 7), {**options, "path": path}) as sheet:
            draw_overview(sheet, self.result)
        return sheet.figure

    def motion(self, body: str, **options: Unpack[TimeOptions]) -> Figure:
        """Draw position, velocity, orientation and angular velocity of a body over time, on four axes."""
        view = self._view(body, BodyView, "plot.motion", "a body")
        with self._over_time("plot.motion", (11, 7), options) as sheet:
            draw_motion(sheet, self.result, body, view)
        return sheet.figure

    def joint(self, joint: str, **options: Unpack[TimeOptions]) -> Figure:
        """Draw displacement and rotation of a joint and their rates over time, on four axes.

        Components are in the axes of joint frame i.
        """
        view = self._view(joint, JointView, "plot.joint", "a joint")
        with self._over_time("plot.joint", (11, 7), options) as sheet:
            draw_joint(sheet, self.result, joint, view)
        return sheet.figure

    def coordinates(self, joints: Any = None, **options: Unpack[TimeOptions]) -> Figure:
        """Draw the free angle or travel of joints over time, and their rates below.

        The figure has two axes, or four if there are both angles and travels. `joints` is a name or a list of names;
        default: all joints with a free rotation or translation.
        """
        with self._over_time("plot.coordinates", (9, 7), options) as sheet:
            draw_coordinates(sheet, self.result, "plot.coordinates", joints)
        return sheet.figure

    def quantity(self, *what: Any, **options: Unpack[TimeOptions]) -> Figure:
        """Draw quantities over time, in separate axes for each unit.

        A quantity is a name, such as "rod.position.x", "hinge.angle", "hinge.angle.deg", "hinge.force",
        "rod.euler_zxz.deg" or "energy.kinetic", or a tuple (label, values) or (label, values, unit) with values (nt,).
        All names are listed at `quirk.result.named_quantities.curve`.
        """
        drawn = [one for each in what for one in curves("plot.quantity", self.result, each)]
        if not drawn:
            raise InputError('plot.quantity: name at least one quantity, such as "hinge.angle"')
        rows = len({one.unit for one in drawn})
        with self._over_time("plot.quantity", (8, 1.5 + 3 * rows), options) as sheet:
            draw_quantities(sheet, self.result, drawn)
        return sheet.figure

    def phase(self, what: Any, y: Any = None, **options: Unpack[TimeOptions]) -> Figure:
        """Draw a phase portrait: a quantity on the horizontal axis, and its rate or `y` on the vertical axis.

        Quantities are specified as for `quantity`. A ring marks the start.
        """
        owner = "plot.phase"
        along = curve(owner, self.result, what)
        across = curve(owner, self.result, rate_of(owner, self.result, what) if y is None else y)
        with self._over_time(owner, (7, 6), options) as sheet:
            draw_phase(sheet, self.result, along, across)
        return sheet.figure

    def spectrum(self, *what: Any, window: str = "hann", **options: Unpack[Options]) -> Figure:
        """Draw the amplitude spectra of quantities over frequency, Hz, in the units of the quantities.

        The peak of a sinusoid has the height of its amplitude. The mean is removed; unequally spaced times are
        resampled by cubic splines between events, at the same number of times.

        Parameters
        ----------
        what : quantities, as for `quantity`
        window : name of a window of scipy.signal, such as "hann", "flattop" for accurate peak heights, or "boxcar" for
            no window
        """
        owner = "plot.spectrum"
        drawn = [one for each in what for one in curves(owner, self.result, each)]
        with drawing(owner, (8, 5), options, magnitudes=Magnitudes(self.result)) as sheet:
            draw_spectrum(sheet, self.result, drawn, window)
        return sheet.figure

    def energy(self, **options: Unpack[TimeOptions]) -> Figure:
        """Draw kinetic, potential and total energy over time."""
        with self._over_time("plot.energy", (7, 4.5), options) as sheet:
            draw_energy(sheet, sheet.axes()[0], self.result)
        return sheet.figure

    def energies(self, **options: Unpack[TimeOptions]) -> Figure:
        """Draw kinetic energy by body, and potential energy by force and of gravity, over time, on two axes."""
        with self._over_time("plot.energies", (9, 7), options) as sheet:
            draw_energies(sheet, self.result)
        return sheet.figure

    def power(self, **options: Unpack[TimeOptions]) -> Figure:
        """Draw the power of each force and constraint, and the energy dissipated by forces, over time, on two axes.

        The dissipated energy is the mechanical energy removed by force elements and not stored, less the work of
        motors. The values are those of `result.power`: power of gravity, of forces, and of constraints that do work,
        such as drivers. If there are more than ten curves, all except the nine largest are summed.
        """
        with self._over_time("plot.power", (9, 7), options) as sheet:
            draw_power(sheet, self.result)
        return sheet.figure

    def balance(self, **options: Unpack[TimeOptions]) -> Figure:
        """Draw energies and work since the start, and the error of their balance, over time, on two axes.

        The sum of kinetic energy, potential energy and dissipated energy increases by the work of drivers and other
        constraints, motors, controllers, thrusters, and loads given as `Force` or `Torque`. The error is
        `result.power.balance`. It is the sum of the integration error and the error of the work, which is computed from
        the power at output times; `result.power.uncertainty` estimates the error of the work.
        """
        with self._over_time("plot.balance", (9, 7), options) as sheet:
            draw_balance(sheet, self.result)
        return sheet.figure

    def momentum(self, bodies: Any = None, about: Any = None, **options: Unpack[TimeOptions]) -> Figure:
        """Draw linear and angular momentum of several bodies, by default all, over time, on two axes.

        `about` is a point (3,), m, inertial frame, by default the center of mass of these bodies; see
        `Result.momentum_of`.
        """
        with self._over_time("plot.momentum", (9, 7), options) as sheet:
            draw_momentum(sheet, self.result, bodies, about)
        return sheet.figure

    def center_of_mass(self, bodies: Any = None, **options: Unpack[TimeOptions]) -> Figure:
        """Draw position, velocity and acceleration of the center of mass of several or all bodies, on three axes."""
        with self._over_time("plot.center_of_mass", (9, 9), options) as sheet:
            draw_center_of_mass(sheet, self.result, bodies)
        return sheet.figure

    def residuals(self, **options: Unpack[TimeOptions]) -> Figure:
        """Draw the largest constraint residuals over time."""
        with self._over_time("plot.residuals", (7, 4.5), options) as sheet:
            draw_residuals(sheet, sheet.axes()[0], self.result)
        return sheet.figure

    def rank(self, **options: Unpack[TimeOptions]) -> Figure:
        """Draw the numbers of constraint rows and of independent rows, and the smallest singular value, over time.

        For more than 500 rows the lower axes are empty, and the rank is the one determined during the run; see
        `Result.health` for the quantities.
        """
        with self._over_time("plot.rank", (8, 6), options) as sheet:
            draw_rank(sheet, self.result)
        return sheet.figure

    def loads(
        self, joint: Any = None, frame: str = "inertial", *, components: Any = None, **options: Unpack[TimeOptions]
    ) -> Figure:
        """Draw force and torque of joints or forces on their body j over time, on two axes.

        Parameters
        ----------
        joint : name of a joint or a force, or a list of names; default: all joints
        frame : "inertial", "i", "j", "joint i" or "joint j"
            Axes of the components.
        components : list with some of "x", "y", "z" and "magnitude"
            Default: x, y and z for a single joint, the magnitude for several joints.
        """
        owner = "plot.loads"
        views = [self._view(name, (JointView, ForceView), owner, "a joint") for name in self._names(joint)]
        parts = checked_loads(owner, views, frame, components)
        with self._over_time(owner, (8, 7), options) as sheet:
            draw_loads(sheet, self.result, views, frame, parts)
        return sheet.figure

    def polar(
        self,
        joint: Any,
        frame: str = "j",
        *,
        on: str = "j",
        plane: str | None = None,
        color: Any = None,
        **options: Unpack[Options],
    ) -> Figure:
        """Draw direction and magnitude of joint forces during the run on polar axes: a bearing load diagram.

        The curve is the path of the tip of the force vector, as seen by an observer fixed to `frame`. A ring marks the
        start. A note states the magnitude of the force perpendicular to the plane.

        Parameters
        ----------
        joint : name of a joint or a force, or a list of names
        frame : "i", "j", "joint i", "joint j" or "inertial"
            Axes in which the direction is drawn; default: the axes of body j.
        on : "j" or "i"
            Body on which the force acts: the force of body i on body j, or its opposite.
        plane : "xy", "yz" or "zx", optional
            Axes of the frame at 0 and at 90 degrees; also "yx", "zy" or "xz". Default: the plane perpendicular to the
            axis with the smallest force component.
        color : a quantity as for `quantity`, optional
            Quantity that colors the curve, such as "crank pin.angle.deg"; only for a single joint.
        """
        owner = "plot.polar"
        views = [self._view(name, (JointView, ForceView), owner, "a joint") for name in self._names(joint)]
        forces, axes = checked_forces(owner, views, frame, on, plane)
        shade = None if color is None else curve(owner, self.result, color)
        with drawing(owner, (6, 6), options) as sheet:
            draw_polar(sheet, views, forces, axes, (frame, on), shade)
        return sheet.figure

    def derivatives(
        self, body: str, point: Any = (0, 0, 0), *, over: Any = None, **options: Unpack[TimeOptions]
    ) -> Figure:
        """Draw position, velocity, acceleration, jerk and snap of a body point, one below the other, on five axes.

        Components are along the inertial axes or, for a planar body, along the axes of its plane; constant components
        are omitted.

        Parameters
        ----------
        body : name of a body
        point : (3,) or str
            Point in body coordinates, m, or the name of a frame of the body; default: the center of mass.
        over : (label, values (nt,)), optional
            Quantity on the horizontal axis instead of time, such as ("crank angle (deg)", angles).
        """
        owner = "plot.derivatives"
        view = self._view(body, BodyView, owner, "a body")
        ((_, local),) = checked_points(owner, "point", [(body, point)], self.result.system)
        horizontal = None if over is None else self._horizontal(owner, over)
        marked = {**options, "events": False} if over is not None else options
        with self._over_time(owner, (7, 10), marked) as sheet:
            draw_derivatives(sheet, self.result, body, view, local, horizontal)
        return sheet.figure

    def paths(
        self,
        points: Sequence[tuple[str, Any]] | None = None,
        *,
        color: str | None = None,
        at: float | None = None,
        **options: Unpack[TimeOptions],
    ) -> Figure:
        """Draw the paths of body points in space; a planar motion in a coordinate plane is drawn in this plane.

        Parameters
        ----------
        points : ((body name, point), ...)
            A point is (3,), m, in body coordinates, or the name of a frame of the body. In the legend a point has the
            name of a frame or joint at its position. Default: the centers of mass of the bodies that move farthest.
        color : "velocity", "acceleration", "jerk" or "snap", optional
            Quantity whose magnitude colors the paths.
        at : float, optional
            Time, s, at which the bodies are drawn.
        """
        pairs, others = checked_paths(self.result, points, color, at)
        given = options if options.get("events") is not None else {**options, "events": False}
        with self._over_time("plot.paths", (7 if color is None else 8, 7), given) as sheet:
            draw_paths(sheet, self.result, pairs, color, at, others)
        return sheet.figure

    def ghosts(
        self,
        times: Sequence[float] | None = None,
        *,
        trails: Sequence[tuple[str, Any]] = (),
        view: tuple[float, float] | None = None,
        **options: Unpack[Options],
    ) -> Figure:
        """Draw the mechanism at several times in one plot, earlier times fainter.

        A planar motion in a coordinate plane is drawn in this plane.

        Parameters
        ----------
        times : list of times, s; default: six from the start to the end
        trails : ((body name, point), ...)
            Points, as for `paths`, whose paths from the first to the last of these times are drawn.
        view : (elevation, azimuth), degrees, optional
            Viewing direction in space, as in `result.animate`.
        """
        owner = "plot.ghosts"
        when, points = checked_times(self.result, times), checked_points(owner, "trails", trails, self.result.system)
        seen = None if view is None else validate.array(owner, "view", view, (2,))
        with drawing(owner, (8, 7), options) as sheet:
            draw_ghosts(sheet, self.result, when, points, None if seen is None else (float(seen[0]), float(seen[1])))
        return sheet.figure

    def compare(self, other: Result, names: Any = None, **options: Unpack[TimeOptions]) -> Figure:
        """Draw the differences from another result over time, on three axes: position, orientation and joint forces.

        Differences are drawn at the output times of this result within the time range of both runs. The other result is
        interpolated, motion by cubic and forces by linear interpolation. The axes are logarithmic, so zero differences
        are not drawn.

        Parameters
        ----------
        other : a result of a system with some bodies of the same names
        names : name or list of names of bodies and joints that exist in both; default: all of them
        """
        with self._over_time("plot.compare", (9, 9), options) as sheet:
            draw_differences(sheet, self.result, other, names)
        return sheet.figure

    def _over_time(self, owner: str, size: tuple[float, float], options: Any) -> Any:
        return drawing(owner, size, options, self.result.events, Magnitudes(self.result))

    def _names(self, names: Any) -> list[Any]:
        if names is None:
            return [constraint.name for constraint in self.result._loaded]
        return [names] if isinstance(names, str) else list(names)

    def _view(self, name: str, kind: type | tuple[type, ...], method: str, what: str) -> Any:
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
