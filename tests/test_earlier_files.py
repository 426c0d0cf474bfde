"""Models, results and checkpoints that an earlier version wrote, before packages had their present places, still load."""

import pickle
from pathlib import Path

import numpy as np
import pytest

import quirk
from quirk.events.names import Reading, Shared

FOLDER = Path(__file__).parent / "data" / "earlier"
# t, positions of the bob and of the ball, as the earlier version gave them: a pendulum of two bodies with a spring, a
# coil and a torque that an event switches off, and a ball that bounces to rest on a plane.
POSITIONS = np.loadtxt(FOLDER / "positions.txt")


@pytest.mark.parametrize(
    "read", [lambda: quirk.Result.load(FOLDER / "run.nc"), lambda: quirk.read_checkpoint(FOLDER / "checkpoint")]
)
def test_results_and_checkpoints(read):
    result = read()
    assert result.status == "completed"
    assert [event.name for event in result.events][:3] == ["floor", "low", "half"]
    np.testing.assert_array_equal(result.time, POSITIONS[:, 0])
    np.testing.assert_array_equal(result["bob"].position, POSITIONS[:, 1:4])
    np.testing.assert_array_equal(result["ball"].position, POSITIONS[:, 4:7])
    assert np.isfinite(result["tip"].force()).all()


def test_models():
    system = quirk.load(FOLDER / "model.toml")
    result = quirk.simulate(system, 1.0, output=0.1)
    assert result.time.shape == POSITIONS[:, 0].shape
    np.testing.assert_allclose(result["bob"].position, POSITIONS[:, 1:4], atol=1e-8)
    np.testing.assert_allclose(result["ball"].position, POSITIONS[:, 4:7], atol=1e-8)


def test_watched_loads_in_pickles():
    rows = {"rows": (("hinge", 0),), "offsets": (1.0,), "weights": ((2.0,),)}
    for kind, values, more in ((Reading, (None, "total", 1, 2.0), {}), (Shared, (None, "share", None, 0.0), rows)):
        earlier = object.__new__(kind)
        earlier.__setstate__(dict(zip(("of", "what", "axis", "level"), values, strict=True)) | more)
        assert earlier == kind(*values, **more)
        assert pickle.loads(pickle.dumps(earlier)) == earlier
