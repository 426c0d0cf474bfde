"""The performance page says what is in the record of the benchmarks."""

import json
import sys

import pytest

from benchmarks import beams, markdown, performance_page
from benchmarks.accuracy import Curve, Point
from benchmarks.row import Row
from benchmarks.scaling import Line


@pytest.fixture
def record():
    timed = Row("evaluation, ball chain 10", "Pinocchio ABA", "1.2 us", "3.6 us", 3.0, note="a note")
    timed.details = {"bodies": 10, "quirk": {"minimum_s": 1.1e-6}, "peer": {"minimum_s": 3.3e-6}}
    net = Row("evaluation, net 20 x 20, us per rod", quirk="1 ms", ratio=1.3, details={"bodies": 760})
    bound = Row("ball_chain10 to 1e-06 m at 2 s", "Exudyn generalized-alpha", "0.1 s", ">90 s", 900.0, bound=">")
    batch = Row("batch of 1024, ball chain 10", "MuJoCo rollout", "1 us", "20 us", 20.0)
    batch.details = {"bodies": 10, "quirk": {"minimum_s": 1e-6}, "peer": {"minimum_s": 2e-5}}
    cold = Row("cold, first step, ball chain 10, compiled before", "MuJoCo", "0.8 s", "0.3 s", 0.3)
    cold.details = {
        "quirk": {"import": 0.01, "build": 0.75, "first": 2e-4},
        "peer": {"import": 0.2, "build": 0.1, "first": 1e-4},
    }
    curves = [
        Curve("QuIRK Vern9", "rtol", [Point(1e-9, 3e-7, 0.1)], Point(1e-9, 3e-7, 0.1)),
        Curve("Exudyn generalized-alpha", "steps", [Point(1000, 1e-2, 1.0), Point(256000, 2e-5, 90.0)], None),
    ]
    lines = [Line("QuIRK", "ladder", [11, 101], [1e-5, 1e-4]), Line("MuJoCo", "ball chain", [10], [3e-5])]
    versions = {"quirk-dynamics": "0.1.0", "pin": "4.1", "mujoco": "4.0", "exudyn": None}
    environment = {
        "commit": "0123456789abcdef", "changed": False, "time": "2026-01-02T03:04:05Z", "processor": "P",
        "architecture": "x86_64", "cores": 2, "system": "a host", "python": "3.11", "versions": versions,
    }  # fmt: skip
    return {
        "environment": environment, "small": False, "other_cores": 0.25,
        "warm": [row.record() for row in (timed, net, bound, batch)], "avx2": [timed.record()], "cold": [cold.record()],
        "work_precision": [curve.record() for curve in curves], "scaling": [line.record() for line in lines],
        "drift": [curve.record() for curve in curves],
    }  # fmt: skip


def test_the_page_has_all_of_the_record(record, tmp_path, monkeypatch):
    (tmp_path / "benchmarks.json").write_text(json.dumps(record))
    for name in performance_page.PICTURES:
        (tmp_path / name).write_bytes(b"picture")
    docs = tmp_path / "docs"
    monkeypatch.setattr("sys.argv", ["x", str(tmp_path / "benchmarks.json"), "--docs", str(docs)])
    performance_page.main()
    page = (docs / "performance.md").read_text()
    cells = markdown.read(page)
    for line in (
        ["evaluation, ball chain 10", "10", "1.2 us", "1.1 us", "Pinocchio ABA", "3.6 us", "3.3 us", "3"],
        ["batch of 1024, ball chain 10", "10", "1 us", "1 us", "MuJoCo rollout", "20 us", "20 us", "20"],
        ["evaluation, net 20 x 20", "760", "1 ms", "", "", "", "", ""],
        ["QuIRK Vern9", "rtol 1e-09", "3.0e-07", "100 ms", "yes", ""],
        ["Exudyn generalized-alpha", "steps 256000", "2.0e-05", "90 s", "no: its finest run", ">900"],
        ["QuIRK Vern9", "rtol 1e-09", "3.0e-07", "100 ms", "yes"],
        ["engine", "mechanism", "10 bodies", "100 bodies"],
        ["QuIRK", "ladder", "10 us", "100 us"],
        ["MuJoCo", "ball chain", "30 us", ""],
        ["first step, ball chain 10, compiled before", "QuIRK", "10 ms", "750 ms", "200 us", "760 ms"],
        ["first step, ball chain 10, compiled before", "MuJoCo", "200 ms", "100 ms", "100 us", "300 ms"],
    ):
        assert line in cells, line
    assert page.count("| evaluation, ball chain 10 |") == 2  # with AVX-512, and with AVX2
    for text in (
        "commit 0123456789ab,",
        "QuIRK 0.1.0",
        "left out: Exudyn",
        "0.2 of 2 cores",
        "a note",
        "images/scaling.png",
    ):
        assert text in page, text
    assert "a host" not in page
    assert "smoke test" not in page
    assert "earlier run" not in page
    picture = docs / "images" / "scaling.png"
    assert picture.read_bytes() == b"picture"
    picture.write_bytes(b"an earlier one")
    monkeypatch.setattr("sys.argv", [*sys.argv, "--pictures-of", "abc"])
    performance_page.main()
    assert picture.read_bytes() == b"an earlier one"
    assert "earlier run, of commit abc" in (docs / "performance.md").read_text()


def test_a_smoke_test_says_that_it_is_one(record):
    assert "smoke test" in performance_page.written({**record, "small": True}, "")


def test_beams_have_a_section(record):
    best = beams.Best("arc", "QuIRK", 14, "", 9e-4, 0.1)
    other = beams.Best("arc", "Exudyn", 14, "4 steps", 9e-4, 0.02, 0.2)
    rows = [vars(best), vars(other), vars(beams.Best("arc", "slow", 2, "", 0.5, 1.0, enough=False))]
    cells = markdown.read(performance_page.written({**record, "beams": rows}, ""))
    assert ["arc", "QuIRK", "14", "", "9.0e-04", "100 ms", ""] in cells
    assert ["arc", "Exudyn", "14", "4 steps", "9.0e-04", "20 ms", "0.2"] in cells
    assert ["arc", "slow", "2", "", "5.0e-01", "1 s, not enough", ""] in cells
