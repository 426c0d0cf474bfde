"""How long compiling will take, told by what it has taken before."""

import json
import re

import numba
import pytest

from quirk.jit import cache as machine_code
from quirk.jit import compile_times
from quirk.jit.compilation import entry
from quirk.jit.compile_times import FILE, duration_text, expected_time, record_time


@pytest.fixture
def folder(tmp_path):
    """A folder that is the user's alone."""
    tmp_path.chmod(0o755)
    return tmp_path


def test_times_of_others_tell_the_speed_of_the_machine(folder):
    assert expected_time([folder], "one", 10.0) is None
    record_time([folder], "one", 10.0, 30.0)
    assert expected_time([folder], "other", 5.0) == pytest.approx(15.0)
    record_time([folder], "other", 5.0, 6.0)
    assert expected_time([folder], "third", 5.0) == pytest.approx(12.0)
    assert expected_time([folder], "other", 5.0) == 6.0
    assert expected_time([folder], "third", 0.0) is None


def test_short_times_and_entries_without_an_effort_are_not_noted(folder):
    record_time([folder], "one", 10.0, 0.5)
    record_time([folder], "one", 0.0, 30.0)
    assert not list(folder.iterdir())


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "3", '{"one": 3}', '{"one": [1, "x"]}', '{"one": [1]}', '{"one": [0, 1]}', '{"one": [1, NaN]}'],
)
def test_files_that_are_damaged_count_as_nothing(folder, text):
    (folder / FILE).write_text(text)
    assert expected_time([folder], "one", 1.0) is None
    record_time([folder], "one", 2.0, 5.0)
    assert json.loads((folder / FILE).read_text()) == {"one": [2.0, 5.0]}


def test_folders_that_cannot_be_written_are_passed_over(folder):
    (folder / "file").touch()
    record_time([folder / "file", folder / "open"], "one", 2.0, 5.0)
    assert expected_time([folder / "file", folder / "open"], "one", 2.0) == 5.0
    assert [path.name for path in (folder / "open").iterdir()] == [FILE]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (12.3, "12 s"), (33.0, "35 s"), (89.0, "90 s"), (150.0, "2.5 min")]
)
def test_times_in_words(seconds, text):
    assert duration_text(seconds) == text


def test_the_line_before_compiling_has_the_time_where_it_is_known(folder, monkeypatch, capsys):
    monkeypatch.setattr(machine_code, "SAID", set())
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(folder / "cache"))
    monkeypatch.setattr(compile_times, "SHORTEST", 0.0)

    def first(x):
        return x + 1

    def second(x):
        return x + 2

    for function, needed_by in ((first, "one thing needs"), (second, "another needs")):
        entry(needed_by=needed_by, effort=1000.0)(function)(1.0)
    one, two = capsys.readouterr().err.splitlines()
    assert one == "quirk: compiling what one thing needs, once for this installation"
    assert re.fullmatch(r"quirk: compiling what another needs, which takes about \d+ s here", two)
