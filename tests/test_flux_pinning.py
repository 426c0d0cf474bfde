"""The frozen-image model: forces of dipoles, equilibrium where it was cooled, and stiffnesses in closed form."""

import numpy as np
import pytest
from mechanisms import random_body, random_quaternion
from scipy.optimize import brentq

import quirk
from quirk import GROUND, Body, Frame, rotation

K = 1.25663706212e-6 / (4 * np.pi)


def field(moment, r):
    """Flux density (3,), T, at r (3,), m, from a dipole."""
    size = np.linalg.norm(r)
    return K * (3 * (moment @ r) * r / size**2 - moment) / size**3


def force(m, source, r):
    """On a dipole m at r from another (Jackson, 5.7: the gradient of m.B)."""
    size = np.linalg.norm(r)
    n = r / size
    inside = (m @ n) * source + (source @ n) * m + (m @ source) * n - 5 * (m @ n) * (source @ n) * n
    return 3 * K / size**4 * inside


class Pinned:
    """A superconductor and a magnet at random poses, in front of its surface, with the images in N."""

    def __init__(self, seed, moved=True):
        rng = np.random.default_rng(seed)
        self.sc, self.magnet = random_body(rng, "sc"), random_body(rng, "magnet")
        self.moment, self.point = rng.normal(size=3) * 50, 0.1 * rng.normal(size=3)
        normal = rng.normal(size=3)
        self.normal = normal / np.linalg.norm(normal)
        # The surface is behind the magnet, seen from the superconductor.
        apart = rotation.matrix(self.sc.orientation).T @ (self.magnet.position - self.sc.position)
        self.surface = apart - 0.8 * self.normal
        turn = random_quaternion(rng) if moved else None
        self.cooled = Frame(apart + 0.1 * rng.normal(size=3), turn) if moved else None
        pinning = quirk.FluxPinning("pinning", self.sc, self.magnet, self.moment, point_i=self.surface,
                                    normal=self.normal, point_j=self.point, cooled=self.cooled)  # fmt: skip
        self.system = quirk.System([self.sc, self.magnet, pinning])

    def mirrored(self, vector):
        return vector - 2 * self.normal * (self.normal @ vector)

    def images(self):
        """Position and moment of the magnet, and of both images, in the axes of the superconductor."""
        S, M = (rotation.matrix(body.orientation) for body in (self.sc, self.magnet))
        r = S.T @ (self.magnet.position + M @ self.point - self.sc.position)
        m = S.T @ M @ self.moment
        r_0, m_0 = self.cooled.origin + self.cooled.matrix @ self.point, self.cooled.matrix @ self.moment
        mobile = self.surface + self.mirrored(r - self.surface), self.mirrored(m)
        frozen = self.surface + self.mirrored(r_0 - self.surface), -self.mirrored(m_0)
        return (r, m), mobile, frozen, S, M

    def loads(self):
        """Force in N and torque about its center of mass in body axes on each body, without what else acts."""
        acceleration, state = self.system.acceleration(self.system.initial_state()), self.system.initial_state()
        masses = np.array([[self.sc.mass], [self.magnet.mass]])
        torques = [b.inertia @ a + np.cross(w, b.inertia @ w) for b, a, w in
                   zip(self.system.bodies, acceleration.angular, state.angular_velocity, strict=True)]  # fmt: skip
        return masses * acceleration.linear, np.array(torques)


@pytest.mark.parametrize("seed", range(4))
def test_loads_are_those_of_dipoles(seed):
    pinned = Pinned(seed)
    (r, m), *images, S, M = pinned.images()
    pull = sum(force(m, moment, r - where) for where, moment in images)
    twist = sum(np.cross(m, field(moment, r - where)) for where, moment in images)
    forces, torques = pinned.loads()
    np.testing.assert_allclose(forces[1], S @ pull, rtol=1e-11)
    np.testing.assert_allclose(forces[0], -S @ pull, rtol=1e-11)
    about_center = np.cross(M @ pinned.point, S @ pull) + S @ twist
    scale = np.abs(torques).max()
    np.testing.assert_allclose(torques[1], M.T @ about_center, atol=1e-11 * scale)
    # Moments on both balance about the superconductor's center of mass.
    apart = pinned.magnet.position - pinned.sc.position
    np.testing.assert_allclose(S @ torques[0], -about_center - np.cross(apart, S @ pull), atol=1e-10 * scale)


@pytest.mark.parametrize("seed", range(3))
def test_nothing_acts_where_it_was_cooled(seed):
    """In any attitude; either image alone would act."""
    pinned = Pinned(seed, moved=False)
    pinned.cooled = Frame(pinned.sc.local(pinned.magnet.position), rotation.multiply(
        rotation.conjugate(pinned.sc.orientation), pinned.magnet.orientation))  # fmt: skip
    (r, m), (where, moment), *_ = pinned.images()
    alone = np.linalg.norm(force(m, moment, r - where))
    forces, torques = pinned.loads()
    assert np.abs(forces).max() < 1e-12 * alone
    assert np.abs(torques).max() < 1e-12 * alone


M, H = 8.0, 0.05  # A m^2, m


def above(**arguments):
    magnet = Body.sphere("magnet", 0.2, 0.01, position=[0, 0, H])
    return quirk.System([magnet, quirk.FluxPinning("pinning", GROUND, magnet, [0, 0, M], **arguments)])


def test_a_superconductor_cooled_far_away_repels():
    """3 mu_0 m^2 / (32 pi h^4): a dipole above its image of the opposite moment."""
    system = above(cooled=Frame([0, 0, 1e3 * H]))
    push = 0.2 * system.acceleration(system.initial_state()).linear[0]
    # The frozen image, a thousand heights away, leaves 1e-10 or so.
    np.testing.assert_allclose(push, [0, 0, 3 * K * M**2 / (8 * H**4)], rtol=1e-9, atol=1e-12)


def test_stiffnesses():
    """Of a magnet with its moment along the normal: up, across, tilting, and across by tilting."""
    system, h = above(), 1e-6
    state, inertia = system.initial_state(), system["magnet"].inertia

    def loads(moved):
        q = rotation.exp(np.array([moved[3:]]))
        at = quirk.State(state.position + moved[:3], q, state.velocity, state.angular_velocity)
        found = system.acceleration(at)
        return np.concatenate([0.2 * found.linear[0], inertia @ found.angular[0]])

    stiffness = np.array([(loads(-h * e) - loads(h * e)) / (2 * h) for e in np.eye(6)])
    across, tilt, both = (K * M**2 * x for x in (3 / (8 * H**5), 1 / (8 * H**3), 3 / (16 * H**4)))
    want = np.diag([across, across, 2 * across, tilt, tilt, 0])
    # A turn about y leans the moment towards x; one about x away from y.
    want[0, 4] = want[4, 0] = -both
    want[1, 3] = want[3, 1] = both
    # Central differences: h / H squared, and round-off of forces that cancel, 1e-15 / (h / H).
    np.testing.assert_allclose(stiffness, want, atol=1e-8 * 2 * across)


def test_a_pinned_magnet_bobs_at_its_frequency():
    stiffness = 3 * K * M**2 / (4 * H**5)
    period = 2 * np.pi * np.sqrt(0.2 / stiffness)
    system = above(cooled=Frame([0, 0, H - 1e-6]))
    result = quirk.simulate(system, period, output=period / 40)
    height = result["magnet"].position[:, 2] - (H - 1e-6)
    # Anharmonic to the first order of 1e-6 / H, times some ten.
    np.testing.assert_allclose(height, 1e-6 * np.cos(2 * np.pi * result.time / period), atol=5e-4 * 1e-6)
    assert result.conservative
    np.testing.assert_allclose(result.energy.total, result.energy.total[0], rtol=1e-12)


def test_two_free_bodies_keep_their_momentum():
    pinned = Pinned(7)
    result = quirk.simulate(pinned.system, 0.2, output=0.02)
    for momentum in (result.momentum.linear, result.momentum.angular):
        np.testing.assert_allclose(momentum - momentum[0], 0, atol=1e-9 * np.abs(momentum).max())


def test_it_hangs_below_a_superconductor():
    """Pinning also pulls: the magnet comes to rest where 6 K m^2 / (z + h)^4 - 3 K m^2 / (8 z^4) is its weight."""
    magnet = Body.sphere("magnet", 0.005, 0.01, position=[0, 0, -H])
    pinning = quirk.FluxPinning("pinning", GROUND, magnet, [0, 0, M], normal=[0, 0, -1])
    damping = quirk.Damping("damping", translational=1.0)
    result = quirk.simulate(quirk.System([magnet, pinning, damping], gravity=[0, 0, -9.81]), 4.0, output=[4.0])
    low = brentq(lambda z: K * M**2 * (6 / (z + H) ** 4 - 3 / (8 * z**4)) - 0.005 * 9.81, H, 1.2 * H, xtol=1e-14)
    assert low > 1.05 * H
    assert result["magnet"].position[-1, 2] == pytest.approx(-low, rel=1e-9)


def test_behind_the_surface_it_means_nothing():
    system = above()
    state = system.initial_state()
    state.position[0, 2] = -0.01
    for solver in ("sparse", "dense"):
        with pytest.raises(quirk.InputError, match=r'"pinning": the magnet has come to the surface'):
            system.acceleration(state, solver=solver)


@pytest.mark.parametrize(("arguments", "said"), [
    ({"normal": [0, 0, -1]}, "0.05 m behind: turn the normal over"),
    ({"cooled": [0, 0, 1]}, "cooled must be a quirk.Frame in the coordinates of"),
    ({"normal": [0, 0, 0]}, "normal"),
    ({"point_i": [0, 0]}, "point_i must have shape"),
])  # fmt: skip
def test_what_cannot_be_pinned(arguments, said):
    with pytest.raises(quirk.InputError, match=said):
        above(**arguments)


def test_a_magnet_needs_a_moment():
    with pytest.raises(quirk.InputError, match="moment must not be zero"):
        quirk.FluxPinning("pinning", GROUND, Body.sphere("magnet", 0.2, 0.01, position=[0, 0, 1]), [0, 0, 0])
