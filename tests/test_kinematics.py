"""Mechanisms that are driven in all freedoms, analysed and simulated, against closed forms over ten turns."""

import time
from typing import NamedTuple

import numpy as np
import pytest
from closed_forms import body_spin, continued_angle, derivatives, four_bar, rod_axes, slider_crank, turned
from quirk.constraints.planar import PlanarBody, Plane
from scipy.optimize import brentq

import quirk
from quirk import GROUND, Body, Motion, planar, rotation

# Everything is compared to this part of its largest value along the motion; of a quantity that several bodies have, of
# the largest of all bodies. With rates of 1 to 2 rad/s even snap is far from its round-off.
TOLERANCE = 1e-9
# As far as time, s, goes on to a dead point: there the determinant vanishes with the square root of what is left.
DEAD_POINT = 1e-8

LINEAR = ("position", "velocity", "acceleration", "jerk", "snap")
ANGULAR = ("angle", "angular_velocity", "angular_acceleration", "angular_jerk", "angular_snap")
TEN_TURNS, OUTPUTS = 20 * np.pi, 173
# Where cranks are drawn.
START = 0.5
DOWN = np.array([0.0, -9.81])
TILTED = Plane(origin=(30, -20, 50), normal=(1, 2, 3), x=(1, 0, 1))
FAR = Plane(origin=(1e4, -1e4, 1e4), normal=(1, 2, 3), x=(1, 0, 1))
XY = Plane()


def agree(got, want, note=""):
    """Whether two arrays differ by less than the tolerance."""
    np.testing.assert_allclose(got, want, rtol=0, atol=TOLERANCE * np.abs(want).max(), err_msg=note)


class Turning(NamedTuple):
    """How a crank turns: the motion of its driver, and the same as a function of complex times."""

    motion: Motion
    angle: object

    @property
    def times(self):
        end = brentq(lambda t: self.angle(t) - TEN_TURNS, 0, 100)
        return np.linspace(0, end, OUTPUTS)


def wave(t):
    return 1.2 * t + 0.4 * np.sin(0.9 * t)


WAVE = Motion.function(
    wave,
    lambda t: 1.2 + 0.36 * np.cos(0.9 * t),
    lambda t: -0.324 * np.sin(0.9 * t),
    lambda t: -0.2916 * np.cos(0.9 * t),
    lambda t: 0.26244 * np.sin(0.9 * t),
)
STEADY = Turning(Motion.constant_rate(1.3), lambda t: 1.3 * t)
FASTER = Turning(Motion.polynomial([0, 0.8, 0.013]), lambda t: 0.8 * t + 0.013 * t**2)
UNSTEADY = Turning(WAVE, wave)
EVERY_TURNING = pytest.mark.parametrize("turning", [STEADY, FASTER, UNSTEADY], ids=["steady", "faster", "unsteady"])


def simulated(system, times):
    """The same by integration, which starts on the constraints and is to find nothing but what drivers prescribe."""
    system.assemble(t=float(times[0]))
    duration = float(times[-1] - times[0])
    return quirk.simulate(system, duration, rtol=1e-12, atol=1e-13, output=times, start=float(times[0]))


BOTH_WAYS = pytest.mark.parametrize("analyse", [quirk.kinematics, simulated], ids=["kinematics", "simulated"])


def all_orders(view, names):
    return [getattr(view, name) for name in names]


def check(views, names, wants, note=""):
    """Compare a quantity of some bodies or points, and its derivatives, to arrays (order, nt, ...)."""
    for order, name in enumerate(names):
        got, want = ([part[order] for part in parts] for parts in ([all_orders(v, names) for v in views], wants))
        agree(np.array(got), np.array(want), f"{note} {name}")


def bar(kind, name, start, end, mass, plane):
    """A bar between two points of a plane, as a planar body or as a spatial one."""
    body = PlanarBody.bar(name, start, end, mass, plane=plane)
    if kind == "planar":
        return body
    return Body(name, mass, body.inertia, position=body.position, orientation=body.orientation)


def pin(kind, name, i, j, point, plane):
    if kind == "planar":
        return planar.Revolute(name, i, j, point=point)
    return quirk.Revolute(name, i, j, point=plane.point(point), axis=plane.axes[:, 2])


def motor(kind, hinge, motion, start):
    """A driver of the body at a hinge on the ground, drawn at an angle where the motion starts from zero."""
    if kind == "planar":
        return planar.AngleDriver("motor", GROUND, hinge.body_j, motion, offset=start)
    return quirk.Drive("motor", hinge, motion)


CRANK_ROCKER = {"ground": 1.0, "crank": 0.3, "coupler": 0.9, "rocker": 0.7}


class FourBar:
    """A crank-rocker in a plane, with planar pins or with spatial hinges, three rows of which are redundant."""

    BODIES = ("crank", "coupler", "rocker")
    # Of the coupler, in its body coordinates.
    POINT = np.array([0.2, 0.35])

    def __init__(self, kind, turning, plane=XY, size=1.0, lengths=CRANK_ROCKER, start=START):
        self.turning, self.plane, self.size, self.start, self.lengths = turning, plane, size, start, lengths
        tip, end = (np.real(point[0, 0]) for point in self.pins(np.zeros((1, 1)), turning_angle=0.0))
        foot = np.array([size * lengths["ground"], 0.0])
        places = {"crank": (0 * foot, tip), "coupler": (tip, end), "rocker": (foot, end)}
        self.bodies = {
            name: bar(kind, name, *place, mass, plane)
            for (name, place), mass in zip(places.items(), (1.0, 2.0, 1.5), strict=True)
        }
        crank, coupler, rocker = self.bodies.values()
        hinge = pin(kind, "O", GROUND, crank, (0, 0), plane)
        self.undriven = [
            crank, coupler, rocker, hinge,
            pin(kind, "A", crank, coupler, tip, plane),
            pin(kind, "B", coupler, rocker, end, plane),
            pin(kind, "C", GROUND, rocker, foot, plane),
        ]  # fmt: skip
        items = [*self.undriven, motor(kind, hinge, turning.motion, start)]
        self.system = quirk.System(items, gravity=plane.vector(size * DOWN))

    def angles(self, t, turning_angle=None):
        """Of crank, coupler and rocker (..., 3)."""
        theta = self.start + (self.turning.angle(t) if turning_angle is None else turning_angle + 0 * t)
        return np.stack([theta, *four_bar(theta, **self.lengths)], axis=-1)

    def pins(self, t, turning_angle=None):
        """Tip of the crank and far end of the coupler, (..., 2)."""
        crank, coupler, _ = np.moveaxis(self.angles(t, turning_angle), -1, 0)
        x, y = turned(crank, self.lengths["crank"], 0.0)
        along_x, along_y = turned(coupler, self.lengths["coupler"], 0.0)
        return self.size * np.stack([x, y], -1), self.size * np.stack([x + along_x, y + along_y], -1)

    def coupler_point(self, t):
        x, y = turned(self.angles(t)[..., 1], *(self.size * self.POINT))
        return sum(self.pins(t)) / 2 + np.stack([x, y], axis=-1)

    def check(self, result, note=""):
        """Compare angles and the coupler point with all their derivatives."""
        self.check_space(result, note)
        if isinstance(self.bodies["crank"], PlanarBody):
            wants = np.moveaxis(derivatives(self.angles, result.time), -1, 0)
            check([result[name].in_plane for name in self.BODIES], ANGULAR, wants, note)
            path = result["coupler"].in_plane.path(self.size * self.POINT)
            check([path], LINEAR, [derivatives(self.coupler_point, result.time)], note)

    def check_space(self, result, note=""):
        angles = derivatives(self.angles, result.time)
        about_normal = np.multiply.outer(np.moveaxis(angles, -1, 0), [0, 0, 1.0])
        check([result[name] for name in self.BODIES], ANGULAR[1:], about_normal[:, 1:], note)
        swing = angles[0, :, 2] - angles[0, 0, 2]
        hinge = result["C"].rotation[:, 2]
        agree(hinge - hinge[0], swing, note)
        path = result["coupler"].path([*(self.size * self.POINT), 0.0])
        in_space = derivatives(self.coupler_point, result.time) @ self.plane.axes[:, :2].T
        in_space[0] += self.plane.origin
        check([path], LINEAR, [in_space], note)


KINDS = pytest.mark.parametrize("kind", ["planar", "spatial"])


class TestFourBar:
    @BOTH_WAYS
    @KINDS
    @EVERY_TURNING
    def test_angles_and_coupler_point(self, kind, turning, analyse):
        bars = FourBar(kind, turning)
        bars.check(analyse(bars.system, turning.times))

    @KINDS
    @pytest.mark.parametrize("plane", [TILTED, FAR], ids=["tilted", "far"])
    def test_in_any_plane(self, kind, plane):
        bars = FourBar(kind, FASTER, plane)
        bars.check(quirk.kinematics(bars.system, FASTER.times))

    @pytest.mark.parametrize("seed", range(12))
    def test_spatial_hinges_in_planes_of_any_direction(self, seed):
        """Redundant rows are then mixed up among the axes of N."""
        normal, x = np.random.default_rng(seed).normal(size=(2, 3))
        bars = FourBar("spatial", FASTER, Plane(normal=normal, x=x))
        bars.check(quirk.kinematics(bars.system, FASTER.times))

    @KINDS
    @pytest.mark.parametrize("size", [1e-3, 1e3], ids=["mm", "km"])
    def test_of_any_size(self, kind, size):
        plain, scaled = (FourBar(kind, UNSTEADY, size=s) for s in (1.0, size))
        one, other = (quirk.kinematics(bars.system, UNSTEADY.times) for bars in (plain, scaled))
        scaled.check(other)
        for name in "OABC":
            agree(other[name].force(), size * one[name].force(), name)
        agree(other["motor"].torque(), size**2 * one["motor"].torque())

    def test_loads_of_pins_are_those_of_hinges(self):
        """In the plane spatial hinges are not redundant; across it nothing acts."""
        pins, hinges = (
            quirk.kinematics(FourBar(kind, UNSTEADY).system, UNSTEADY.times) for kind in ("planar", "spatial")
        )
        for name in "OABC":
            agree(hinges[name].force(), pins[name].force(), name)
        agree(hinges["motor"].torque() + hinges["O"].torque(), pins["motor"].torque())


class SliderCrank:
    """A crank about z, a rod with a ball and a cross at its ends, and a slider on a line that leaves the crank's plane."""

    CRANK, ROD, FROM = 0.3, 1.0, np.array([0.0, 0.3, 0.2])
    ALONG = np.array([2.0, 0.5, 1.0]) / np.sqrt(5.25)
    # The axis of the cross on the slider, perpendicular to that on the rod.
    CROSS = np.array([0.2, 1.0, -0.3]) / np.sqrt(1.13)
    # A point off the rod's axis, in body coordinates, shows all of the rod's turning.
    POINT = np.array([0.1, 0.2, -0.3])
    MASSES = np.array([1.0, 2.0, 1.5])
    GRAVITY = np.array([0.0, 0.0, -9.81])
    JOINTS = ("main", "ball", "cross", "guide", "motor")
    BODIES = ("crank", "rod", "slider")

    def __init__(self, turning):
        self.turning = turning
        tip, end, self.displacement = slider_crank(np.array(START), self.CRANK, self.ROD, self.FROM, self.ALONG)
        axes = rod_axes(tip, end, self.CROSS)
        turn = rotation.exp(np.array([0, 0, START]))
        crank = Body.box("crank", self.MASSES[0], [self.CRANK, 0.1, 0.1], position=tip / 2, orientation=turn)
        rod = Body.box("rod", self.MASSES[1], [self.ROD, 0.1, 0.1], position=(tip + end) / 2,
                       orientation=rotation.from_matrix(axes))  # fmt: skip
        slider = Body.box("slider", self.MASSES[2], [0.2, 0.2, 0.2], position=end)
        main = quirk.Revolute("main", GROUND, crank, point=[0, 0, 0], axis=[0, 0, 1])
        self.system = quirk.System([
            crank, rod, slider, main,
            quirk.Spherical("ball", crank, rod, point=tip),
            quirk.Universal("cross", slider, rod, point=end, axis_i=self.CROSS, axis_j=axes[:, 1]),
            quirk.Prismatic("guide", GROUND, slider, axis=self.ALONG),
            quirk.Drive("motor", main, turning.motion),
        ], gravity=self.GRAVITY)  # fmt: skip

    def known(self, times, of):
        """What follows from tip, slider and displacement, with its derivatives."""

        def function(t):
            return of(*slider_crank(START + self.turning.angle(t), self.CRANK, self.ROD, self.FROM, self.ALONG))

        return derivatives(function, times)

    def kinetic_and_potential_power(self, result):
        """Rate of the energy, of masses, inertias and accelerations."""
        power = np.zeros(len(result.time))
        for name, mass in zip(self.BODIES, self.MASSES, strict=True):
            view = result[name]
            power += mass * np.sum(view.velocity * (view.acceleration - self.GRAVITY), axis=1)
            power += np.sum((view.angular_velocity @ self.system[name].inertia) * view.angular_acceleration, axis=1)
        return power

    def driving_power(self, result):
        return result["motor"].torque()[:, 2] * result["main"].angular_velocity[:, 2]


class TestSpatialSliderCrank:
    @BOTH_WAYS
    @EVERY_TURNING
    def test_motion(self, turning, analyse):
        mechanism, times = SliderCrank(turning), turning.times
        known, result = mechanism.known, analyse(mechanism.system, times)
        rod = result["rod"]

        def off_axis(tip, end, s):
            return (tip + end) / 2 + rod_axes(tip, end, mechanism.CROSS) @ mechanism.POINT

        displacement = known(times, lambda tip, end, s: s - mechanism.displacement)
        agree(result["guide"].displacement[:, 2], displacement[0])
        agree(result["guide"].velocity[:, 2], displacement[1])
        tip, end = (known(times, of) for of in (lambda tip, end, s: tip, lambda tip, end, s: end))
        half = mechanism.ROD / 2
        check([result["slider"], result["slider"].path(), rod.path([half, 0, 0])], LINEAR, [end] * 3, "slider")
        check([rod.path([-half, 0, 0]), result["crank"].path([mechanism.CRANK / 2, 0, 0])], LINEAR, [tip] * 2, "tip")
        check([rod], LINEAR, [known(times, lambda tip, end, s: (tip + end) / 2)], "middle of the rod")
        check([rod.path(mechanism.POINT)], LINEAR, [known(times, off_axis)], "point off the rod")

    @BOTH_WAYS
    def test_orientation_of_the_rod(self, analyse):
        mechanism, times = SliderCrank(UNSTEADY), UNSTEADY.times
        rod = analyse(mechanism.system, times)["rod"]
        axes = mechanism.known(times, lambda tip, end, s: rod_axes(tip, end, mechanism.CROSS))
        agree(rotation.matrix(rod.orientation), axes[0])
        check([rod], ANGULAR[1:], [body_spin(axes)])

    def test_a_massless_rod_is_a_distance(self):
        crank = Body("crank", 1.0, [0.01, 0.01, 0.01])
        mechanism, times = SliderCrank(STEADY), STEADY.times
        drawn = mechanism.system
        slider = Body("slider", 1.0, [0.01, 0.01, 0.01], position=drawn["slider"].position)
        main = quirk.Revolute("main", GROUND, crank, point=[0, 0, 0], axis=[0, 0, 1])
        tip = [mechanism.CRANK * np.cos(START), mechanism.CRANK * np.sin(START), 0]
        system = quirk.System([
            crank, slider, main, quirk.Distance("rod", crank, slider, point_i=tip),
            quirk.Prismatic("guide", GROUND, slider, axis=mechanism.ALONG),
            quirk.Drive("motor", main, STEADY.motion),
        ])  # fmt: skip
        result = quirk.kinematics(system, times)
        check([result["slider"]], LINEAR, [mechanism.known(times, lambda tip, end, s: end)])


@pytest.fixture(scope="module")
def both():
    mechanism = SliderCrank(UNSTEADY)
    analysed, run = (analyse(mechanism.system, UNSTEADY.times) for analyse in (quirk.kinematics, simulated))
    return mechanism, analysed, run


class TestRunsAgainstAnalyses:
    @pytest.mark.parametrize("quantity", [*LINEAR, *ANGULAR[1:]])
    def test_motion(self, both, quantity):
        mechanism, analysed, run = both
        got, want = (np.array([getattr(r[name], quantity) for name in mechanism.BODIES]) for r in (run, analysed))
        agree(got, want)

    @pytest.mark.parametrize("load", ["force", "torque", "force_rate", "torque_rate"])
    @pytest.mark.parametrize("frame", ["inertial", "j"])
    def test_loads(self, both, load, frame):
        mechanism, analysed, run = both
        unique = analysed["ball"].unique
        assert (unique.force, unique.torque) == ("unique", "unique")
        got, want = (np.array([getattr(r[name], load)(frame) for name in mechanism.JOINTS]) for r in (run, analysed))
        agree(got, want)

    @BOTH_WAYS
    def test_power_of_the_motor_is_the_rate_of_the_energy(self, analyse):
        mechanism = SliderCrank(UNSTEADY)
        result = analyse(mechanism.system, UNSTEADY.times)
        agree(mechanism.driving_power(result), mechanism.kinetic_and_potential_power(result))

    @BOTH_WAYS
    def test_work_of_the_motor_is_the_gain_of_energy(self, analyse):
        """By Gauss' rule, at whose nodes the states are asked for: of analytic powers exact to round-off."""
        mechanism, end = SliderCrank(UNSTEADY), 4.0
        nodes, weights = np.polynomial.legendre.leggauss(60)
        result = analyse(mechanism.system, np.concatenate([[0.0], end * (1 + nodes) / 2, [end]]))
        power, energy = mechanism.driving_power(result), result.energy.total
        work = end / 2 * weights @ power[1:-1]
        assert abs(energy[-1] - energy[0]) > 0.1 * np.abs(energy).max()
        assert work == pytest.approx(energy[-1] - energy[0], abs=TOLERANCE * np.abs(energy).max())


class TestQuickReturn:
    """A crank whose pin slides in a link's slot. Above the crank's length the link swings, below it it turns round."""

    CRANK = 0.4

    def system(self, turning, depth):
        pin_at = self.CRANK * np.array([np.cos(START), np.sin(START)])
        pivot = np.array([0.0, -depth])
        crank = PlanarBody.bar("crank", (0, 0), pin_at, 1.0)
        link = PlanarBody.bar("link", pivot, pivot + 2 * (pin_at - pivot), 2.0)
        return quirk.System([
            crank, link, planar.Revolute("O", GROUND, crank, point=(0, 0)),
            planar.Revolute("P", GROUND, link, point=pivot),
            planar.PinInSlot("slot", link, crank, vector_i=(2, 0), point_j=(self.CRANK / 2, 0)),
            planar.AngleDriver("motor", GROUND, crank, turning.motion, offset=START),
        ], gravity=(*DOWN, 0))  # fmt: skip

    @BOTH_WAYS
    @EVERY_TURNING
    @pytest.mark.parametrize(("depth", "turns"), [(1.0, 0), (0.15, 10)])
    def test_angle_of_the_link(self, turning, analyse, depth, turns):
        def pin_from_pivot(t):
            theta = START + turning.angle(t)
            return self.CRANK * np.cos(theta), self.CRANK * np.sin(theta) + depth

        result = analyse(self.system(turning, depth), turning.times)
        angle = derivatives(lambda t: continued_angle(*pin_from_pivot(t)), turning.times)
        assert round((angle[0, -1] - angle[0, 0]) / (2 * np.pi)) == turns
        check([result["link"].in_plane], ANGULAR, [angle])
        distance = derivatives(lambda t: np.sqrt(sum(x**2 for x in pin_from_pivot(t))), turning.times)
        # The slot is counted from the middle of the link, where the pin is drawn.
        agree(result["slot"].displacement[:, 0], distance[0] - distance[0, 0])
        agree(result["slot"].velocity[:, 0], distance[1])


class TestPlanetaryGears:
    """A sun that is driven, three planets on an arm in a fixed ring, and a wheel that the sun turns; by Willis."""

    SUN, PLANET, RING, WHEEL = 24, 18, 60, 17
    # Half of a module of 10 mm: metres of radius for each tooth.
    TOOTH = 0.005
    ARM = TOOTH * (SUN + PLANET)
    RATIO_ARM = SUN / (SUN + RING)
    RATIO_PLANET = RATIO_ARM - SUN / PLANET * (1 - RATIO_ARM)
    BODIES = ("sun", "wheel", "arm", "planet 0", "planet 1", "planet 2")
    RATIOS = np.array([1.0, -SUN / WHEEL, RATIO_ARM, *[RATIO_PLANET] * 3])
    # The marked point on the planets' rims.
    MARK = 0.7

    def places(self):
        """Where bodies are in the plane, their radii, and the angles at which they are drawn."""
        around = 2 * np.pi / 3 * np.arange(3)
        at = [(0, 0), (self.TOOTH * (self.SUN + self.WHEEL), 0), (0, 0),
              *(self.ARM * np.array([np.cos(a), np.sin(a)]) for a in around)]  # fmt: skip
        radii = [*(self.TOOTH * teeth for teeth in (self.SUN, self.WHEEL)), self.ARM, *[self.TOOTH * self.PLANET] * 3]
        return {name: (at[k], radii[k], 0.2 * k) for k, name in enumerate(self.BODIES)}

    def system(self, kind, turning):
        bodies, xy = {}, Plane()
        for name, (at, radius, angle) in self.places().items():
            disk = PlanarBody.cylinder(name, 1.0, radius, 0.02, position=at, angle=angle)
            spatial = Body(name, 1.0, disk.inertia, position=disk.position, orientation=disk.orientation)
            bodies[name] = disk if kind == "planar" else spatial
        sun, wheel, arm, *planets = bodies.values()
        at = {name: place[0] for name, place in self.places().items()}
        axles = [pin(kind, f"axle {body.name}", GROUND, body, at[body.name], xy) for body in (sun, wheel, arm)]
        items = [*bodies.values(), *axles, motor(kind, axles[0], turning.motion, 0.0)]
        if kind == "planar":
            items.append(planar.GearPair("output", sun, wheel, ratio=-self.SUN / self.WHEEL))
        else:
            items.append(quirk.Gear("output", sun, wheel, ratio=-self.SUN / self.WHEEL, axis="z"))
        for planet in planets:
            items.append(pin(kind, f"axle {planet.name}", arm, planet, at[planet.name], xy))
            for other, ratio in ((sun, -self.SUN / self.PLANET), (GROUND, self.RING / self.PLANET)):
                name = f"{planet.name} on {'ring' if other is GROUND else 'sun'}"
                if kind == "planar":
                    items.append(planar.GearOnLink(name, other, planet, arm, ratio=ratio))
                else:
                    items.append(quirk.Gear(name, other, planet, ratio=ratio, axis="z", carrier=arm))
        return quirk.System(items, gravity=(*DOWN, 0))

    @BOTH_WAYS
    @KINDS
    def test_angles_and_epicycloids(self, kind, analyse):
        turning, times = UNSTEADY, UNSTEADY.times
        result = analyse(self.system(kind, turning), times)
        places = self.places()
        drawn = np.array([angle for _, _, angle in places.values()])
        wants = np.moveaxis(derivatives(lambda t: drawn + turning.angle(t)[..., None] * self.RATIOS, times), -1, 0)
        if kind == "planar":
            check([result[name].in_plane for name in self.BODIES], ANGULAR, wants)
        check([result[name] for name in self.BODIES], ANGULAR[1:], np.multiply.outer(wants[:, 1:], [0, 0, 1.0]))
        # Axles of planets count from the arm; of spatial joints from where the bodies are drawn, of planar ones not.
        for k, name in enumerate(self.BODIES):
            angle, want = result[f"axle {name}"].rotation[:, 2], wants[k, 0] - (wants[2, 0] if k > 2 else 0)
            agree(angle - angle[0], want - want[0], name)

        def rim(t, k):
            arm, planet = (turning.angle(t) * ratio for ratio in (self.RATIO_ARM, self.RATIO_PLANET))
            mark = planet + self.MARK + places[f"planet {k}"][2]
            centre = turned(arm + 2 * np.pi / 3 * k, self.ARM, 0.0)
            return np.stack([c + r for c, r in zip(centre, turned(mark, radius, 0.0), strict=True)], axis=-1)

        radius = self.TOOTH * self.PLANET
        mark = radius * np.array([np.cos(self.MARK), np.sin(self.MARK), 0])
        paths = [result[f"planet {k}"].path(mark) for k in range(3)]
        plane = np.eye(3)[:2]
        check(paths, LINEAR, [derivatives(lambda t, k=k: rim(t, k) @ plane, times) for k in range(3)])


def ladder(kind, loops):
    """Rockers in a row, nearly alike, coupled at their tips, the first of which swings."""
    rng, plane = np.random.default_rng(0), Plane()
    feet = np.column_stack([np.arange(loops + 1.0), np.zeros(loops + 1)])
    tips = feet + [0.3, 1.0] + 0.003 * rng.normal(size=feet.shape)
    rockers = [bar(kind, f"rocker {k}", feet[k], tips[k], 1.0, plane) for k in range(loops + 1)]
    couplers = [bar(kind, f"coupler {k}", tips[k], tips[k + 1], 1.0, plane) for k in range(loops)]
    hinges = [pin(kind, f"foot {k}", GROUND, rocker, feet[k], plane) for k, rocker in enumerate(rockers)]
    for k, coupler in enumerate(couplers):
        hinges.append(pin(kind, f"start {k}", rockers[k], coupler, tips[k], plane))
        hinges.append(pin(kind, f"end {k}", coupler, rockers[k + 1], tips[k + 1], plane))
    start = float(np.arctan2(*(tips[0] - feet[0])[::-1]))
    swing = motor(kind, hinges[0], Motion.sinusoid(0.3, 2 * np.pi), start)
    return quirk.System([*rockers, *couplers, *hinges, swing], gravity=(*DOWN, 0))


@KINDS
class TestManyLoops:
    TIMES = np.linspace(0, 1, 1000)

    def cost(self, times, *systems):
        """Least time, s, of this process, of three analyses each, after one that compiles; taken in turns."""
        for system in systems:
            quirk.kinematics(system, times[:2])
        spent = np.full(len(systems), np.inf)
        for _ in range(3):
            for k, system in enumerate(systems):
                began = time.process_time()
                quirk.kinematics(system, times)
                spent[k] = min(spent[k], time.process_time() - began)
        return spent

    def test_a_thousand_positions_of_forty_loops_in_a_second(self, kind):
        assert self.cost(self.TIMES, ladder(kind, 40))[0] < 1.0

    def test_cost_is_in_proportion_to_the_loops(self, kind):
        few, many = self.cost(self.TIMES[::3], ladder(kind, 20), ladder(kind, 80))
        assert many / 80 < 2 * few / 20

    def test_loops_are_closed(self, kind):
        result = quirk.kinematics(ladder(kind, 40), self.TIMES[::50])
        assert result.residual.position.max() < 1e-12
        turned = result["foot 0"].rotation[:, 2]
        agree(turned - turned[0], 0.3 * np.sin(2 * np.pi * result.time))
        assert np.ptp(result["foot 40"].rotation[:, 2]) > 0.4


def parallelogram(kind, drawn):
    """Driven at 1 rad/s from an angle; where all parts are in line there is another way to go on, crossed."""
    plane, tip = Plane(), 0.4 * np.array([np.cos(drawn), np.sin(drawn)])
    foot = np.array([1.0, 0])
    far = foot + tip
    crank, coupler, rocker = (
        bar(kind, name, start, end, mass, plane)
        for name, start, end, mass in (
            ("crank", 0 * tip, tip, 1.0),
            ("coupler", tip, far, 2.0),
            ("rocker", foot, far, 1.5),
        )
    )
    hinge = pin(kind, "O", GROUND, crank, (0, 0), plane)
    return quirk.System([
        crank, coupler, rocker, hinge, pin(kind, "A", crank, coupler, tip, plane),
        pin(kind, "B", coupler, rocker, far, plane), pin(kind, "C", GROUND, rocker, foot, plane),
        motor(kind, hinge, Motion.constant_rate(1.0), drawn),
    ])  # fmt: skip


@KINDS
class TestBranchPoints:
    def check(self, result):
        """The branch is kept: rocker and crank turn alike, and the coupler not at all."""
        agree(result["rocker"].angular_velocity, np.broadcast_to([0, 0, 1.0], (len(result.time), 3)))
        crank, rocker = (result[name].rotation[:, 2] for name in "OC")
        agree(rocker - rocker[0], crank - crank[0])
        np.testing.assert_allclose(result["coupler"].angular_velocity, 0, atol=TOLERANCE)

    def test_are_passed_in_steps_over_them_for_ten_turns(self, kind):
        times = np.linspace(0, TEN_TURNS, 161)  # eight a turn
        self.check(quirk.kinematics(parallelogram(kind, START), times))

    @pytest.mark.parametrize("beyond", [0.1, 0.01, 0.001, -0.001, -0.01])
    @pytest.mark.parametrize("ahead", [0.2, 1.0])
    def test_are_passed_next_to_them(self, kind, beyond, ahead):
        drawn = 0.2
        flat = np.pi - drawn
        self.check(quirk.kinematics(parallelogram(kind, drawn), [0, flat - ahead, flat + beyond, flat + 1]))

    def test_end_an_analysis_that_meets_them(self, kind):
        times = np.array([0.0, 1.0, np.pi / 2, 2.0])
        message = r'at t = 1\.5707\d* s the mechanism stands at a branch point, where [\w.]+ "\w+"'
        with pytest.raises(quirk.SimulationError, match=message) as caught:
            quirk.kinematics(parallelogram(kind, np.pi / 2), times)
        assert caught.value.time == pytest.approx(np.pi / 2, abs=DEAD_POINT)
        assert caught.value.result.status == "failed"
        np.testing.assert_array_equal(caught.value.result.time, times[:2])


# Coupler and rocker are too short for the crank to pass the angle at which they are in line.
TOO_SHORT = {"ground": 1.0, "crank": 0.6, "coupler": 0.5, "rocker": 0.6}
FARTHEST = np.arccos((1 + 0.6**2 - 1.1**2) / (2 * 0.6))


class TestWhatCannotBeReached:
    @KINDS
    @pytest.mark.parametrize("count", [4, 61, 400])
    def test_a_crank_beyond_its_reach(self, kind, count):
        start, rate = np.pi / 3, 0.5
        turning = Turning(Motion.constant_rate(rate), lambda t: rate * t)
        bars, times = FourBar(kind, turning, lengths=TOO_SHORT, start=start), np.linspace(0, 3, count)
        message = r't = 0\.79654\d* s.* (Revolute|Drive|planar\.\w+) "\w+"'
        with pytest.raises(quirk.SimulationError, match=message) as caught:
            quirk.kinematics(bars.system, times)
        reached = (FARTHEST - start) / rate
        assert caught.value.time == pytest.approx(reached, abs=DEAD_POINT)
        partial = caught.value.result
        assert partial.status == "failed"
        np.testing.assert_array_equal(partial.time, times[times < reached])
        want = derivatives(lambda t: np.array(bars.pins(t))[1], partial.time[:1], 0)[0]
        agree(partial["rocker"].path([0.3, 0, 0]).position[:1], want @ np.eye(3)[:2])

    def test_a_rod_that_is_too_short_at_the_first_time(self):
        slider = Body("slider", 1.0, [0.01, 0.01, 0.01], position=[0.2, 0.5, 0])
        guide = quirk.Prismatic("guide", GROUND, slider, axis=[1, 0, 0])
        rod = quirk.Distance("rod", GROUND, slider, length=0.4)
        with pytest.raises(quirk.AssemblyError, match='Distance "rod": cannot be assembled'):
            quirk.kinematics(quirk.System([slider, guide, rod]), [0.0, 1.0])

    @pytest.mark.parametrize(
        "second", [Motion.constant_rate(1.5), Motion.constant_rate(1.3, start=0.2), Motion.polynomial([0, 1.3, 1e-3])],
        ids=["rate", "start", "later"],
    )  # fmt: skip
    def test_drivers_that_contradict_each_other(self, second):
        crank = FourBar("planar", STEADY)
        drive = planar.AngleDriver("second", GROUND, crank.bodies["crank"], second, offset=START)
        system = quirk.System([*crank.undriven, crank.system["motor"], drive])
        with pytest.raises(quirk.QuirkError, match=r'planar\.AngleDriver "(motor|second)"'):
            quirk.kinematics(system, STEADY.times)

    def test_drivers_that_say_the_same_are_redundant(self):
        bars = FourBar("planar", STEADY)
        drive = planar.AngleDriver("second", GROUND, bars.bodies["crank"], STEADY.motion, offset=START)
        system = quirk.System([*bars.undriven, bars.system["motor"], drive])
        bars.check(quirk.kinematics(system, STEADY.times))


class TestArguments:
    def test_freedoms_that_nothing_drives_are_named(self):
        bars = FourBar("planar", STEADY)
        alone = PlanarBody("alone", 1.0, 0.1, position=(3, 0))
        with pytest.raises(
            quirk.InputError, match=r'4 of the system.s degrees of freedom.* "crank", "coupler", "rocker", "alone"'
        ):
            quirk.kinematics(quirk.System([*bars.undriven, alone]), STEADY.times)
        fixed = planar.AngleDriver("motor", GROUND, bars.bodies["crank"], STEADY.motion, offset=START)
        with pytest.raises(
            quirk.InputError, match=r'3 of the system.s degrees of freedom.* still move: "alone": add a driver'
        ):
            quirk.kinematics(quirk.System([*bars.undriven, fixed, alone]), STEADY.times)

    @pytest.mark.parametrize(
        ("times", "message"),
        [
            ([0, 1, 1], "times must increase strictly; got 1 s before 1 s"),
            ([0, 2, 1], "times must increase strictly; got 2 s before 1 s"),
            ([0, np.nan], "times must be finite"),
            ([0, np.inf], "times must be finite"),
            ([], "times must be a list of times"),
            (3.0, "times must be a list of times"),
            ([[0, 1]], "times must be a list of times"),
            (["a"], "times must be times in seconds"),
            (None, "times must be times in seconds"),
        ],
    )
    def test_times(self, times, message):
        with pytest.raises(quirk.InputError, match=f"kinematics: {message}"):
            quirk.kinematics(FourBar("planar", STEADY).system, times)

    def test_a_system(self):
        with pytest.raises(quirk.InputError, match=r"kinematics: system must be a quirk\.System; got \[1\]"):
            quirk.kinematics([1], [0.0])

    def test_a_motion_that_ends_before(self):
        ramp = Turning(Motion.spline([0, 1, 2], [0, 1, 4]), None)
        with pytest.raises(quirk.InputError, match=r'AngleDriver "motor": its .* is defined from 0 to 2 s'):
            quirk.kinematics(FourBar("planar", ramp).system, [0.0, 3.0])

    def test_one_time_and_times_that_start_anywhere(self):
        bars, times = FourBar("planar", STEADY), np.array([-1.0, -0.7, 0.6, 2.0])
        for some in (times, times[:1], times[3:]):
            bars.check(quirk.kinematics(bars.system, some))

    @pytest.mark.parametrize("seed", range(4))
    def test_parts_that_are_drawn_roughly_are_assembled(self, seed):
        bars, rng = FourBar("planar", STEADY), np.random.default_rng(seed)
        lengths = [bars.lengths[name] for name in bars.BODIES]
        crank, coupler, rocker = (
            PlanarBody(name, 1.0, 0.02, position=body.coordinates[:2] + 0.1 * rng.normal(size=2),
                       angle=body.coordinates[2] + 0.1 * rng.normal())
            for name, body in bars.bodies.items()
        )  # fmt: skip
        starts, ends = ([(s * length / 2, 0) for length in lengths] for s in (-1, 1))
        system = quirk.System([
            crank, coupler, rocker,
            planar.Revolute("O", GROUND, crank, point_i=(0, 0), point_j=starts[0]),
            planar.Revolute("A", crank, coupler, point_i=ends[0], point_j=starts[1]),
            planar.Revolute("B", coupler, rocker, point_i=ends[1], point_j=ends[2]),
            planar.Revolute("C", GROUND, rocker, point_i=(1, 0), point_j=starts[2]),
            planar.AngleDriver("motor", GROUND, crank, STEADY.motion, offset=START),
        ])  # fmt: skip
        bars.check(quirk.kinematics(system, STEADY.times))


class TestDerivativesThatAreMissing:
    @pytest.mark.parametrize("analyse", [quirk.kinematics, simulated])
    def test_of_a_function(self, analyse):
        short = Turning(Motion.function(*WAVE.functions[:3]), wave)
        bars = FourBar("planar", short)
        result = analyse(bars.system, short.times)
        angles = derivatives(bars.angles, result.time)
        agree(result["rocker"].in_plane.angular_acceleration, angles[2, :, 2])
        assert np.isfinite(result["A"].force()).all()
        for give, quantity in (("f_ttt", "jerk"), ("f_ttt", "angular_jerk"), ("f_tttt", "snap")):
            with pytest.raises(quirk.InputError, match=f'"motor".* no {give}, so there is no .*: give {give}'):
                getattr(result["rocker"], quantity)
        with pytest.raises(quirk.InputError, match=r'"motor".* no f_ttt'):
            result["A"].force_rate()

    def test_jerk_of_a_function_without_its_fourth_derivative(self):
        short = Turning(Motion.function(*WAVE.functions[:4]), wave)
        bars = FourBar("planar", short)
        result = quirk.kinematics(bars.system, short.times)
        agree(result["rocker"].in_plane.angular_jerk, derivatives(bars.angles, result.time)[3, :, 2])
        with pytest.raises(quirk.InputError, match=r'"motor".* no f_tttt, so there is no snap'):
            result["rocker"].angular_snap  # noqa: B018

    def test_of_custom_rows(self):
        def rows(t, position, orientation, velocity, angular_velocity):
            along_x = np.eye(1, 7)
            return along_x, [-np.sin(t)], [position[0, 0] - np.sin(t)], [velocity[0, 0] - np.cos(t)]

        block, times = Body.box("block", 1.0, [0.1, 0.1, 0.1]), np.linspace(0, TEN_TURNS, OUTPUTS)
        slide = quirk.Prismatic("slide", GROUND, block, axis=[1, 0, 0])
        result = quirk.kinematics(quirk.System([block, slide, quirk.CustomRows("wave", [block], rows)]), times)
        agree(result["block"].position[:, 0], np.sin(times))
        agree(result["block"].acceleration[:, 0], -np.sin(times))
        for quantity in ("jerk", "snap"):
            with pytest.raises(quirk.InputError, match=f'"wave".* no derivatives, so there is no {quantity}'):
                getattr(result["block"], quantity)
