"""Methods of a result for plots, animations and files."""

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
    """Base class of `Result` with its methods for plots, animations and files.

    Libraries are imported by each method when it is called.
    """

    @property
    def _as_result(self) -> Result:
        return cast("Result", self)

    @property
    def plot(self) -> Plotter:
        """Plots of this result: `result.plot()` draws an overview, `result.plot.energy()` the energies, and so on."""
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

        Bodies are drawn with their shapes, and wheels, gears, pinions and sheaves with the geometry of their
        constraints. Unbounded planes of rolling or contact fill the image; rectangles, disks and bowls are drawn to
        scale.

        Parameters
        ----------
        path : ".gif" or ".mp4"
            MP4 requires the program ffmpeg.
        fps : int
            Frames per second.
        speed : float
            Playback speed: 2 is twice real time.
        view : (elevation, azimuth), degrees
            Direction of view, as in matplotlib's `view_init`. The vertical is the coordinate axis along which gravity
            acts: with z up, azimuth 0 looks from +x and -90 from -y; with y up, azimuth 0 looks from +z. Default: a
            direction that shows most of the motion. The projection is orthographic.
        trails : ((body name, point), ...)
            Points whose paths are drawn; a point is (3,), m, in body coordinates, or the name of a frame of the body.
        size : float
            Width and height, inches (at 100 dots per inch).
        follow : str, optional
            Name of a body that stays in the center, with the bodies joined to it in view; or "ground" for a fixed view.
            Default: "ground", or the center of mass of all bodies if these would fill less than a tenth of the image
            and there are no trails.

        Returns
        -------
        Path
            Path of the file.

        Raises
        ------
        InputError
            If the path is not writable, ffmpeg is missing, or there would be too few or too many frames.
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
        """Write the motion as a self-contained HTML file that any browser plays.

        Parameters
        ----------
        path : ".html" or ".htm"
        fps : float
            Frames per second of playback, at most 120.
        speed : float
            Playback speed: 2 is twice real time, 0.01 a hundredth.
        follow : str, optional
            Name of a body that stays fixed while everything else moves about it; or "ground" for a fixed view.
            Default: "ground", or the center of mass of all bodies if they move so far that they would be small.
        arrows : names of constraints and forces, or "all"
            Constraints and forces whose force and torque on body j, or on the last body, are drawn at the joint point.
        trails : names of bodies, or pairs (body name, point), with points as for `animate`
            Points whose paths are drawn; for a name alone, the center of mass of the body.
        labels : bool
            Whether names of bodies, joints and springs are shown.
        dark : bool
            Whether the page is dark.
        axes : bool
            Whether the axes of joints are shown.
        opacity : float
            Opacity of bodies; 1 hides everything behind them.
        plots : names of quantities, as for `plot.quantity`, optional
            Quantities plotted beside the view, with a cursor at the current time; () for none. Default: the angles and
            travels of the first three joints that have any, otherwise energies.

        Returns
        -------
        Path
            Path of the file.

        Raises
        ------
        InputError
            If viser is not installed, the path is not writable, a name is unknown, or there would be too many frames.
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
        """Show the motion in a browser, with a time slider, while the Python process is running.

        A click on a part shows its values.

        Parameters
        ----------
        fps, speed, follow, arrows, trails, labels, axes, opacity : as for `to_html`
        host, port : str and int
            Address of the server: "127.0.0.1" (default) accepts connections from this machine only, "0.0.0.0" from the
            network. Port 0 selects any free port.
        block : bool
            Whether to wait until the view is closed or Ctrl-C is pressed; otherwise a script closes its views at its
            end.

        Returns
        -------
        View
            Object with `url`, `close()` and `wait()`; notebooks display the view.

        Raises
        ------
        InputError
            If viser is not installed, a name is unknown, or there would be too many frames.
        """
        from ..graphics.viewer.player import view

        options: dict[str, Any] = {"arrows": arrows, "trails": trails, "labels": labels}
        options |= {"axes": axes, "opacity": opacity}
        return view(self._as_result, fps=fps, speed=speed, follow=follow, **options, host=host, port=port, block=block)

    def summary(self) -> str:
        """Return a short text summary of the system, the accuracy of the run, its events and the largest loads."""
        from .summary import summary

        return summary(self._as_result)

    def to_xarray(
        self,
        quantities: str | Iterable[str] | None = None,
        only: str | Iterable[str] | None = None,
        frame: str = "inertial",
    ) -> xarray.Dataset:
        """Return the result as an `xarray.Dataset`; variables have attributes for units and frames.

        Parameters
        ----------
        quantities : name or list of names, optional
            Groups of variables: "motion", "activity", "events", "joints", "accelerations", "loads", "forces", "energy",
            "power", "momentum", "residuals", "sensitivities", "load_sensitivities", "derivatives"; default: all but the
            last two, which are the sensitivities of accelerations and joint loads, and jerk and snap. Only selected
            groups are computed; "motion", "activity", "events", "joints", "momentum" and "sensitivities" are fast.
        only : name or list of names, optional
            Bodies, constraints and forces to include; default: all.
        frame : "inertial", "i", "j", "joint i" or "joint j"
            Frame of joint loads.

        Returns
        -------
        xarray.Dataset
            Dataset with the dimension "time", and "body", "joint", "force" and others by name. For a failed run,
            groups that cannot be computed are omitted unless requested; the attributes give the reason.

        Raises
        ------
        InputError
            If an argument is invalid, "derivatives" are unavailable for a part, or the result has no sensitivities.
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
        """Return the result as a `pandas.DataFrame`, with one column for each component and the times as index.

        Parameters
        ----------
        quantities, only, frame : as for `to_xarray`

        Returns
        -------
        pandas.DataFrame
            Columns are named "rod.position.x [m]", "hinge.force.z [N]" or "total_energy [J]"; the index is "time [s]".

        Raises
        ------
        InputError
            If an argument is invalid, or two columns would have the same name.
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
        """Write the table of `to_pandas` as a CSV file, with numbers in full precision.

        Parameters
        ----------
        path : str or Path
            Ends in ".csv".
        quantities, only, frame : as for `to_xarray`

        Returns
        -------
        Path
            Path of the file. Column names that spreadsheets would interpret as formulas are preceded by an apostrophe.

        Raises
        ------
        InputError
            If an argument is invalid, the path is not writable, or two columns would have the same name.
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
        """Write the result as an NPZ file for `numpy.load`; no optional library is required.

        Parameters
        ----------
        path : str or Path
            Ends in ".npz".
        quantities, only, frame : as for `to_xarray`

        Returns
        -------
        Path
            Path of the file. Arrays are named "rod.position [m]", "hinge.force [N]" or "total_energy [J]"; their rows
            are times, and their columns the axes x, y, z, or w, x, y, z of quaternions. Arrays of events have a row for
            each event or impulse.

        Raises
        ------
        InputError
            If an argument is invalid, the path is not writable, or two arrays would have the same name.
        """
        from ..io.resultfile.columns import to_npz

        return to_npz(self._as_result, path, quantities, only, frame)

    def at(self, t: ArrayLike, side: str = "after") -> ResampledResult:
        """Return the result interpolated at given times within the run.

        Between two outputs, poses are polynomials of degree 9 that match positions, velocities, accelerations, jerk and
        snap at both outputs, projected onto the constraints; the degree is lower if jerk or snap are not available.
        Accelerations, loads and all other quantities are computed from the equation of motion.

        Parameters
        ----------
        t : float or (nt,)
            Increasing times, s.
        side : "after" or "before"
            Which of the two states at the time of an event is returned.

        Returns
        -------
        ResampledResult
            A `Result` at these times, with its `uncertainty`.

        Raises
        ------
        InputError
            If a time is outside the run, or the outputs around it are too far apart.

        Warns
        -----
        OutputWarning
            If the outputs around a time are too far apart for accelerations and loads, as of stiff springs.
        """
        from .resampling import at

        return at(self._as_result, t, side)

    def save(self, path: str | Path, quantities: str | Iterable[str] | None = None) -> Path:
        """Write a netCDF file that `Result.load` and xarray can open.

        The file contains the variables of `to_xarray`, and in its group "run" the data from which `Result.load`
        reconstructs the result. The file is written atomically. A `SaveWarning` names parts of the system that cannot
        be saved, such as Python functions.

        Parameters
        ----------
        path : str or Path
            Ends in ".nc".
        quantities : name or list of names, optional
            Groups of variables, as for `to_xarray`; the other groups are recomputed after loading. States, events and
            their sensitivities are always written.

        Returns
        -------
        Path
            Path of the file.

        Raises
        ------
        InputError
            If the path or an argument is invalid.
        MissingLibraryError
            If xarray or netCDF4 are not installed.
        """
        from ..io.resultfile.write import save

        return save(self._as_result, path, quantities)

    @staticmethod
    def load(path: str | Path, system: System | None = None) -> Result:
        """Return a result from a file written by `Result.save`.

        Parameters
        ----------
        path : str or Path
        system : System, optional
            Required if parts of the system, such as Python functions, could not be saved: the system as constructed for
            the run. Its names, masses, inertias, gravity, frames, constraint rows and parameters are compared with the
            saved system.

        Returns
        -------
        Result
            Result with the same segments, states, events, statistics and options; derived quantities are computed on
            demand and are bitwise equal. Simulations can continue from its final state.

        Raises
        ------
        InputError
            If the file does not exist, is of another kind or damaged, or its system is not available.
        MissingLibraryError
            If xarray or netCDF4 are not installed.
        """
        from ..io.resultfile.read import load

        return load(path, system)
