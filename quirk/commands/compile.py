"""`quirk compile`: ahead-of-time compilation of all kernels."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import QuirkError
from ..util.cores import available_cores

if TYPE_CHECKING:
    from ..system.system import System

# Computations that use the kernels. Each process does several of them, because it then shares compiled code. An entry
# needed by several processes is compiled by one of them, while the others wait.
WORK = (
    "runs", "sensitivities", "sensitivities of stiff runs", "stiff runs with events", "gradients", "kinematics",
    "runs by Taylor series with events", "stiff runs by Rodas5P with events", "events", "stiff runs",
    "runs by Taylor series", "rows", "stiff runs by Rodas5P", "runs by SciPy", "batches", "observations",
    "contacts", "loads of sensitivities",
)  # fmt: skip
START = "import sys; from quirk.commands.compile import need; [need(work) for work in sys.argv[1:]]"


def command(options: argparse.Namespace) -> str:
    """Compile all kernels in several processes, and return "completed"."""
    from ..jit.compilation import plain_python
    from ..util import validate

    if plain_python():
        raise QuirkError("NUMBA_DISABLE_JIT is set, so that kernels run as plain Python: there is nothing to compile")
    count = available_cores()
    if options.workers is not None:
        count = validate.whole("compile", "--workers", options.workers)
    began, shares = time.perf_counter(), [WORK[k::count] for k in range(min(count, len(WORK)))]
    running: dict[tuple[str, ...], subprocess.Popen[bytes]] = {}
    try:
        for share in shares:
            running[share] = subprocess.Popen([sys.executable, "-c", START, *share])
        while running:
            for share, process in list(running.items()):
                if process.poll() is not None:
                    del running[share]
                    if process.returncode:
                        raise QuirkError(f"compilation for {', '.join(share)} failed; see above")
            time.sleep(0.05)
    finally:
        for process in running.values():
            process.kill()
    print(f"all kernels are compiled, after {time.perf_counter() - began:.1f} s")
    return "completed"


def need(work: str) -> None:
    """Run a short simulation or analysis, so that one group of kernels is compiled.

    `work` is the name of the group in WORK.
    """
    import quirk

    rod = quirk.Body.box("rod", mass=1.0, size=[1.0, 0.05, 0.05], position=[0.5, 0, 0])
    hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0])
    system = quirk.System([rod, hinge], gravity=[0, 0, -9.81])
    if work == "kinematics":
        drive = quirk.Drive("drive", hinge, quirk.Motion.constant_rate(1.0))
        motion = quirk.kinematics(system.with_parts(drive), [0.0, 0.01])
        motion["rod"].jerk  # noqa: B018
    elif work == "rows":
        system.acceleration(system.initial_state(), solver="dense")
    elif work == "batches":
        quirk.Batch(system, 8, method="RK4", step=0.01).advance(0.01)
    elif work == "observations":
        run = quirk.Run(system.with_parts(quirk.JointTorque("motor", hinge, 1.0)))
        for name in ("hinge.angle", "motor.torque.y"):
            run.observe([name])()
    elif work == "contacts":
        quirk.simulate(_resting_box(), 0.01, output=0.01)
    elif work == "loads of sensitivities":
        door = system.with_parts(quirk.Revolute("second", quirk.GROUND, rod, point=[0, 1, 0], axis=[0, 1, 0]))
        result = quirk.simulate(door, 0.01, output=0.01, sensitivities=[("rod", "mass")])
        result.sensitivity[("rod", "mass")]["second"].force()
    else:
        quirk.simulate(system, 0.01, output=0.01, **_options(work))


def _resting_box() -> System:
    """Return a box at rest on a plane, with a horizontal force slightly below the limit of dry friction.

    The box contacts the plane at the four corners of its bottom face.
    """
    import quirk

    box = quirk.Body.box("box", 1.0, [0.4, 0.3, 0.2], position=[0, 0, 0.1])
    floor = quirk.surface.plane([0, 0, 0], [0, 0, 1])
    parts: list[Any] = [box]
    for k, (x, y) in enumerate(((0.2, 0.15), (-0.2, 0.15), (-0.2, -0.15), (0.2, -0.15))):
        corner = quirk.surface.point([x, y, -0.1])
        parts.append(quirk.Contact(f"corner{k}", quirk.GROUND, box, on_i=floor, on_j=corner))
        parts.append(quirk.Friction(f"friction{k}", parts[-1], 0.5))
    return quirk.System([*parts, quirk.Force("push", box, [4.0, 0, 0])], gravity=[0, 0, -9.81])


def _options(work: str) -> dict[str, Any]:
    """Return the options of `simulate` for which the kernels of the group `work` are compiled."""
    import quirk

    found: dict[str, Any] = {}
    if "stiff" in work:
        found["method"] = "Rodas5P" if "Rodas5P" in work else "RadauIIA9"
    if "Taylor" in work or "SciPy" in work:
        found["method"] = "Taylor" if "Taylor" in work else "Radau"
    if "events" in work:
        found["events"] = [quirk.Event("level", "hinge.rotation", action="record")]
    if "sensitivities" in work:
        found["sensitivities"] = ["gravity"]
    if "gradients" in work:
        found |= {"sensitivities": ["gravity"], "objective": quirk.Objective(["rod.position.z"], _sum)}
    return found


def _sum(values: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the sum of `values` and its gradient; it is the objective of a run with adjoint sensitivities."""
    return float(values.sum()), np.ones_like(values)
