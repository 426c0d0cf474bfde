"""Newton's law and kinetic energy: when it would grow, restitution is lowered, and the event says so."""

import netCDF4
import numpy as np
import pytest
from studies import study

import quirk
from quirk import GROUND, Body
from quirk.io.checkpoints.records import event_data, event_record
from quirk.io.resultfile import checksum

DOWN = [0, 0, -9.81]
# How the rates of the ends of the rod below answer to impulses at both.
W = np.array([[4.0, -2.0], [-2.0, 4.0]]) / 1.2


def strike(rates, restitution):
    """The first event of a level rod of 1.2 kg and 1 m whose ends, both on the floor, have these rates."""
    front, back = rates
    rod = Body(
        "rod", 1.2, [1e-3, 0.1, 0.1], velocity=[0, 0, 0.5 * (front + back)], angular_velocity=[0, back - front, 0]
    )
    plane = quirk.surface.plane()
    ends = [
        quirk.Contact(name, GROUND, rod, on_i=plane, on_j=quirk.surface.point([x, 0, 0]), restitution=e)
        for name, x, e in zip(("front", "back"), (0.5, -0.5), restitution, strict=True)
    ]
    return quirk.simulate(quirk.System([rod, *ends], gravity=DOWN), 1e-3)


@pytest.mark.parametrize("seed", study(range(6), 2))
def test_ends_that_both_strike_gain_no_energy_whatever_their_restitution(seed):
    rng = np.random.default_rng(seed)
    rates, e = -rng.uniform(0.8, 1.2, 2), rng.uniform(0, 1, 2)
    impulse = np.linalg.solve(W, -(1 + e) * rates)
    assert (impulse > 0).all()
    event = strike(rates, e).events[0]
    assert event.restitution_kept == 1
    assert event.energy_loss == pytest.approx(0.5 * (1 - e) * -rates @ impulse, rel=1e-9)
    assert "lowered" not in str(event)


@pytest.mark.parametrize("e", [1.0, 0.9, 0.8, 0.5])
def test_an_opening_end_that_is_closed_gains_no_energy(e, tmp_path):
    rates = np.array([-1.0, 0.5])
    for kept in np.linspace(1, 0, 11):
        after = np.array([kept * e, 0.0])
        impulse = np.linalg.solve(W, after - rates)
        gained = 0.5 * impulse @ (rates + after)
        if gained <= 1e-12:
            break
    assert (impulse > 0).all()
    result = strike(rates, (e, e))
    event = result.events[0]
    assert event.restitution_kept == pytest.approx(kept)
    assert event.energy_loss == pytest.approx(-gained, rel=1e-9)
    assert ("restitution lowered" in str(event)) == (kept < 1) == (e > 0.85)
    result.save(tmp_path / "run.nc")
    assert quirk.Result.load(tmp_path / "run.nc").events[0].restitution_kept == event.restitution_kept


def test_records_of_earlier_versions_know_nothing_of_it(tmp_path):
    result = strike([-1.0, 0.5], (1.0, 1.0))
    row = event_data(result.events[0])
    assert event_record(row).restitution_kept == result.events[0].restitution_kept == 0.8
    assert event_record(row[:6]).restitution_kept == 1
    result.save(tmp_path / "run.nc")
    data = (tmp_path / "run.nc").read_bytes()
    (tmp_path / "run.nc").write_bytes(data[: data.rindex(checksum.MARK)])
    with netCDF4.Dataset(tmp_path / "run.nc", "a") as file:
        file.renameVariable("event_restitution_kept", "event_other")
    checksum.append(tmp_path / "run.nc")
    assert quirk.Result.load(tmp_path / "run.nc").events[0].restitution_kept == 1


def fall(e, mu, tilt=0.8756, velocity=(1.984, 0, -3.0), spin=-2.496):
    """The impact of a rod that falls on its rough lower end, and the same in a run with checkpoints."""
    c, s = np.cos(tilt), np.sin(tilt)
    turned = [np.cos(tilt / 2), 0, -np.sin(tilt / 2), 0]
    rod = Body(
        "rod", 1.0, [1e-3, 1 / 12, 1 / 12], position=[c / 2, 0, s / 2], orientation=turned, velocity=velocity,
        angular_velocity=[0, spin, 0],
    )  # fmt: skip
    tip = quirk.surface.point([-0.5, 0, 0])
    contact = quirk.Contact("tip", GROUND, rod, on_i=quirk.surface.plane(), on_j=tip, restitution=e)
    return quirk.System([rod, contact, quirk.Friction("rough", contact, mu)], gravity=DOWN)


def test_a_single_contact_with_friction_may_need_less_restitution(tmp_path):
    rough, smooth = (quirk.simulate(fall(0.9356, mu), 1e-3).events[0] for mu in (0.4317, 1e-9))
    assert 0 < rough.restitution_kept < 1
    assert rough.energy_loss > 0
    assert smooth.restitution_kept == 1
    # Without restitution there is nothing to lower.
    assert quirk.simulate(fall(0.0, 0.4317), 1e-3).events[0].restitution_kept == 1
    kept = quirk.simulate(fall(0.9356, 0.4317), 1e-3, checkpoint=tmp_path / "run")
    read = quirk.simulate(fall(0.9356, 0.4317), 1e-3, checkpoint=tmp_path / "run")
    assert kept.events[0].restitution_kept == read.events[0].restitution_kept == rough.restitution_kept
