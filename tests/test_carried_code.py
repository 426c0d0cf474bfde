"""Wheels that carry machine code: which processes use it, and the switch of the build."""

import importlib.util
import json
import platform
import sysconfig
from pathlib import Path

import llvmlite
import numba
import pytest

from quirk.jit import carried

ALL = dict.fromkeys((name for target in carried.TARGETS.values() for name in target.needed), True)
HERE = {
    "machine": platform.machine(), "python": sysconfig.get_python_version(), "numba": numba.__version__,
    "llvmlite": llvmlite.__version__,
}  # fmt: skip
known = pytest.mark.skipif(platform.machine() not in carried.TARGETS, reason="no wheels carry code for this machine")


@known
def test_code_of_the_same_versions_is_used_where_the_processor_has_its_instructions():
    target = carried.TARGETS[platform.machine()]
    assert carried.target_of(HERE, ALL) == target
    for name in target.needed:
        assert carried.target_of(HERE, {**ALL, name: False}) is None


@pytest.mark.parametrize("name", sorted(HERE))
def test_code_of_another_version_is_not_used(name):
    assert carried.target_of({**HERE, name: "other"}, ALL) is None


@pytest.fixture
def record(tmp_path, monkeypatch):
    """A record that fits this process, on a processor that fits."""
    file = tmp_path / "machine_code.json"
    file.write_text(json.dumps(HERE))
    monkeypatch.setattr(carried, "RECORD", file)
    monkeypatch.setattr(carried.llvm, "get_host_cpu_features", lambda: ALL)
    monkeypatch.setattr(numba.config, "CPU_NAME", None)
    monkeypatch.setattr(numba.config, "CPU_FEATURES", None)
    return file


@known
def test_the_whole_process_generates_code_for_the_target(record):
    carried.use_carried()
    target = carried.TARGETS[platform.machine()]
    assert (target.name, target.features) == (numba.config.CPU_NAME, numba.config.CPU_FEATURES)


def test_a_processor_that_the_user_names_is_kept(record, monkeypatch):
    monkeypatch.setattr(numba.config, "CPU_NAME", "haswell")
    carried.use_carried()
    assert (numba.config.CPU_NAME, numba.config.CPU_FEATURES) == ("haswell", None)


def test_without_a_record_code_is_for_this_processor(record):
    record.unlink()
    carried.use_carried()
    assert numba.config.CPU_NAME is None


@pytest.fixture
def backend():
    pytest.importorskip("setuptools")
    file = Path(__file__).parents[1] / "wheels" / "build_backend.py"
    spec = importlib.util.spec_from_file_location("build_backend", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_build_needs_what_quirk_needs_if_it_compiles(backend):
    def names(settings):
        return {line.split()[0] for line in backend.get_requires_for_build_wheel(settings)}

    assert {"numpy", "numba", "wheel"} <= names({"machine-code": "true"})
    assert "numba" not in names({"machine-code": "false"}) | names(None)
    with pytest.raises(SystemExit, match="machine-code must be true or false; got 'yes'"):
        names({"machine-code": "yes"})


def test_the_wheel_is_for_this_python_and_platform(backend, tmp_path):
    python, abi, system = backend._tag().split("-")
    assert python == abi == f"cp{sysconfig.get_python_version().replace('.', '')}"
    assert system.endswith(platform.machine().lower())
    file = tmp_path / "METADATA"
    file.write_text("Requires-Dist: numpy>=1\nRequires-Dist: numba>=0.64\n")
    backend._rewrite(file, (r"Requires-Dist: numba\b.*", "Requires-Dist: numba ==1"))
    assert file.read_text() == "Requires-Dist: numpy>=1\nRequires-Dist: numba ==1\n"
    with pytest.raises(SystemExit, match="METADATA has no line 'Tag: x'"):
        backend._rewrite(file, ("Tag: x", ""))
