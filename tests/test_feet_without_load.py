"""Loads of a plate that slides and turns on rough feet, of which some lose their load and take it again.

The feet carry the loads of equal springs that do not pull, n = max(0, a + b x + c y), at each instant.
"""

import itertools

import numpy as np
import pytest
from studies import study

import quirk
from quirk import GROUND, Body, Contact, Friction, surface

G, FEET = 9.81, 4
# Slip, m/s, below which its direction at a foot is not compared.
SLOW = 1e-3


class Plate:
    """Random plate: mass, height of its center of mass, feet (n, 2), coefficients (n,), gravity (3,), and motion."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.mass, self.height = rng.uniform(0.5, 4.0), rng.uniform(0.1, 0.25)
        self.feet = rng.uniform(-0.4, 0.4, (FEET, 2))
        self.mu, slope = rng.uniform(0.05, 0.6, FEET), rng.uniform(-0.1, 0.1, 2)
        self.gravity = np.array([G * slope[0], G * slope[1], -G])
        self.velocity, self.spin = rng.uniform(-2.0, 2.0, 2), rng.uniform(-6.0, 6.0)

    def system(self):
        motion = {"velocity": [*self.velocity, 0], "angular_velocity": [0, 0, self.spin]}
        plate = Body(
            "plate", self.mass, np.array([0.08, 0.1, 0.165]) * self.mass, position=[0, 0, self.height], **motion
        )
        items = [plate]
        for k, (x, y) in enumerate(self.feet):
            point = surface.point([x, y, -self.height])
            foot = Contact(f"c{k}", GROUND, plate, on_i=surface.plane(), on_j=point)
            items += [foot, Friction(f"f{k}", foot, self.mu[k])]
        return quirk.System(items, gravity=self.gravity)

    def loads(self, angle, velocity, spin):
        """All loads (n,) of springs that carry the plate, with the slip of each foot; several, or none, if it tips."""
        places = self.feet @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        slip = velocity + spin * np.column_stack([-places[:, 1], places[:, 0]])
        drag = -self.mu[:, None] * slip / np.linalg.norm(slip, axis=1)[:, None]
        springs, found = np.column_stack([np.ones(FEET), places]), []
        moments = [np.ones(FEET), places[:, 1] + self.height * drag[:, 1], -self.height * drag[:, 0] - places[:, 0]]
        for pressed in np.array(list(itertools.product([True, False], repeat=FEET))):
            if pressed.sum() < 3:
                continue
            parts = np.linalg.solve(np.array(moments)[:, pressed] @ springs[pressed], [self.mass * G, 0.0, 0.0])
            compression = springs @ parts
            if (compression[pressed] >= 0).all() and (compression[~pressed] <= 0).all():
                found.append(np.where(pressed, compression, 0.0))
        return found, slip


def loaded_again(plate, duration):
    """Number of times that a foot takes its load again in a run, all of whose loads are compared with those of springs.

    The comparison ends where the plate tips, or a foot hardly slips. Before that, the run must not fail.
    """
    try:
        result, failed = quirk.simulate(plate.system(), duration, output=0.005), False
    except quirk.SimulationError as error:
        result, failed = error.result, True
    again, before, body = 0, np.ones(FEET, dtype=bool), result["plate"]
    shown = np.array([result[f"c{k}"].force()[:, 2] for k in range(FEET)])
    for row, q in enumerate(body.orientation):
        found, slip = plate.loads(2 * np.arctan2(q[3], q[0]), body.velocity[row, :2], body.angular_velocity[row, 2])
        if np.linalg.norm(slip, axis=1).min() < SLOW or len(found) != 1:
            return again
        np.testing.assert_allclose(shown[:, row], found[0], atol=1e-6 * plate.mass * G)
        again += int((~before & (found[0] > 0)).sum())
        before = found[0] > 0
    assert not failed
    return again


def test_a_foot_without_load_from_the_start_takes_load():
    """The other three determine their loads, and do not share them."""
    plate = Plate(0)
    plate.mass, plate.height, plate.gravity = 1.0, 0.212, np.array([-0.644, 0.831, -G])
    plate.feet = np.array([[0.184, 0.131], [0.333, -0.065], [-0.073, 0.031], [0.445, 0.102]])
    plate.mu, plate.velocity, plate.spin = np.array([0.563, 0.130, 0.460, 0.127]), np.array([1.88, 0.07]), -2.13
    assert loaded_again(plate, 0.3) == 1


@pytest.mark.parametrize("seeds", study([range(40), range(40, 400)], 1))
def test_feet_take_loads_again_when_springs_do(seeds):
    again = 0
    for seed in seeds:
        print(seed)
        plate = Plate(seed)
        if len(plate.loads(0.0, plate.velocity, plate.spin)[0]) == 1:
            again += loaded_again(plate, 0.25)
    assert again > 0, "no foot took its load again"
