"""How a result is drawn, written to files and read again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from numpy.typing import ArrayLike

from ..util.misuse import explained

if TYPE_CHECKING:
    import pandas
    import xarray

    from ..graphics.plot.plot import Plotter
    from ..graphics.viewer.handle import View
    from ..system.system import System
    from .resampling import ResampledResult
    from .result import Result


@explained
class ResultOutput:
    """Methods of a `Result` that show it or write it; each imports what it needs when it is called."""

    @property
    def _as_result(self) -> Result:
        return cast("Result", self)

    @property
    def plot(self) -> Plotter:
        """Pictures of this result: `result.plot()` for an overview, `result.plot.energy()` and so on."""
        from ..graphics.plot.plot import Plotter

        return Plotter(self._as_result)

    def animate(
        self,
        path: str | Path,
        *,
        fps: int = 25,
        speed: float = 1.0,
        view: tuple[float, float] | None = None,
        trails: Sequence[tuple[str, ArrayLike | str]] = (),
        size: float = 5.0,
        follow: str | None = None,
    ) -> Path:
        """Write a GIF or MP4 of the motion.

        Bodies have their shapes, wheels, gears, pinions and sheaves what their constraints know of them. Planes on
        which bodies roll, or which they touch, fill the picture; rectangles, disks and bowls are drawn as they are.

        Parameters
        ----------
        path : ".gif" or ".mp4"
            MP4 needs the program ffmpeg.
        fps : int
            Pictures per second.
        speed : float
            2 shows the motion twice as fast as it is.
        view : (elevation, azimuth), degrees
            Direction of sight, as matplotlib's `view_init` counts it. The vertical is the coordinate axis along which
            gravity acts: with z up, azimuth 0 looks from +x and -90 from -y; with y up, azimuth 0 looks from +z.
            Default: one that shows most of the motion. Lengths are the same near and far.
        trails : ((body name, point), ...), a point being (3,) m in body coordinates or the name of a frame
            Points that leave a trail.
        size : float
            Width and height, inches (at 100 dots each).
        follow : str, optional
            Name of a body that stays in the middle, with what is joined to it in sight; or "ground" for a picture that
            stands still. Default: the latter, and the center of mass of all bodies where these would take less than a
            tenth of the picture, unless there are trails.

        Returns
        -------
        Path
            Where it was written.

        Raises
        ------
        InputError
            If nothing can be written there, ffmpeg is missing, there is nothing to animate, or too much.
        QuirkError
            If ffmpeg fails.
        """
        from ..graphics.animation.animate import animate

        return animate(self._as_result, path, fps=fps, speed=speed, view=view, trails=trails, size=size, follow=follow)

    def to_html(
        self,
        path: str | Path,
        *,
        fps: float = 30,
        speed: float = 1.0,
        follow: str | None = None,
        arrows: str | Iterable[str] = (),
        trails: str | Iterable[str | tuple[str, ArrayLike | str]] = (),
        labels: bool = False,
        dark: bool = False,
        axes: bool = False,
        opacity: float = 1.0,
        plots: str | Iterable[Any] | None = None,
    ) -> Path:
        """Write the motion as one HTML file that any browser plays, with nothing loaded from anywhere.

        Parameters
        ----------
        path : ".html" or ".htm"
        fps : float
            Pictures per second of watching, at most 120.
        speed : float
            2 shows the motion twice as fast as it is, 0.01 a hundred times slower.
        follow : str, optional
            Name of a body that stays where it is, while all else moves about it; or "ground" for a picture that stands
            still. Default: this, unless all bodies together go so far that they would be small; then these are
            followed.
        arrows : names of constraints and forces, or "all"
            Whose force and torque on body j, or on their last body, are drawn at the joint point.
        trails : names of bodies, or pairs (body name, point), a point as for `animate`
            Points that leave a trail; of a body alone, its center of mass.
        labels : bool
            Whether names of bodies, joints and springs are written beside them.
        dark : bool
            Whether the page around the picture is dark.
        axes : bool
            Whether the axes of joints are shown.
        opacity : float
            Of bodies: 1 hides what is behind them.
        plots : names of quantities, as for `plot.quantity`, optional
            What is plotted beside the picture, with a cursor at its time; () for nothing. Default: the angles and
            travels of the first three joints that have any, or energies.

        Returns
        -------
        Path
            Where it was written.

        Raises
        ------
        InputError
            If viser is not installed, nothing can be written there, a name is unknown, or there would be too many
            pictures.
        """
        from ..graphics.viewer.html import to_html

        options: dict[str, Any] = {"arrows": arrows, "trails": trails, "labels": labels, "dark": dark}
        options |= {"axes": axes, "opacity": opacity, "plots": plots}
        return to_html(self._as_result, path, fps=fps, speed=speed, follow=follow, **options)

    def view(
        self,
        *,
        fps: float = 30,
        speed: float = 1.0,
        follow: str | None = None,
        arrows: str | Iterable[str] = (),
        trails: str | Iterable[str | tuple[str, ArrayLike | str]] = (),
        labels: bool = False,
        axes: bool = False,
        opacity: float = 1.0,
        host: str = "127.0.0.1",
        port: int = 0,
        block: bool = False,
    ) -> View:
        """Show the motion in the browser, with a slider for the time; it goes on while Python does.

        A click on a part shows its values.

        Parameters
        ----------
        fps, speed, follow, arrows, trails, labels, axes, opacity : as for `to_html`
        host, port : str and int
            Who may look: "127.0.0.1", the default, is this machine alone, and "0.0.0.0" everyone who reaches it. Port 0
            is any that is free.
        block : bool
            Whether to wait until the view is closed or Ctrl-C is pressed: for scripts, whose views end with them.

        Returns
        -------
        View
            With `url`, `close()` and `wait()`; in a notebook it shows itself.

        Raises
        ------
        InputError
            If viser is not installed, a name is unknown, or there would be too many pictures.
        """
        from ..graphics.viewer.player import view

        options: dict[str, Any] = {"arrows": arrows, "trails": trails, "labels": labels}
        options |= {"axes": axes, "opacity": opacity}
        return view(self._as_result, fps=fps, speed=speed, follow=follow, **options, host=host, port=port, block=block)

    def summary(self) -> str:
        """Return a few lines that say what happened and how well."""
        from .summary import summary

        return summary(self._as_result)

    def to_xarray(
        self,
        quantities: str | Iterable[str] | None = None,
        only: str | Iterable[str] | None = None,
        frame: str = "inertial",
    ) -> xarray.Dataset:
        """Return the result as an `xarray.Dataset`, whose variables name their units and frames.

        Parameters
        ----------
        quantities : name or list of names, optional
            Groups of variables: "motion", "activity", "events", "joints", "accelerations", "loads", "forces", "energy",
            "power", "momentum", "residuals", "sensitivities", "load_sensitivities", "derivatives"; default: all but the
            last two, derivatives of accelerations and joint loads by parameters, and jerk and snap. Groups that are not
            listed are not computed; "motion", "activity", "events", "joints", "momentum" and "sensitivities" are cheap.
        only : name or list of names, optional
            Bodies, constraints and forces to include; default: all.
        frame : "inertial", "i", "j", "joint i" or "joint j"
            In which joint loads are given.

        Returns
        -------
        xarray.Dataset
            Of dimension "time", and "body", "joint", "force" and others by name. Where a run has failed, groups that
            cannot be computed are left out unless asked for; its attributes say why.

        Raises
        ------
        InputError
            If an argument cannot be used, "derivatives" are not known of a part, or the run has no sensitivities.
        MissingLibraryError
            If xarray is not installed.
        """
        from ..io.resultfile.dataset import to_xarray

        return to_xarray(self._as_result, quantities, only, frame)

    def to_pandas(
        self,
        quantities: str | Iterable[str] | None = None,
        only: str | Iterable[str] | None = None,
        frame: str = "inertial",
    ) -> pandas.DataFrame:
        """Return the result as a `pandas.DataFrame`, with a column for each component and the times as its index.

        Parameters
        ----------
        quantities, only, frame : as for `to_xarray`

        Returns
        -------
        pandas.DataFrame
            Columns are called "rod.position.x [m]", "hinge.force.z [N]" or "total_energy [J]"; its index is "time [s]".

        Raises
        ------
        InputError
            If an argument cannot be used, or two columns would have the same name.
        MissingLibraryError
            If pandas is not installed.
        """
        from ..io.resultfile.columns import to_pandas

        return to_pandas(self._as_result, quantities, only, frame)

    def to_csv(
        self,
        path: str | Path,
        quantities: str | Iterable[str] | None = None,
        only: str | Iterable[str] | None = None,
        frame: str = "inertial",
    ) -> Path:
        """Write the table of `to_pandas` as a CSV file; numbers are written with all their digits.

        Parameters
        ----------
        path : str or Path
            Ends in ".csv".
        quantities, only, frame : as for `to_xarray`

        Returns
        -------
        Path
            Where it was written. Names of columns that spreadsheets would take for formulas have an apostrophe before
            them.

        Raises
        ------
        InputError
            If an argument cannot be used, nothing can be written there, or two columns would have the same name.
        MissingLibraryError
            If pandas is not installed.
        """
        from ..io.resultfile.columns import to_csv

        return to_csv(self._as_result, path, quantities, only, frame)

    def to_npz(
        self,
        path: str | Path,
        quantities: str | Iterable[str] | None = None,
        only: str | Iterable[str] | None = None,
        frame: str = "inertial",
    ) -> Path:
        """Write the result as an NPZ file for `numpy.load`; it needs no further library.

        Parameters
        ----------
        path : str or Path
            Ends in ".npz".
        quantities, only, frame : as for `to_xarray`

        Returns
        -------
        Path
            Where it was written. Arrays are called "rod.position [m]", "hinge.force [N]" or "total_energy [J]"; their
            rows are times, and their columns the axes x, y, z, or w, x, y, z of quaternions. Those of events have a row
            for each event or impulse.

        Raises
        ------
        InputError
            If an argument cannot be used, nothing can be written there, or two arrays would have the same name.
        """
        from ..io.resultfile.columns import to_npz

        return to_npz(self._as_result, path, quantities, only, frame)

    def at(self, t: ArrayLike, side: str = "after") -> ResampledResult:
        """Return the run at any times between its first and its last.

        Between two outputs, bodies follow the polynomials of degree 9 through positions, velocities, accelerations,
        jerk and snap at both, moved onto the constraints; of lower degree where jerk or snap are not known.
        Accelerations, loads and all else follow from the equation of motion there.

        Parameters
        ----------
        t : float or (nt,)
            s, increasing.
        side : "after" or "before"
            Which state is meant at the time of an event, where there are two.

        Returns
        -------
        ResampledResult
            A `Result` of which the only times are these, with its `uncertainty`.

        Raises
        ------
        InputError
            If a time is outside of the run, or outputs around it are too far apart.
        """
        from .resampling import at

        return at(self._as_result, t, side)

    def save(self, path: str | Path, quantities: str | Iterable[str] | None = None) -> Path:
        """Write a netCDF file that `Result.load` and xarray open.

        The file holds the variables of `to_xarray`, and in its group "run" all that `Result.load` needs to make the
        same result again. It is written to another name and moved to its place at the end. A `SaveWarning` names parts
        of the system that cannot be written, such as functions in Python.

        Parameters
        ----------
        path : str or Path
            Ends in ".nc".
        quantities : name or list of names, optional
            Groups of variables, as for `to_xarray`; the others are computed again when the file is read with QuIRK.
            States and events are always written, and their sensitivities.

        Returns
        -------
        Path
            Where it was written.

        Raises
        ------
        InputError
            If the path or an argument cannot be used.
        MissingLibraryError
            If xarray or netCDF4 are not installed.
        """
        from ..io.resultfile.write import save

        return save(self._as_result, path, quantities)

    @staticmethod
    def load(path: str | Path, system: System | None = None) -> Result:
        """Return the result that `Result.save` has written to a file.

        Parameters
        ----------
        path : str or Path
        system : System, optional
            Needed where parts of the system, such as functions in Python, could not be written: as the script of the
            run makes it. It is compared with what was saved: names, masses, inertias, gravity, frames, rows and
            numbers.

        Returns
        -------
        Result
            With the same segments, states, events, statistics and options; what follows from them is computed when it
            is used, to the same last digit. Simulations can go on from it.

        Raises
        ------
        InputError
            If the file is not there, is no such file, is damaged, or its system is not known.
        MissingLibraryError
            If xarray or netCDF4 are not installed.
        """
        from ..io.resultfile.read import load

        return load(path, system)
