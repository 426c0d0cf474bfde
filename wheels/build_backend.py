"""Build backend: that of setuptools, with a switch for wheels that carry machine code.

    python -m build --wheel -C machine-code=true

Such a wheel is for one version of Python, numba and llvmlite, and for processors with the instructions named in
`quirk.jit.carried`. Programs that are installed from it compile no kernels.
"""

from __future__ import annotations

import configparser
import importlib
import importlib.metadata
import json
import os
import platform
import re
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import (  # noqa: F401  (hooks that build tools call)
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
)

SWITCH = "machine-code"
ROOT = Path(__file__).parents[1]
# Versions on which machine code depends.
COMPILERS = ("numba", "llvmlite")
COMPILE = "import sys; from quirk.commands.cli import main; sys.exit(main(['compile']))"


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """Return what building a wheel needs; with machine code, also what QuIRK itself needs."""
    needed = build_meta.get_requires_for_build_wheel(_others(config_settings))
    if not _asked(config_settings):
        return needed
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg", encoding="utf-8")
    lines = settings["options"]["install_requires"].splitlines()
    return [*needed, "wheel", *(line for line in lines if line and not line.startswith("#"))]


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Any = None) -> str:
    """Write the metadata of the wheel without machine code; return the name of their folder."""
    return build_meta.prepare_metadata_for_build_wheel(metadata_directory, _others(config_settings))


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """Build a wheel, with machine code if the switch is set; return the name of its file."""
    name = build_meta.build_wheel(wheel_directory, _others(config_settings), metadata_directory)
    return _with_machine_code(Path(wheel_directory), name) if _asked(config_settings) else name


def _asked(config_settings: Any) -> bool:
    value = (config_settings or {}).get(SWITCH, "false")
    if value not in ("true", "false"):
        raise SystemExit(f"-C {SWITCH} must be true or false; got {value!r}")
    return bool(value == "true")


def _others(config_settings: Any) -> Any:
    """Return the settings without the switch, or None."""
    return {key: value for key, value in (config_settings or {}).items() if key != SWITCH} or None


def _with_machine_code(folder: Path, name: str) -> str:
    """Compile all kernels into a wheel, and replace it by one for this platform; return the name of its file."""
    with tempfile.TemporaryDirectory() as scratch:
        site = Path(scratch) / "site"
        with zipfile.ZipFile(folder / name) as wheel:
            wheel.extractall(site)
        _compile(site)
        [info] = site.glob("*.dist-info")
        _rewrite(info / "WHEEL", (r"Root-Is-Purelib: true", "Root-Is-Purelib: false"), (r"Tag: .*", f"Tag: {_tag()}"))
        pins = "\n".join(f"Requires-Dist: {name} =={importlib.metadata.version(name)}" for name in COMPILERS)
        _rewrite(info / "METADATA", (r"Requires-Dist: numba\b.*", pins))
        subprocess.run([sys.executable, "-m", "wheel", "pack", str(site), "--dest-dir", scratch], check=True)
        [made] = Path(scratch).glob("*.whl")
        (folder / name).unlink()
        (folder / made.name).write_bytes(made.read_bytes())
        return made.name


def _compile(site: Path) -> None:
    """Compile all kernels of the package in the folder `site`, and note for which processors and versions."""
    sys.path.insert(0, str(site))
    try:
        carried = importlib.import_module("quirk.jit.carried")
    finally:
        sys.path.remove(str(site))
    target = carried.TARGETS.get(platform.machine())
    if target is None:
        known = ", ".join(sorted(carried.TARGETS))
        raise SystemExit(f"-C {SWITCH}: for {platform.machine()} no processor is chosen; known: {known}")
    unset = ("NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT")
    environment = {key: value for key, value in os.environ.items() if key not in unset}
    environment |= {
        "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1", "NUMBA_CPU_NAME": target.name,
        "NUMBA_CPU_FEATURES": target.features,
    }  # fmt: skip
    subprocess.run([sys.executable, "-c", COMPILE], cwd=site, env=environment, check=True)
    for left in (*site.rglob("*.pyc"), *site.rglob("*.lock")):
        left.unlink()
    versions = {name: importlib.metadata.version(name) for name in COMPILERS}
    record = {"machine": platform.machine(), "python": sysconfig.get_python_version(), **versions}
    (site / "quirk" / "jit" / carried.RECORD.name).write_text(json.dumps(record) + "\n", encoding="utf-8")


def _tag() -> str:
    """Return the tag of the wheel: this version of Python and this platform; machine code uses no C library."""
    version = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    system = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"{version}-{version}-{system.replace('linux_', 'manylinux_2_17_')}"


def _rewrite(file: Path, *changes: tuple[str, str]) -> None:
    """Replace lines of a file; each pattern must match a line."""
    text = file.read_text(encoding="utf-8")
    for pattern, line in changes:
        text, count = re.subn(f"^{pattern}$", lambda _, line=line: line, text, flags=re.MULTILINE)
        if count == 0:
            raise SystemExit(f"{file.name} has no line {pattern!r}")
    file.write_text(text, encoding="utf-8")
