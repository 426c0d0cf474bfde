"""Derivatives of runs by parameters and initial conditions, against extrapolated differences of runs."""

import numpy as np
import pytest
from differences import extrapolated
from scipy.special import ellipk
from studies import study

import quirk
from benchmarks import references
from quirk.analysis.assembly import assemble

TIGHT = {"rtol": 1e-12, "atol": 1e-14}
STATES = ("position", "orientation", "velocity", "angular_velocity")


def shown(view, names):
    """All states of bodies side by side, of a result or of a sensitivity."""
    return np.concatenate([getattr(view[name], what) for name in names for what in STATES], axis=1)


def compare(build, key, index=(), *, span=1.0, h=2e-2, loads=(), others=(), tolerance=1e-8, **options):
    """Check a sensitivity against differences of runs of `build(x)`, x being added to the number it is by.

    `others` are names of quantities with functions that read them off a result.
    """
    options = {**TIGHT, "output": 0.25, **options}
    system = build(0.0)
    start, names = system.initial_state(), [body.name for body in system.bodies]
    here = quirk.simulate(system, span, sensitivities=[key], **options).sensitivity[key]

    def run(x):
        moved = build(x)
        result = quirk.simulate(moved, span, initial_state=assemble(moved, start, 0.0), **options)
        parts = [
            shown(result, names),
            *(result[one].force() for one in loads),
            *(result[one].torque() for one in loads),
        ]
        return np.concatenate([*parts, *(read(result)[:, None] for _, read in others)], axis=1)

    chosen = (slice(None), slice(None), *index)
    parts = [shown(here, names)[chosen]]
    parts += [here[one].force()[chosen] for one in loads] + [here[one].torque()[chosen] for one in loads]
    parts += [here.of(name)[(slice(None), *index)][:, None] for name, _ in others]
    got, want = np.concatenate(parts, axis=1), extrapolated(run, h)
    split = 13 * len(names)
    for part in (slice(0, split), slice(split, None)):
        np.testing.assert_allclose(got[:, part], want[:, part], atol=tolerance * np.abs(want[:, part]).max(initial=0.0))
    assert np.abs(want).max() > 0


def test_period_of_a_pendulum():
    """By gravity and length, from the times at which it passes the lowest point."""
    g, length, angle = 9.81, 0.7, 0.8
    bob = quirk.Body("bob", 1.3, [0.02, 0.02, 0.01], position=length * np.array([np.sin(angle), 0, -np.cos(angle)]))
    rod = quirk.Distance("rod", quirk.GROUND, bob, length=length)
    passed = quirk.Event("passed", "bob.position.x", direction=-1)
    system = quirk.System([bob, rod, passed], gravity=[0, 0, -g])
    keys = ["gravity", ("rod", "length")]
    result = quirk.simulate(system, 3.0, output=[3.0], sensitivities=keys, **TIGHT)
    period = 4 * np.sqrt(length / g) * ellipk(np.sin(angle / 2) ** 2)
    first, second = (event.time for event in result.events)
    assert second - first == pytest.approx(period, rel=1e-11)
    by_gravity, by_length = (np.diff(result.sensitivity[key].event_times, axis=0)[0] for key in keys)
    assert by_length == pytest.approx(period / (2 * length), rel=1e-8)
    np.testing.assert_allclose(by_gravity[1:], [0, period / (2 * g)], atol=1e-8 * period)


ORBIT = {"position": [1.0, 0.2, 0.1], "velocity": [-0.2, 0.9, 0.3]}


def orbit(mass=2.0, mu=1.0, **start):
    """An orbit about a heavy center that is free itself, held together by a spring as well."""
    sun = quirk.Body("sun", 5.0, [1.0, 1.1, 1.2])
    planet = quirk.Body("planet", mass, [0.1, 0.12, 0.14], angular_velocity=[0.5, 1.0, 0.2], **{**ORBIT, **start})
    pull = quirk.PointGravity("pull", sun, planet, mu=mu)
    band = quirk.Spring("band", sun, planet, point_j=[0.1, 0.0, 0.05], stiffness=0.3, damping=0.1, rest_length=0.8)
    return quirk.System([sun, planet, pull, band])


@pytest.mark.parametrize(
    ("key", "index", "build"),
    [
        (("planet", "position"), (1,), lambda x: orbit(position=np.add(ORBIT["position"], [0, x, 0]))),
        (("planet", "velocity"), (2,), lambda x: orbit(velocity=np.add(ORBIT["velocity"], [0, 0, x]))),
        (("planet", "mass"), (), lambda x: orbit(mass=2.0 + x)),
        (("pull", "mu"), (), lambda x: orbit(mu=1.0 + x)),
    ],
)
def test_of_an_elastic_orbit(key, index, build):
    system = build(0.0)
    got = quirk.simulate(system, 5.0, output=1.0, sensitivities=[key], **TIGHT).sensitivity[key]
    want = extrapolated(lambda x: shown(quirk.simulate(build(x), 5.0, output=1.0, **TIGHT), ["sun", "planet"]), rows=5)
    found = shown(got, ["sun", "planet"])[(slice(None), slice(None), *index)]
    np.testing.assert_allclose(found, want, atol=1e-8 * np.abs(want).max())


LINKS = {"a": 0.5, "b": 0.8, "c": 0.7, "d": 0.45}


def five_bar(**more):
    """Two free coordinates, two springs and a damper; `more` is added to the numbers it is named by."""

    def number(name, value):
        return value + more.get(name, 0.0)

    points = {"a": ([0, 0], [0.1, 0.49]), "b": ([0.1, 0.49], [0.7, 0.9]), "c": ([0.7, 0.9], [1.1, 0.35]),
              "d": ([1.1, 0.35], [1.0, -0.08])}  # fmt: skip
    links, joints, before = [], [], quirk.GROUND
    for name, (start, end) in points.items():
        middle, along = np.mean([start, end], axis=0), np.subtract(end, start)
        angle = np.arctan2(along[1], along[0])
        link = quirk.planar.PlanarBody(
            name, number(f"{name}.mass", 0.6), number(f"{name}.inertia", 0.03), position=middle, angle=angle
        )
        joints.append(quirk.planar.Revolute(f"{name}0", before, link, point=start))
        links.append(link)
        before = link
    joints.append(quirk.planar.Revolute("end", before, quirk.GROUND, point=[1.0, -0.08]))
    one = quirk.Spring("one", quirk.GROUND, links[1], point_i=[0, 1.0, 0], stiffness=number("one.stiffness", 20.0),
                       damping=number("one.damping", 0.3), rest_length=number("one.rest_length", 0.6))  # fmt: skip
    two = quirk.TorsionSpring("two", joints[2], stiffness=number("two.stiffness", 0.8),
                              damping=number("two.damping", 0.05), rest_angle=number("two.rest_angle", 0.2))  # fmt: skip
    return quirk.System([*links, *joints, one, two], gravity=[0, -9.81, 0])


def driven(x=0.0, what=None):
    """A crank under a load that swings drives a rod in space, which pushes a block: a loop of all kinds of numbers."""
    given = dict.fromkeys(["amplitude", "frequency", "phase", "length", "center", "frame", "turn", "arm", "rest"], 0.0)
    given.update({} if what is None else {what: x})
    c = given["center"]
    crank = quirk.Body("crank", 1.3, [[0.1, 0.01, 0], [0.01, 0.11, 0], [0, 0, 0.12]], position=[0.5 + c, 0, 0])
    block = quirk.Body("block", 0.7, [0.02, 0.03, 0.025], position=[1.4, 0.1, -0.2])
    turned = quirk.rotation.multiply(UPRIGHT, quirk.rotation.exp(np.array([0, given["turn"], 0])))
    hinge = quirk.Revolute(
        "hinge", quirk.GROUND, crank, frame_i=quirk.Frame([given["frame"], 0, 0], turned),
        frame_j=quirk.Frame([-0.5 - c, 0, 0], UPRIGHT),
    )  # fmt: skip
    link = quirk.Distance(
        "link", crank, block, point_i=[0.5 - c, 0, 0], point_j=[-0.1, 0, 0], length=0.36 + given["length"]
    )
    push = quirk.Motion.sinusoid(0.3 + given["amplitude"], 2.0 + given["frequency"], 0.4 + given["phase"])
    load = quirk.JointTorque("load", hinge, push)
    spring = quirk.Spring(
        "spring", quirk.GROUND, block, point_i=[1.0, 0, 1.0], point_j=[0.1 + given["arm"], 0, 0], stiffness=30.0,
        damping=0.4, rest_length=0.8 + given["rest"],
    )  # fmt: skip
    system = quirk.System([crank, block, hinge, link, load, spring], gravity=[0, 0, -9.81])
    system.assemble()
    return system


# An axis along y: z of the frame.
UPRIGHT = quirk.rotation.from_matrix(np.array([[1.0, 0, 0], [0, 0, 1.0], [0, -1.0, 0]]))


@pytest.mark.parametrize(
    ("what", "key", "index"),
    study(
        [
            ("amplitude", ("load", "torque.amplitude"), ()),
            ("frequency", ("load", "torque.angular_frequency"), ()),
            ("length", ("link", "length"), ()),
            ("center", ("crank", "center_of_mass"), (0,)),
            ("frame", ("hinge", "frame_i.origin"), (0,)),
            ("turn", ("hinge", "frame_i.rotation"), (1,)),
            ("arm", ("spring", "point_j"), (0,)),
        ],
        3,
    ),
)
def test_of_a_loop_in_space(what, key, index):
    """By a motion, a length, frames, a center of mass: with loads, and an angle whose frames move."""
    angle = "hinge.angle", lambda result: result["hinge"].rotation[:, 2]
    compare(lambda x: driven(x, what), key, index, span=0.5, h=1e-2, loads=["hinge", "spring"], others=[angle])


def ball(restitution=0.8, gravity=9.81, drop=1.0):
    """A ball that bounces."""
    body = quirk.Body.sphere("ball", 1.0, 0.1, position=[0, 0, drop + 0.1])
    surfaces = {"on_i": quirk.surface.plane([0, 0, 0], [0, 0, 1]), "on_j": quirk.surface.sphere(0.1)}
    floor = quirk.Contact("floor", quirk.GROUND, body, restitution=restitution, **surfaces)
    return quirk.System([body, floor], gravity=[0, 0, -gravity])


def test_of_bounces():
    """Height and times of three bounces, in closed form."""
    keys = [("floor", "restitution"), "gravity", ("ball", "position")]
    result = quirk.simulate(ball(), 1.9, output=[0.2, 1.9], sensitivities=keys, **TIGHT)
    bounces = [event.time for event in result.events]
    assert len(bounces) == 3

    def flight(e, g, h, t=1.9):
        fall = np.sqrt(2 * h / g)
        times = [fall * (1 + 2 * sum(e**k for k in range(1, n + 1))) for n in range(3)]
        since, speed = t - times[-1], e**3 * g * fall
        return np.array([speed * since - g * since**2 / 2, *times])

    want = [
        extrapolated(lambda x: flight(0.8 + x, 9.81, 1.0), 1e-2),
        -extrapolated(lambda x: flight(0.8, 9.81 + x, 1.0), 1e-2),
        extrapolated(lambda x: flight(0.8, 9.81, 1.0 + x), 1e-2),
    ]
    for key, wanted in zip(keys, want, strict=True):
        one = result.sensitivity[key]
        got = np.array([one["ball"].position[-1, 2].ravel()[-1], *one.event_times.reshape(len(bounces), -1)[:, -1]])
        np.testing.assert_allclose(got, wanted, rtol=1e-8)


def clutch(x=0.0, what=None):
    """Two pendulums: one bounces off a stop and is then coupled to the other, and let go again."""
    given = {"mass": 0.0, "limit": 0.0, "gravity": 0.0}
    given.update({} if what is None else {what: x})
    one = quirk.Body("one", 1.0 + given["mass"], [0.05, 0.06, 0.02], position=[0.6, 0, 0])
    two = quirk.Body("two", 0.8, [0.05, 0.04, 0.03], position=[0.3, 0.5, 0])
    pin = quirk.Revolute("pin", quirk.GROUND, one, point=[0, 0, 0], axis=[0, 1, 0])
    pivot = quirk.Revolute("pivot", quirk.GROUND, two, point=[0, 0.5, 0], axis=[0, 1, 0])
    end = quirk.Stop("end", pin, upper=1.0 + given["limit"], restitution=0.4)
    latch = quirk.Distance("latch", one, two, length=0.75, active=False)
    near = quirk.Event("near", quirk.distance_between(one, two), direction=1, level=0.75, action=quirk.engage("latch"))
    off = quirk.Event("off", "pivot.angle", level=2.16, direction=-1, action=quirk.release("latch"))
    parts = [one, two, pin, pivot, end, latch, near, off]
    return quirk.System(parts, gravity=[0, 0, -9.81 - given["gravity"]])


@pytest.mark.parametrize(
    ("what", "key", "index"), [("mass", ("one", "mass"), ()), ("limit", ("end", "upper"), ()),
                               ("gravity", "gravity", (2,))],
)  # fmt: skip
def test_of_impacts_and_latches(what, key, index):
    """A free impact, a latch, an impact while it holds, and its release: states between all of them, and times."""
    options = {"output": [0.2, 0.4, 0.46, 0.6, 0.7, 0.78], **TIGHT}

    def counted(result):
        """Rows of events: while the latch holds, what it holds may cross its own level by round-off."""
        names = [event.name for event in result.events]
        first = names.index("near")
        rows = [row for row, name in enumerate(names) if name != "near" or row == first]
        assert [names[row] for row in rows] == ["end", "near", "end", "off"]
        return rows

    def run(x):
        result = quirk.simulate(clutch(x, what), 0.78, **options)
        # Events are kept on both sides: at times of their own.
        kept = np.isin(result.time, options["output"])
        times = [result.events[row].time for row in counted(result)]
        return np.concatenate([shown(result, ["one", "two"])[kept].ravel(), result["pin"].force()[kept].ravel(), times])

    result = quirk.simulate(clutch(), 0.78, sensitivities=[key], **options)
    one, kept = result.sensitivity[key], np.isin(result.time, options["output"])
    chosen = (slice(None), slice(None), *index)
    states, load = shown(one, ["one", "two"])[chosen][kept], one["pin"].force()[chosen][kept]
    got = np.concatenate([states.ravel(), load.ravel(), one.event_times[(counted(result), *index)]])
    want = (-1.0 if what == "gravity" else 1.0) * extrapolated(run, 2e-3)
    np.testing.assert_allclose(got, want, atol=1e-8 * np.abs(want).max())


FIVE = [("a", "mass"), ("b", "mass"), ("c", "inertia"), ("d", "mass"), ("one", "stiffness"), ("one", "damping"),
        ("one", "rest_length"), ("two", "stiffness"), ("two", "damping"), ("two", "rest_angle")]  # fmt: skip


def test_of_a_five_bar_by_all_its_numbers():
    """In a direction that changes all of them."""
    along = dict(zip(map(".".join, FIVE), np.random.default_rng(1).uniform(0.3, 1.0, len(FIVE)), strict=True))
    names, loads, options = ["a", "b", "c", "d"], ["c0", "one"], {"output": 0.25, **TIGHT}

    def run(x):
        result = quirk.simulate(five_bar(**{name: x * by for name, by in along.items()}), 1.0, **options)
        parts = [shown(result, names), *(result[one].force() for one in loads), result["c0"].rotation[:, 2:]]
        return np.concatenate(parts, axis=1)

    found = quirk.simulate(five_bar(), 1.0, sensitivities=FIVE, **options).sensitivity
    got = 0.0
    for key in FIVE:
        one = found[key]
        parts = [shown(one, names), *(one[load].force() for load in loads), one.of("c0.angle")[:, None]]
        got = got + along[".".join(key)] * np.concatenate(parts, axis=1)
    want = extrapolated(run, 5e-3)
    for part in (slice(0, 52), slice(52, None)):
        np.testing.assert_allclose(got[:, part], want[:, part], atol=1e-8 * np.abs(want[:, part]).max())


@pytest.mark.parametrize(("name", "span"), [("heavy_top", 0.6), ("ball_chain10", 0.5), ("bricard", 1.0)])
def test_along_taylor_series(name, span):
    """Steps of a series are long: they are cut into parts that another method can take."""
    system = references.build(references.load(name))
    keys = ["gravity", *([] if name == "bricard" else [(system.bodies[-1].name, "mass")])]
    names, found = [body.name for body in system.bodies], []
    for method, rtol in (("Vern9", 1e-13), ("Taylor", 1e-10), ("Taylor", 1e-13)):
        options = {"method": method, "rtol": rtol, "atol": rtol / 100, "output": span / 7}
        here = quirk.simulate(system, span, sensitivities=keys, **options).sensitivity
        found.append(np.concatenate([shown(here[key], names).ravel() for key in keys]))
    size = np.abs(found[0]).max()
    assert np.abs(found[1] - found[0]).max() < 1e-9 * size
    assert np.abs(found[2] - found[0]).max() < 3e-12 * size


def test_through_impacts_along_taylor_series():
    both = [
        quirk.simulate(clutch(), 0.6, sensitivities=["gravity", ("end", "upper")], method=method, output=0.6, **TIGHT)
        for method in ("Vern9", "Taylor")
    ]
    for key in ("gravity", ("end", "upper")):
        one, other = (shown(result.sensitivity[key], ["one", "two"])[-1] for result in both)
        np.testing.assert_allclose(other, one, atol=1e-9 * np.abs(one).max())


def test_a_number_on_which_the_structure_depends_is_refused():
    """The teeth of gears follow from their ratio."""
    one, two = (quirk.Body(name, 1.0, [1, 1, 1], position=[x, 0, 0]) for name, x in (("one", 0), ("two", 1)))
    hinges = [
        quirk.Revolute(f"hinge {body.name}", quirk.GROUND, body, point=body.position, axis=[0, 0, 1])
        for body in (one, two)
    ]
    system = quirk.System([one, two, *hinges, quirk.Gear("gears", one, two, ratio=-0.5, axis=[0, 0, 1])])
    with pytest.raises(quirk.InputError, match="Gear \"gears\": 'ratio' cannot be varied"):
        quirk.simulate(system, 1.0, sensitivities=[("gears", "ratio")])


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("method", ["Vern9", "DOP853", "Tsit5", "Taylor", "RadauIIA9", "Rodas5P", "auto"])
def test_what_rests_and_would_vibrate(method, unit):
    """Steps grow while nothing moves; derivatives by the start and by a load are vibrations all the same."""
    mass, stiffness, span = 2.0, 800.0, 10.0
    body = quirk.Body("body", mass, [0.1 * unit**2] * 3)
    rail = quirk.Prismatic("rail", quirk.GROUND, body, axis=[1, 0, 0])
    spring = quirk.Spring("spring", quirk.GROUND, body, point_i=[-unit, 0, 0], point_j=[0] * 3, stiffness=stiffness)
    system = quirk.System([body, rail, spring, quirk.Force("push", body, [0.0, 0.0, 0.0])])
    by_speed, by_push = ("body", "velocity"), ("push", "force")
    run = quirk.simulate(system, span, output=[1, 5, 10], method=method, sensitivities=[by_speed, by_push])
    omega = np.sqrt(stiffness / mass)
    for key, exact in (
        (by_speed, np.sin(omega * run.time) / omega),
        (by_push, (1 - np.cos(omega * run.time)) / stiffness),
    ):
        found = run.sensitivity[key]["body"].position[:, 0, 0]
        np.testing.assert_allclose(found, exact, atol=5e-6 * np.abs(exact).max())


def test_a_plane_motion_with_a_fast_swing_across():
    """A slow pendulum in a plane, stiff across it: what does not move in the run moves in the derivatives."""

    def build(speed):
        bob = quirk.Body("bob", 1.0, [0.1] * 3, position=[0.3, 0, -0.4], velocity=[0, speed, 0])
        rope = quirk.Distance("rope", quirk.GROUND, bob, length=0.5)
        side = quirk.Force("side", bob, lambda t, r, q, v, w: [0.0, -2500.0 * r[1], 0.0])
        return quirk.System([bob, rope, side], gravity=[0, 0, -9.81])

    tight = {"output": [1.0, 3.0], "rtol": 1e-10, "atol": 1e-13}
    key = ("bob", "velocity")
    found = quirk.simulate(build(0.0), 3.0, sensitivities=[key], **tight).sensitivity[key]["bob"].position[-2:, 1, 1]
    h = 1e-4
    high, low = (quirk.simulate(build(s), 3.0, **tight)["bob"].position[-2:, 1] for s in (h, -h))
    np.testing.assert_allclose(found, (high - low) / (2 * h), rtol=1e-5)


def test_numbers_without_any_effect_cost_no_parts():
    """What changes by round-off alone is as fast as any; nothing is cut for it."""
    rod = quirk.Body("rod", 1.2, [0.005, 0.1, 0.1], position=[0.5, 0, 0])
    hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0])
    system = quirk.System([rod, hinge], gravity=[0, 0, -9.81])

    def by_mass(keys):
        return (
            quirk.simulate(system, 5.0, output=[5.0], sensitivities=keys)
            .sensitivity["rod", "mass"]
            .of("hinge.angle_rate")
        )

    alone = by_mass([("rod", "mass")])
    np.testing.assert_array_equal(alone, by_mass([("rod", "mass"), ("rod", "inertia"), "gravity"]))


def test_what_no_step_resolves_is_told():
    body = quirk.Body("body", 1.0, [1.0] * 3)
    rail = quirk.Prismatic("rail", quirk.GROUND, body, axis=[1, 0, 0])
    spring = quirk.Spring("spring", quirk.GROUND, body, point_i=[-1, 0, 0], point_j=[0] * 3, stiffness=1e12)
    system = quirk.System([body, rail, spring])
    with pytest.warns(quirk.SensitivityWarning, match="derivatives change too fast to be resolved"):
        quirk.simulate(system, 1.0, method="Tsit5", sensitivities=[("body", "velocity")])


def without_derivative(method):
    body = quirk.Body("body", 1.0, [1.0] * 3)
    rail = quirk.Prismatic("rail", quirk.GROUND, body, axis=[1, 0, 0])
    push = quirk.JointForce("push", rail, lambda t, state: 1.0 - 0.5 * state["body"].speed)
    system = quirk.System([body, rail, push])
    return quirk.simulate(system, 1.0, method=method, sensitivities=[("body", "mass")])


def test_a_load_that_has_no_derivative_at_rest_is_told():
    with pytest.warns(quirk.SensitivityWarning, match="from t = 0 s on .*; a load may have no derivative there"):
        without_derivative("Tsit5")
    with pytest.raises(quirk.SimulationError, match="a load may have no derivative there, such as"):
        without_derivative("RadauIIA9")
