"""Mechanisms that are driven in all freedoms, analyzed and simulated, against closed forms over ten turns."""

import numpy as np
import pytest
from closed_forms import body_spin, continued_angle, derivatives, rod_axes, slider_crank, turned
from driven import (
    ANGULAR,
    DOWN,
    KINDS,
    LINEAR,
    START,
    STEADY,
    TOLERANCE,
    WAVE,
    FourBar,
    Turning,
    agree,
    check,
    motor,
    pin,
    simulated,
    wave,
)
from quirk.constraints.planar import PlanarBody, Plane
from studies import study

import quirk
from quirk import GROUND, Body, Motion, planar, rotation

TILTED = Plane(origin=(30, -20, 50), normal=(1, 2, 3), x=(1, 0, 1))
FAR = Plane(origin=(1e4, -1e4, 1e4), normal=(1, 2, 3), x=(1, 0, 1))


FASTER = Turning(Motion.polynomial([0, 0.8, 0.013]), lambda t: 0.8 * t + 0.013 * t**2)
UNSTEADY = Turning(WAVE, wave)
EVERY_TURNING = pytest.mark.parametrize("turning", [STEADY, FASTER, UNSTEADY], ids=["steady", "faster", "unsteady"])


BOTH_WAYS = pytest.mark.parametrize("analyze", [quirk.kinematics, simulated], ids=["kinematics", "simulated"])


class TestFourBar:
    @BOTH_WAYS
    @KINDS
    @EVERY_TURNING
    def test_angles_and_coupler_point(self, kind, turning, analyze):
        bars = FourBar(kind, turning)
        bars.check(analyze(bars.system, turning.times))

    @KINDS
    @pytest.mark.parametrize("plane", [TILTED, FAR], ids=["tilted", "far"])
    def test_in_any_plane(self, kind, plane):
        bars = FourBar(kind, FASTER, plane)
        bars.check(quirk.kinematics(bars.system, FASTER.times))

    @pytest.mark.parametrize("seed", study(range(12), 3))
    def test_spatial_hinges_in_planes_of_any_direction(self, seed):
        """Redundant rows are then mixed up among the axes of N."""
        normal, x = np.random.default_rng(seed).normal(size=(2, 3))
        bars = FourBar("spatial", FASTER, Plane(normal=normal, x=x))
        bars.check(quirk.kinematics(bars.system, FASTER.times))

    @KINDS
    @pytest.mark.parametrize("size", study([1e-3, 1e3], 1), ids=["mm", "km"])
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
    def test_motion(self, turning, analyze):
        mechanism, times = SliderCrank(turning), turning.times
        known, result = mechanism.known, analyze(mechanism.system, times)
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
    def test_orientation_of_the_rod(self, analyze):
        mechanism, times = SliderCrank(UNSTEADY), UNSTEADY.times
        rod = analyze(mechanism.system, times)["rod"]
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
    analyzed, run = (analyze(mechanism.system, UNSTEADY.times) for analyze in (quirk.kinematics, simulated))
    return mechanism, analyzed, run


class TestRunsAgainstAnalyses:
    @pytest.mark.parametrize("quantity", [*LINEAR, *ANGULAR[1:]])
    def test_motion(self, both, quantity):
        mechanism, analyzed, run = both
        got, want = (np.array([getattr(r[name], quantity) for name in mechanism.BODIES]) for r in (run, analyzed))
        agree(got, want)

    @pytest.mark.parametrize("load", ["force", "torque", "force_rate", "torque_rate"])
    @pytest.mark.parametrize("frame", ["inertial", "j"])
    def test_loads(self, both, load, frame):
        mechanism, analyzed, run = both
        unique = analyzed["ball"].unique
        assert (unique.force, unique.torque) == ("unique", "unique")
        got, want = (np.array([getattr(r[name], load)(frame) for name in mechanism.JOINTS]) for r in (run, analyzed))
        agree(got, want)

    @BOTH_WAYS
    def test_power_of_the_motor_is_the_rate_of_the_energy(self, analyze):
        mechanism = SliderCrank(UNSTEADY)
        result = analyze(mechanism.system, UNSTEADY.times)
        agree(mechanism.driving_power(result), mechanism.kinetic_and_potential_power(result))

    @BOTH_WAYS
    def test_work_of_the_motor_is_the_gain_of_energy(self, analyze):
        """By Gauss' rule, at whose nodes the states are asked for: of analytic powers exact to round-off."""
        mechanism, end = SliderCrank(UNSTEADY), 4.0
        nodes, weights = np.polynomial.legendre.leggauss(60)
        result = analyze(mechanism.system, np.concatenate([[0.0], end * (1 + nodes) / 2, [end]]))
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
    def test_angle_of_the_link(self, turning, analyze, depth, turns):
        def pin_from_pivot(t):
            theta = START + turning.angle(t)
            return self.CRANK * np.cos(theta), self.CRANK * np.sin(theta) + depth

        result = analyze(self.system(turning, depth), turning.times)
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
    # Half of a module of 10 mm: meters of radius for each tooth.
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
    def test_angles_and_epicycloids(self, kind, analyze):
        turning, times = UNSTEADY, UNSTEADY.times
        result = analyze(self.system(kind, turning), times)
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
            center = turned(arm + 2 * np.pi / 3 * k, self.ARM, 0.0)
            return np.stack([c + r for c, r in zip(center, turned(mark, radius, 0.0), strict=True)], axis=-1)

        radius = self.TOOTH * self.PLANET
        mark = radius * np.array([np.cos(self.MARK), np.sin(self.MARK), 0])
        paths = [result[f"planet {k}"].path(mark) for k in range(3)]
        plane = np.eye(3)[:2]
        check(paths, LINEAR, [derivatives(lambda t, k=k: rim(t, k) @ plane, times) for k in range(3)])
