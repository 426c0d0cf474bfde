"""Type checkers know arguments and what comes back."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import quirk.constraints
import quirk.demos
import quirk.integrators

import quirk

CALLS = Path(__file__).parent / "data" / "calls.py"


def test_wrong_calls_are_errors_and_right_ones_are_not(tmp_path):
    pytest.importorskip("basedpyright", reason="needs the extra lint")
    # Type checkers do not find what an editable installation maps from elsewhere.
    package = tmp_path / "quirk"
    package.mkdir()
    for entry in Path(quirk.__file__).parent.iterdir():
        (package / entry.name).symlink_to(entry)
    for folder in (quirk.constraints, quirk.integrators, quirk.demos):
        if not (place := package / folder.__name__.partition(".")[2]).exists():
            place.symlink_to(Path(folder.__file__).parent)
    checked = shutil.copy(CALLS, tmp_path)
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "standard", "include": ["calls.py"]}')
    command = [
        sys.executable,
        "-m",
        "basedpyright",
        "--project",
        str(tmp_path),
        "--pythonpath",
        sys.executable,
        "--outputjson",
    ]
    report = json.loads(subprocess.run(command, capture_output=True, text=True).stdout)
    wrong = {line for line, text in enumerate(Path(checked).read_text().splitlines()) if text.endswith("# wrong")}
    found = {finding["range"]["start"]["line"]: finding["message"] for finding in report["generalDiagnostics"]}
    assert report["summary"]["filesAnalyzed"] == 1
    assert found.keys() == wrong, found
