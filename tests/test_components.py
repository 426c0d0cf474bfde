"""Components: compiled once for all entries that call them, in this process and in later ones."""

import os
import subprocess
import sys

import pytest
from studies import study

from quirk.jit import compilation

COMPONENTS = '''"""A component that uses another one."""
import numpy as np
from quirk.jit.compilation import kernel
from quirk.jit.components import component

@component(effort=1)
def scale(x: np.ndarray, factor: float) -> None:
    for k in range(x.shape[0]):
        x[k] *= factor

@component(effort=1)
def halve(x: np.ndarray, times: int) -> tuple[float, int]:
    for _ in range(times):
        scale(x, 0.5)
    return x[0], times
'''
ENTRIES = '''"""Two entries that call the same components."""
import numpy as np
from components import halve, scale
from quirk.jit.compilation import entry

@entry
def quarter(x):
    return halve(x, 2)

@entry
def eighth(x):
    scale(x, 0.5)
    return halve(x, 2)
'''
# Prints the functions whose machine code is compiled, in order, and two results.
RUN = """
import sys
import numba
if len(sys.argv) > 1:
    numba.__version__ = sys.argv[1]
import numpy as np
from quirk.jit import cache
announce = cache.MachineCode._announce
def told(self):
    print("compiled", self.function.__qualname__)
    announce(self)
cache.MachineCode._announce = told
from entries import eighth, quarter
x, y = np.full(3, 8.0), np.full(3, 8.0)
print(quarter(x), x, eighth(y), y)
"""
RESULTS = "(2.0, 2) [2. 2. 2.] (1.0, 2) [1. 1. 1.]"


@pytest.fixture
def folder(tmp_path):
    """A folder with a module of components and one of entries."""
    tmp_path.chmod(0o755)
    (tmp_path / "components.py").write_text(COMPONENTS)
    (tmp_path / "entries.py").write_text(ENTRIES)
    return tmp_path


def lines(folder, *arguments):
    """Return the printed lines of a new process."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    environment.pop("NUMBA_CACHE_DIR", None)
    command = [sys.executable, "-c", RUN, *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, check=True, capture_output=True, text=True
    ).stdout.splitlines()


def test_a_component_is_compiled_once_for_all_entries(folder):
    first, second = lines(folder), lines(folder)
    assert sorted(first[:-1]) == ["compiled eighth", "compiled halve", "compiled quarter", "compiled scale"]
    assert first[-1] == RESULTS
    assert second == [RESULTS]


@pytest.mark.slow
def test_a_lost_component_is_compiled_anew_for_saved_entries(folder):
    lines(folder)
    (file,) = folder.glob("**/components.scale.*.quirk")
    file.unlink()
    assert lines(folder) == ["compiled scale", RESULTS]


def test_a_changed_component_reaches_all_entries(folder):
    lines(folder)
    path = folder / "components.py"
    path.write_text(COMPONENTS.replace("0.5", "0.25"))
    found = lines(folder)
    assert found[-1] == "(0.5, 2) [0.5 0.5 0.5] (0.25, 2) [0.25 0.25 0.25]"


@pytest.mark.parametrize("version", ["0.63.1", "0.99.0", "1.0.0rc1"])
def test_other_versions_of_numba_are_untested(version):
    assert not compilation.tested(version)


@pytest.mark.parametrize("version", study(["0.99.0", "0.63.1", "1.0.0rc1"], 1))
def test_untested_versions_of_numba_compile_by_their_own_passes(folder, version):
    assert sorted(lines(folder, version)) == [RESULTS, "compiled eighth", "compiled quarter"]
    assert lines(folder, version) == [RESULTS]


def test_versions_that_are_known():
    assert all(map(compilation.tested, ["0.64.0", "0.66.0", "0.68.1", "0.68.2rc1"]))
