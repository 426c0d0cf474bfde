"""A slider-crank that friction of its hinges and of its rail holds together, against statics by linear programming.

The friction of the hinges has constant limits. That of the rail is in proportion to its load, which the torques of the
hinges change. A single element could hold the mechanism, so that two to four of them share the load.
"""

import numpy as np
import pytest
from scipy.optimize import brentq, linprog
from studies import study

import quirk
from quirk import GROUND, Body, Motion

G = 9.81
RATE = 1.0


class SliderCrank:
    """A crank, a rod and a slider on the x axis in the xz plane; their masses, lengths, limits and loads are random."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.mass, self.mu = rng.uniform(0.3, 3.0, 3), rng.uniform(0.05, 0.4)
        self.a = rng.uniform(0.2, 0.4)
        self.l, angle = self.a * rng.uniform(1.6, 3.0), rng.uniform(-3.0, 3.0)
        self.limits = rng.uniform(0.3, 2.0, 3) * (rng.random(3) < 0.8)
        self.torque, self.force = rng.normal(size=2) * [3.0, 8.0], rng.normal(size=2) * [5.0, 15.0]
        self.place(angle)

    def place(self, angle):
        """Turn the crank to an angle from the x axis, rad."""
        self.angle, self.tip = angle, self.a * np.array([np.cos(angle), np.sin(angle)])
        self.lean = -np.arcsin(self.tip[1] / self.l)
        self.end = self.tip + self.l * np.array([np.cos(self.lean), np.sin(self.lean)])

    def beyond(self, t):
        """By how much the limits, N or N m, must be raised at time t for the mechanism to stay at rest."""
        # Unknowns: forces (x, z) on crank, rod and slider in the hinges, load of the rail, three torques, friction, excess.
        rows, right = np.zeros((8, 12)), np.zeros(8)
        for body, arm in enumerate((self.tip / 2, (self.end - self.tip) / 2)):
            forces, (first, second) = rows[3 * body : 3 * body + 2], (2 * body, 2 * body + 2)
            forces[:, first : first + 2], forces[:, second : second + 2] = np.eye(2), -np.eye(2)
            right[3 * body + 1] = self.mass[body] * G
            for at in (first, second):
                rows[3 * body + 2, at : at + 2] = arm[1], -arm[0]
            rows[3 * body + 2, 7 + body : 9 + body] = 1.0, -1.0
        right[2] = -(self.torque @ [1.0, t])
        rows[6, [4, 10]], right[6] = 1.0, -(self.force @ [1.0, t])
        rows[7, [5, 6]], right[7] = 1.0, self.mass[2] * G
        excess = []
        for side in (1.0, -1.0):
            limits = np.zeros((8, 12))
            limits[:, 11] = -1.0
            for k in range(4):
                limits[2 * k, 7 + k], limits[2 * k + 1, 7 + k] = 1.0, -1.0
            limits[6:, 6] = -self.mu * side
            most = np.repeat([*self.limits, 0.0], 2)
            bounds = [(None, None)] * 6 + [(0, None) if side > 0 else (None, 0)] + [(None, None)] * 5
            found = linprog(np.eye(12)[11], limits, most, rows, right, bounds)
            excess.append(found.fun if found.status == 0 else np.inf)
        return min(excess)

    def breaks_away(self):
        """The time at which it begins to move, or None if it does not rest at first or rests for long."""
        if self.beyond(0.0) > -0.02:
            return None
        times = np.linspace(0.0, 3.0, 100)
        later = next((k for k, t in enumerate(times) if self.beyond(t) > 0.0), None)
        return None if later is None else brentq(self.beyond, times[later - 1], times[later], xtol=1e-13)

    def system(self):
        def body(name, mass, size, center, angle):
            turned = [np.cos(angle / 2), 0, -np.sin(angle / 2), 0]
            moment = np.diag([mass * size**2 / 12] * 3)
            return Body(name, mass, moment, position=[center[0], 0, center[1]], orientation=turned)

        crank = body("crank", self.mass[0], self.a, self.tip / 2, self.angle)
        rod = body("rod", self.mass[1], self.l, (self.tip + self.end) / 2, self.lean)
        slider = body("slider", self.mass[2], 0.1, self.end, 0.0)
        places, pairs = ([0, 0], self.tip, self.end), ((GROUND, crank), (crank, rod), (rod, slider))
        hinges = [
            quirk.Revolute(f"hinge {k}", *pair, point=[place[0], 0, place[1]], axis=[0, -1, 0])
            for k, (place, pair) in enumerate(zip(places, pairs, strict=True))
        ]
        rail = quirk.Prismatic("rail", GROUND, slider, point=[self.end[0], 0, 0], axis="x")
        frictions = [
            quirk.JointFriction(f"dry {k}", hinge, coulomb=limit, sticking=True)
            for k, (hinge, limit) in enumerate(zip(hinges, self.limits, strict=True))
            if limit > 0
        ]
        turn = quirk.Torque("turn", crank, [0, Motion.polynomial(-self.torque), 0], frame="inertial")
        push = quirk.Force("push", slider, [Motion.polynomial(self.force), 0, 0])
        parts = [crank, rod, slider, *hinges, rail, *frictions, quirk.Friction("rub", rail, self.mu), turn, push]
        return quirk.System(parts, gravity=[0, 0, -G])


# Mechanisms that rest at first, and then break away.
SEEDS = [1, 2, 5, 8, 11, 16, 20, 39, 53, 54, 55, 70, 73, 79, 83, 85, 95, 98, 102, 108, 113, 114, 115]


@pytest.mark.parametrize("seed", study(SEEDS, 5))
def test_it_breaks_away_where_no_distribution_of_friction_holds_it(seed):
    crank = SliderCrank(seed)
    t = crank.breaks_away()
    assert t is not None
    result = quirk.simulate(crank.system(), 1.02 * t, output=t / 20)
    assert result.events.time[0] == pytest.approx(t, abs=1e-8)
    held = np.flatnonzero(result.time <= result.events.time[0])[:-1]
    for k in np.flatnonzero(crank.limits):
        effort, sticks = result[f"dry {k}"].along()[held], result[f"dry {k}"].sticking[held]
        assert sticks.all()
        assert np.abs(effort).max() <= crank.limits[k] + 1e-6
    load, friction = np.abs(result["rail"].force()[held, 2]), np.abs(result["rub"].force()[held, 0])
    assert (friction <= crank.mu * load + 1e-6).all()


@pytest.mark.parametrize("angle", study([0.5, 1.0, 2.0, -0.7], 2))
@pytest.mark.parametrize("dry", [(0,), (0, 2)])
def test_balanced_loads_need_no_friction(dry, angle):
    """Without gravity the push of the slider and a torque of the crank balance each other at first."""
    crank = SliderCrank(0)
    crank.place(angle)
    crank.mass, crank.limits = np.array([1e-3, 1e-3, 1.0]), np.isin(range(3), dry) * 0.5
    ratio = crank.tip[0] * np.tan(crank.lean) - crank.tip[1]  # of the velocity of the slider to the rate of the crank
    crank.force, crank.torque = np.array([-10.0, 0.0]), np.array([10.0 * ratio, RATE])
    system = crank.system()
    weightless = quirk.System(list(system), gravity=[0, 0, 0])
    result = quirk.simulate(weightless, 0.1, output=0.01)
    assert not len(result.events)
    efforts = np.array([result[f"dry {k}"].along() for k in dry])
    assert np.abs(efforts[:, 0]).max() < 1e-6
    assert np.abs(result["rub"].force()[0]).max() < 1e-6
    assert np.abs(np.diff(efforts, axis=1)).max() < 2.0 * RATE * 0.01  # without jumps
