"""Export of a system as a functional mock-up unit (FMU) for co-simulation."""

from __future__ import annotations

import hashlib
import keyword
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from quirk.errors import InputError
from quirk.simulation.run import Run
from quirk.system.system import System
from quirk.util import validate
from quirk.util.misuse import explained
from quirk.util.output import atomic_output

from ..modelfile import text_of
from .interface import Interface
from .scripts import FMI_2, FMI_3

OWNER = "export_fmu"
# For each version of FMI: package that builds and runs FMUs, script, and option that allows masters to restore states.
VERSIONS = {
    2: ("pythonfmu", FMI_2, "canGetAndSetFMUstate"),
    3: ("pythonfmu3", FMI_3, "canGetAndSetFMUState"),
}


@explained
def export_fmu(
    path: str | Path,
    system: System,
    *,
    inputs: Iterable[str] = (),
    outputs: Iterable[str] = (),
    fmi_version: int = 2,
    method: str = "auto",
    rtol: float | None = None,
    atol: float | None = None,
    step: float | None = None,
    max_step: float | None = None,
    communication_step: float | None = None,
) -> None:
    """Write a system as a functional mock-up unit (FMU) for co-simulation, FMI 2.0 or 3.0; see docs/fmu.md.

    This function requires ``pip install "quirk-dynamics[fmi]"``. The FMU contains the system as a model file. It runs
    `quirk.Run` in the Python environment of the importing program, where QuIRK must be installed.

    Parameters
    ----------
    path : name of the file, ".fmu"
    system : System
    inputs : list of str
        Force elements whose value is an input, as for `Run`. A `Force` or `Torque` has three inputs, such as
        "push.x", "push.y" and "push.z"; a `ComputedTorque` has one for each joint, such as "control.hinge".
    outputs : list of str
        Quantities, as for `Run.observe`, such as "hinge.angle" and "rod.position.x", in SI units and rad.
    fmi_version : 2 or 3
    method, rtol, atol, step, max_step
        As for `simulate`. A tolerance set by the master (FMI 2.0) replaces `rtol`.
    communication_step : float, optional
        Default communication interval, s, stated in the model description. The steps of the method do not depend on it.

    Raises
    ------
    InputError
        If an argument cannot be used, the system cannot be written to a model file, or the package that writes the FMU
        is not installed.
    WriteError
        If the file cannot be written.

    Examples
    --------
    >>> rod = quirk.Body.box("rod", mass=1.0, size=[1.0, 0.1, 0.1], position=[0.5, 0, 0])
    >>> hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis="y")
    >>> system = quirk.System([rod, hinge, quirk.JointTorque("motor", hinge, 0.0)], gravity=[0, 0, -9.81])
    >>> quirk.export_fmu("pendulum.fmu", system, inputs=["motor"], outputs=["hinge.angle"])
    """
    if not isinstance(system, System):
        raise InputError(f"{OWNER}: system must be a quirk.System; got {system!r}")
    place = validate.output_file(OWNER, path, (".fmu",))
    version = int(validate.choice(OWNER, "fmi_version", f"{fmi_version}".removesuffix(".0"), ("2", "3")))
    if communication_step is not None:
        communication_step = validate.positive(OWNER, "communication_step", communication_step)
    options = {"method": method, "rtol": rtol, "atol": atol, "step": step, "max_step": max_step}
    run = Run(system, inputs=inputs, **options)  # type: ignore[arg-type]
    listed = _listed_outputs(run, outputs)
    if "time" in (*run.inputs, *listed):
        raise InputError(f'{OWNER}: a variable cannot be called "time", which masters know: omit or rename it')
    interface = Interface(list(run.inputs), listed, options, communication_step)
    files = {"system.toml": text_of(system), "interface.json": interface.text, "requirements.txt": "quirk-dynamics\n"}
    builder = _builder(version)
    with TemporaryDirectory(prefix="quirk_fmu_") as folder, atomic_output(OWNER, place) as aside:
        aside.write_bytes(_built(builder, version, _identifier(place.stem), files, Path(folder)))


def _listed_outputs(run: Run, outputs: Any) -> list[str]:
    """Return the names of the outputs as a list, or raise an InputError if one is unknown."""
    listed: list[Any] = (
        [outputs] if isinstance(outputs, str) else list(outputs) if isinstance(outputs, Iterable) else [None]
    )
    if not all(isinstance(name, str) for name in listed):
        raise InputError(f'{OWNER}: outputs must be a list of quantities such as "hinge.angle"; got {outputs!r}')
    if len({*listed}) < len(listed):
        raise InputError(f"{OWNER}: outputs names a quantity twice: {listed}")
    if listed:
        run.observe(listed)()
    return listed


def _builder(version: int) -> Any:
    """Return the class that builds FMUs for a version of FMI."""
    package = VERSIONS[version][0]
    try:
        return import_module(f"{package}.builder").FmuBuilder
    except ImportError:
        raise InputError(
            f'{OWNER}: FMI {version}.0 needs {package}, which is not installed: pip install "quirk-dynamics[fmi]"'
        ) from None


def _identifier(stem: str) -> str:
    """Return the model identifier of an FMU from the stem of its file name."""
    name = re.sub(r"\W", "_", stem, flags=re.ASCII)
    return f"model_{name}" if not name[:1].isalpha() or keyword.iskeyword(name) else name


def _built(builder: Any, version: int, name: str, files: dict[str, str], folder: Path) -> bytes:
    """Return the contents of an FMU file that includes the given files as resources.

    `builder` is the class that builds FMUs, `version` the version of FMI, `name` the name of the model, and `folder` a
    folder for temporary files.
    """
    package, text, goes_back = VERSIONS[version]
    # Several FMUs may run in one process, where a name stands for one module only.
    unique = hashlib.sha256("".join([package, *files.values()]).encode()).hexdigest()[:12]
    script = folder / f"quirk_{name}_{unique}.py"
    script.write_text(text.format(name=name), encoding="utf-8")
    for file, content in files.items():
        (folder / file).write_text(content, encoding="utf-8")
    with _imports_undone(script.stem):
        built: Path = builder.build_FMU(
            script, folder / "built", [folder / file for file in files], **{goes_back: True}
        )
    return built.read_bytes()


@contextmanager
def _imports_undone(module: str) -> Iterator[None]:
    """Context manager that restores the import path at its end, and removes `module` from the imported modules."""
    before = list(sys.path)
    try:
        yield
    finally:
        sys.path[:] = before
        sys.modules.pop(module, None)
