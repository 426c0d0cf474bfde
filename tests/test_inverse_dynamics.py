"""Efforts of actuators for prescribed motions: against Newton-Euler equations written here, power, and scales."""

import numpy as np
import pytest
from closed_forms import derivatives
from scipy.spatial.transform import Rotation

import quirk
from quirk import GROUND, Body, Motion, planar

TIMES = np.linspace(0, 2, 9)


def agree(got, want, part=1e-10):
    """Whether arrays differ by less than a part of the largest that is wanted."""
    np.testing.assert_allclose(got, want, rtol=0, atol=part * np.abs(want).max())


# A Gough platform: universal joints on the ground, spherical ones on the platform, a prismatic one in each leg.
BASE, TOP = 0.7, 0.35
PLATE = np.array([0.05, -0.03, 0.8])  # where it starts
SHIFT = [(0.08, 2.0, 0.3), (0.06, 3.0, 0.0), (0.05, 2.5, 1.0)]
TURN = [(0.15, 2.0, 0.0), (0.12, 1.5, 0.5), (0.2, 1.0, 0.2)]
WEIGHT = np.array([0.0, 0.0, -9.81])
LOWER, UPPER = 1.5, 0.8


def wave(kind, t):
    amplitude, rate, phase = kind
    return amplitude * (np.sin(rate * t + phase) - np.sin(phase))


def sinusoid(kind, start=0.0):
    amplitude, rate, phase = kind
    return Motion.sinusoid(amplitude, rate, phase, start - amplitude * np.sin(phase))


def ring(radius, spread):
    angles = [base + side * spread for base in np.radians([90, 210, 330]) for side in (-1, 1)]
    return radius * np.array([[np.cos(a), np.sin(a), 0] for a in angles])


def crossed(a, b):
    """Vector products (..., 3), of complex numbers too."""
    return np.stack([a[..., k - 2] * b[..., k - 1] - a[..., k - 1] * b[..., k - 2] for k in range(3)], axis=-1)


def unit(a):
    return a / np.sqrt((a * a).sum(axis=-1, keepdims=True))


def about(axis, angle):
    c, s, R = np.cos(angle), np.sin(angle), np.zeros((*np.shape(angle), 3, 3), dtype=np.asarray(angle).dtype)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    R[..., axis, axis] = 1
    R[..., i, i] = R[..., j, j] = c
    R[..., i, j], R[..., j, i] = -s, s
    return R


FEET, HEADS = ring(BASE, np.radians(10)), ring(TOP, np.radians(50))
CROSS_I = unit(crossed(FEET, np.array([0, 0, 1.0])))


def platform_pose(t):
    """Position and axes of the platform, at complex times too."""
    t = np.asarray(t)
    shift = np.stack([wave(kind, t) for kind in SHIFT], axis=-1)
    x, y, z = (about(axis, wave(kind, t)) for axis, kind in enumerate(TURN))
    return PLATE + shift, x @ y @ z


def leg_axes(k, t):
    """Length, direction and second axis of a cross of a leg."""
    position, R = platform_pose(t)
    along = position + R @ HEADS[k] - FEET[k]
    length = np.sqrt((along * along).sum(axis=-1))
    u = along / length[..., None]
    return length, u, unit(crossed(np.broadcast_to(CROSS_I[k], u.shape), u))


def gough():
    plate = Body("plate", 12.0, [0.5, 0.6, 0.9], position=PLATE)
    items = [plate, quirk.Free("pose", GROUND, plate, frame_i=quirk.Frame(PLATE), frame_j=quirk.Frame())]
    for k in range(6):
        _, u, b = (np.real(x) for x in leg_axes(k, 0.0))
        foot, head = FEET[k], PLATE + HEADS[k]
        axes = Rotation.from_matrix(np.stack([crossed(b, u), b, u], axis=1))
        lower = Body(f"lower {k}", LOWER, [0.05, 0.06, 0.02], position=foot + 0.25 * u, orientation=axes)
        upper = Body(f"upper {k}", UPPER, [0.03, 0.04, 0.012], position=head - 0.2 * u, orientation=axes)
        items += [
            lower, upper,
            quirk.Universal(f"foot {k}", GROUND, lower, point=foot, axis_i=CROSS_I[k], axis_j=b),
            quirk.Prismatic(f"leg {k}", lower, upper, axis=u),
            quirk.Spherical(f"head {k}", upper, plate, point=head),
        ]  # fmt: skip
    items.append(
        quirk.TrajectoryDrive("path", GROUND, plate, *(sinusoid(x, c) for x, c in zip(SHIFT, PLATE, strict=True)))
    )
    items += [
        quirk.Drive(f"turn {a}", items[1], sinusoid(x), f"rotation {a}") for a, x in zip("xyz", TURN, strict=True)
    ]
    return quirk.System(items, gravity=WEIGHT)


def spin_and_rate(R, R1, R2):
    """Angular velocity and acceleration in N from axes (..., 3, 3) and their derivatives."""

    def vector(S):
        return np.stack([S[..., 2, 1] - S[..., 1, 2], S[..., 0, 2] - S[..., 2, 0], S[..., 1, 0] - S[..., 0, 1]], -1) / 2

    transposed = np.swapaxes(R, -1, -2)
    return vector(R1 @ transposed), vector(R2 @ transposed)


def moment_of(R, inertia, spin, rate):
    """Rate of the angular momentum in N of bodies with principal moments."""
    J = np.einsum("tik,k,tjk->tij", R, np.array(inertia), R)
    return np.einsum("tij,tj->ti", J, rate) + crossed(spin, np.einsum("tij,tj->ti", J, spin))


def gough_forces(times):
    """Leg forces (nt, 6) by Newton's and Euler's equations, leg by leg and then for the platform."""
    position = derivatives(lambda t: platform_pose(t)[0], times, 2)
    turned = derivatives(lambda t: platform_pose(t)[1], times, 2)
    arms, needed = [], []
    known, axial, push = np.zeros((2, len(times), 3)), [], []
    for k in range(6):
        axes = derivatives(lambda t, k=k: _leg_frame(k, t), times, 2)
        length, u, b = (np.real(x) for x in leg_axes(k, times))
        spin, rate = spin_and_rate(*axes)
        head = derivatives(lambda t, k=k: (lambda p, R: p + R @ HEADS[k])(*platform_pose(t)), times, 2)
        direction = derivatives(lambda t, k=k: leg_axes(k, t)[1], times, 2)
        # Moments about the foot, of what the leg must have; r x f + tau n is what it gets from the platform and cross.
        lower, upper = 0.25 * direction[2], head[2] - 0.2 * direction[2]
        moment = moment_of(axes[0], [0.05, 0.06, 0.02], spin, rate) + crossed(0.25 * u, LOWER * (lower - WEIGHT))
        at = (length - 0.2)[:, None] * u
        moment = moment + moment_of(axes[0], [0.03, 0.04, 0.012], spin, rate) + crossed(at, UPPER * (upper - WEIGHT))
        n = unit(crossed(np.broadcast_to(CROSS_I[k], b.shape), b))
        tau = (moment * u).sum(-1) / (n * u).sum(-1)
        across = -crossed(u, moment - tau[:, None] * n) / length[:, None]
        arm = np.einsum("tij,j->ti", turned[0], HEADS[k])
        known[0] -= across
        known[1] -= crossed(arm, across)
        arms.append(np.concatenate([-u, -crossed(arm, u)], axis=1))
        axial.append((UPPER * (upper - WEIGHT) * u).sum(-1))
        push.append(u)
    spin, rate = spin_and_rate(*turned)
    needed = np.concatenate(
        [12.0 * (position[2] - WEIGHT) - known[0], moment_of(turned[0], [0.5, 0.6, 0.9], spin, rate) - known[1]], axis=1
    )
    along = np.linalg.solve(np.stack(arms, axis=2), needed[..., None])[..., 0]
    return np.stack(axial, axis=1) - along


def _leg_frame(k, t):
    _, u, b = leg_axes(k, t)
    return np.stack([crossed(b, u), b, u], axis=-1)


def test_leg_forces_of_a_gough_platform():
    result = quirk.inverse_dynamics(gough(), TIMES, [f"leg {k}" for k in range(6)])
    agree(np.stack([result.effort[f"leg {k}"] for k in range(6)], axis=1), gough_forces(TIMES))
    # The drivers do nothing; the loads are those of the system with these efforts.
    assert not result["path"].force().any()
    assert not result.active("path").any()
    state, at = result.state_at(4), result.time[4]
    loads = result.system.joint_loads(state, at, solver="dense")
    agree(result["head 3"].force()[4], loads["head 3"].force)
    agree(result.system.acceleration(state, at, solver="dense").linear, result._accelerations[0][4], 1e-9)


def serial(count=7):
    """An arm of hinges about varying axes, its links of different masses; joints at the links' lower ends."""
    rng = np.random.default_rng(5)
    links, items, at = [], [], np.zeros(3)
    for k in range(count):
        axis = np.eye(3)[[2, 1, 0][k % 3]]
        end = at + np.array([0.05, 0.02 * k, 0.3])
        moments = rng.uniform(0.02, 0.04, size=3)
        link = Body(f"link {k}", 3.0 / (k + 1), moments, position=(at + end) / 2)
        joint = quirk.Revolute(f"joint {k}", links[-1] if links else GROUND, link, point=at, axis=axis)
        links.append(link)
        items += [link, joint, quirk.Drive(f"drive {k}", joint, Motion.sinusoid(0.4 + 0.1 * k, 1 + 0.3 * k))]
        at = end
    return quirk.System(items, gravity=WEIGHT)


def recursive_newton_euler(system, times, count=7):
    """Joint torques (nt, count): out along the arm for motions, and back for loads."""
    efforts = np.zeros((len(times), count))
    bodies = [system[f"link {k}"] for k in range(count)]
    points = [np.zeros(3)] + [2 * b.position - p for b, p in zip(bodies, _starts(bodies), strict=True)]
    for row, t in enumerate(times):
        R, w, dw, p, dv = np.eye(3), np.zeros(3), np.zeros(3), np.zeros(3), -WEIGHT
        out = []
        for k, body in enumerate(bodies):
            a, rate = 0.4 + 0.1 * k, 1 + 0.3 * k
            q, q1, q2 = a * np.sin(rate * t), a * rate * np.cos(rate * t), -a * rate**2 * np.sin(rate * t)
            axis = [2, 1, 0][k % 3]
            arm = R @ (points[k] - points[k - 1]) if k else np.zeros(3)
            dv = dv + np.cross(dw, arm) + np.cross(w, np.cross(w, arm))
            p = p + arm
            z = R[:, axis]
            dw = dw + q2 * z + np.cross(w, q1 * z)
            w, R = w + q1 * z, R @ about(axis, q)
            c = R @ (body.position - points[k])
            force = body.mass * (dv + np.cross(dw, c) + np.cross(w, np.cross(w, c)))
            J = R @ body.inertia @ R.T
            out.append((p, p + c, z, force, J @ dw + np.cross(w, J @ w)))
        force, moment = np.zeros(3), np.zeros(3)  # of all links behind, about the origin
        for k in reversed(range(count)):
            at, center, z, own, turning = out[k]
            force, moment = force + own, moment + turning + np.cross(center, own)
            efforts[row, k] = z @ (moment - np.cross(at, force))
    return efforts


def _starts(bodies):
    at = np.zeros(3)
    for body in bodies:
        yield at
        at = 2 * body.position - at


def test_an_arm_of_seven_hinges_and_its_joint_space():
    system, names = serial(), [f"joint {k}" for k in range(7)]
    result = quirk.inverse_dynamics(system, TIMES, names)
    efforts = np.stack([result.effort[name] for name in names], axis=1)
    agree(efforts, recursive_newton_euler(system, TIMES), 1e-12)
    for row in (0, 5):
        state, t = result.state_at(row), TIMES[row]
        space = result.system.joint_space(state, t, coordinates=names)
        rate = 1 + 0.3 * np.arange(7)
        acceleration = -(0.4 + 0.1 * np.arange(7)) * rate**2 * np.sin(rate * t)
        agree(space.mass_matrix @ acceleration + space.bias + space.gravity, efforts[row], 1e-12)
        agree(space.applied, efforts[row], 1e-12)  # the result's system has them as forces
        assert space.coordinates[3] == "joint 3 rotation z"
        rates = (0.4 + 0.1 * np.arange(7)) * rate * np.cos(rate * t)
        agree(0.5 * rates @ space.mass_matrix @ rates, result.energy.kinetic[row], 1e-12)


def jansen():
    """Theo Jansen's walking linkage, of its eleven numbers, m; the crank turns steadily."""
    length = {
        "a": 38,
        "b": 41.5,
        "c": 39.3,
        "d": 40.1,
        "e": 55.8,
        "f": 39.4,
        "g": 36.7,
        "h": 65.7,
        "i": 49,
        "j": 50,
        "k": 61.9,
        "l": 7.8,
        "m": 15,
    }
    n = {key: value / 100 for key, value in length.items()}
    crank, pivot = np.array([0.0, 0.0]), np.array([-n["a"], -n["l"]])
    pin = np.array([n["m"], 0.0])

    def third(p, q, to_p, to_q):
        """The point at these distances, to the left of the way from p to q."""
        d = np.linalg.norm(q - p)
        x = (d**2 + to_p**2 - to_q**2) / (2 * d)
        e = (q - p) / d
        return p + x * e + np.sqrt(to_p**2 - x**2) * np.array([-e[1], e[0]])

    top, low = third(pivot, pin, n["b"], n["j"]), third(pin, pivot, n["k"], n["c"])
    left = third(pivot, top, n["d"], n["e"])
    knee = third(low, left, n["g"], n["f"])
    foot = third(low, knee, n["i"], n["h"])
    bar = planar.PlanarBody.bar
    bars = {
        "crank": (crank, pin), "upper": (pin, top), "lower": (pin, low), "link": (left, knee), "rod": (pivot, low),
    }  # fmt: skip
    bodies = {name: bar(name, *ends, mass=np.linalg.norm(ends[1] - ends[0])) for name, ends in bars.items()}
    for name, (p, q, r) in {"rocker": (pivot, top, left), "leg": (low, knee, foot)}.items():
        bodies[name] = planar.PlanarBody(name, 1.0, 0.05, position=(p + q + r) / 3)
    pins = [
        ("axle", GROUND, "crank", crank), ("A", "crank", "upper", pin), ("B", "crank", "lower", pin),
        ("C", GROUND, "rocker", pivot), ("D", "upper", "rocker", top), ("E", GROUND, "rod", pivot),
        ("F", "lower", "rod", low), ("G", "rocker", "link", left), ("H", "rod", "leg", low), ("I", "link", "leg", knee),
    ]  # fmt: skip
    items = list(bodies.values())
    items += [planar.Revolute(n, bodies.get(i, i), bodies[j], point=p) for n, i, j, p in pins]
    items.append(planar.AngleDriver("motor", GROUND, bodies["crank"], Motion.constant_rate(-2 * np.pi)))
    return quirk.System(items, gravity=[0, -9.81, 0])


def test_a_walking_linkage_balances_its_power():
    count = 400
    times = np.arange(count) / count
    result = quirk.inverse_dynamics(jansen(), times, ["axle"])
    # Energy over a turn is periodic: its rate by Fourier's series.
    waves = np.fft.rfft(result.energy.total) * 2j * np.pi * np.arange(count // 2 + 1)
    power = np.fft.irfft(waves, count)
    agree(result.effort["axle"] * -2 * np.pi, power, 1e-9)
    agree(result.power["axle effort"], power, 1e-9)


def five_bar(size=1.0, mass=1.0, extra=lambda bodies, joints: []):
    """A closed loop of five bars whose tool is led along a path; times masses and lengths."""
    points = size * np.array([[0, 0], [-0.1, 0.3], [0.2, 0.6], [0.45, 0.3], [0.3, 0]])
    names = ["left", "left arm", "right arm", "right"]
    bodies = [
        planar.PlanarBody.bar(n, points[k], points[k + 1], mass=mass * (1 + 0.2 * k)) for k, n in enumerate(names)
    ]
    ends = [GROUND, *bodies, GROUND]
    joints = [planar.Revolute(f"J{k}", ends[k], ends[k + 1], point=points[k]) for k in range(5)]
    middle = bodies[1].position
    led = [
        planar.CoordinateDriver(
            axis, GROUND, bodies[1], Motion.sinusoid(0.05 * size, rate, 0.0, middle[k]), coordinate=axis
        )
        for k, (axis, rate) in enumerate([("x", 2.0), ("y", 3.0)])
    ]
    gravity = [0, -9.81 * size, 0]  # as it looks in units of its own
    return quirk.System([*bodies, *joints, *led, *extra(bodies, joints)], gravity=gravity)


def test_more_actuators_than_freedoms_share_by_weights():
    system, names = five_bar(), ["J0", "J1", "J3", "J4"]
    weights = [np.ones(4), np.array([1.0, 4.0, 2.0, 9.0]), np.array([5.0, 1.0, 1.0, 0.1])]
    runs = [quirk.inverse_dynamics(system, TIMES, names, weights=list(w)) for w in weights]
    efforts = [np.stack([run.effort[name] for name in names], axis=1) for run in runs]
    # What differs moves nothing; where the weighted sum of squares is least it is at right angles to all of that.
    idle = efforts[1] - efforts[0], efforts[2] - efforts[0]
    assert min(np.linalg.matrix_rank(np.stack(pair), tol=1e-6) for pair in zip(*idle, strict=True)) == 2
    for weight, found in zip(weights, efforts, strict=True):
        for free in idle:
            products = np.einsum("k,tk,tk->t", weight, found, free)
            assert np.abs(products).max() < 1e-10 * np.abs(found).max() ** 2
    # Pins carry other loads, and the bodies move alike.
    assert np.abs(runs[0]["J2"].force() - runs[1]["J2"].force()).max() > 0.1
    for run in runs:
        agree(run.segments[0].dynamics.linear, run._accelerations[0])
    by_name = quirk.inverse_dynamics(system, TIMES, names, weights=dict(zip(names, weights[1], strict=True)))
    agree(by_name.effort["J3"], efforts[1][:, 2], 1e-14)
    default = quirk.inverse_dynamics(system, TIMES, names)
    agree(default.effort["J3"], efforts[0][:, 2], 1e-12)


def test_freedoms_that_no_actuator_reaches():
    with pytest.raises(
        quirk.InputError, match=r"reach 1 of the 2 freedoms .* without x, y at t = 0 s; .*\"right arm\""
    ):
        quirk.inverse_dynamics(five_bar(), TIMES, ["J0"])
    cart = Body.box("cart", 2.0, [1, 1, 1])
    load = Body.box("load", 1.0, [1, 1, 1], position=[0, 0, 2])
    rail = quirk.Prismatic("rail", GROUND, cart, axis=[1, 0, 0])
    slide = quirk.Prismatic("slide", cart, load, axis=[0, 1, 0])
    shaker = quirk.Drive("shaker", rail, Motion.sinusoid(0.1, 5.0))
    push = quirk.Drive("push", slide, Motion.sinusoid(0.2, 3.0))
    table = quirk.System([cart, load, rail, slide, shaker, push])
    with pytest.raises(quirk.InputError, match='other freedoms: "cart", "load": name further actuators, or in dri'):
        quirk.inverse_dynamics(table, TIMES, ["slide"])
    result = quirk.inverse_dynamics(table, TIMES, ["slide"], drivers=["push"])
    agree(result.effort["slide"], -0.2 * 9 * np.sin(3 * TIMES), 1e-13)
    agree(result["shaker"].force()[:, 0], 3 * -0.1 * 25 * np.sin(5 * TIMES), 1e-13)
    # At the dead point of a slider crank its piston cannot push on the crank.
    crank = planar.PlanarBody.bar("crank", [0, 0], [0.1, 0], mass=1)
    rod = planar.PlanarBody.bar("rod", [0.1, 0], [0.5, 0], mass=1)
    piston = planar.PlanarBody.box("piston", 1.0, [0.1, 0.1, 0.1], position=[0.5, 0])
    items = [crank, rod, piston, planar.Revolute("A", GROUND, crank, point=[0, 0])]
    items += [planar.Revolute("B", crank, rod, point=[0.1, 0]), planar.Revolute("C", rod, piston, point=[0.5, 0])]
    guide = quirk.Prismatic("guide", GROUND, piston, axis=[1, 0, 0])
    engine = quirk.System([*items, guide, planar.AngleDriver("turn", GROUND, crank, Motion.constant_rate(1.0))])
    with pytest.raises(quirk.InputError, match=r"reach 0 of the 1 freedoms .* at t = 0 s"):
        quirk.inverse_dynamics(engine, TIMES, ["guide"])


def test_springs_dampers_and_friction_are_overcome():
    def extra(bodies, joints):
        return [
            quirk.Spring("spring", GROUND, bodies[1], point_i=[0, 1, 0], stiffness=80.0, damping=3.0),
            quirk.JointFriction("oil", joints[1], viscous=0.3, coulomb=0.2, creep=0.01),
            quirk.Friction("pin", joints[2], 0.3, radius=0.02),
            quirk.Friction("axle", joints[0], 0.2, radius=0.05),
            quirk.JointTorque("motor", joints[0], 3.0),
            quirk.Actuator("other", joints[4], lambda t, x, rate: 1.0 - rate, limits=0.01),
        ]

    times = TIMES + 0.01
    result = quirk.inverse_dynamics(five_bar(extra=extra), times, ["motor", "other"])
    agree(result.segments[0].dynamics.linear, result._accelerations[0])
    agree(result["motor"].along(), result.effort["motor"], 1e-14)
    bare = quirk.inverse_dynamics(five_bar(), times, ["J0", "J4"])
    assert np.abs(result.effort["motor"] - bare.effort["J0"]).max() > 1.0
    # The power of the actuators is what all else takes.
    power = result.power
    spent = power["motor"] + power["other"] + sum(power[n] for n in ("spring", "oil", "pin", "axle", "gravity"))
    motion = quirk.kinematics(five_bar(), times)
    agree(spent, bare.power.total, 1e-9)
    agree(motion.power.total, bare.power.total, 1e-9)


def test_friction_that_locks():
    """A nut on a steep thread of friction: no effort along it overcomes what it presses itself."""
    block = Body.box("block", 1.0, [0.1, 0.1, 0.1])
    guide = quirk.Prismatic("guide", GROUND, block, axis=[0, 0, 1])
    push = quirk.Force("push", block, [1.0, 0, 0.2])
    rub = quirk.Friction("rub", guide, 0.5)
    lead = quirk.Drive("lead", guide, Motion.constant_rate(0.1))
    system = quirk.System([block, guide, push, rub, lead], gravity=WEIGHT)
    with pytest.raises(quirk.SimulationError, match="no efforts overcome the friction"):
        quirk.inverse_dynamics(system, [0.0, 1.0], ["push"])
    easy = quirk.Force("push", block, [0.2, 0, 1.0])
    system = quirk.System([block, guide, easy, rub, lead], gravity=WEIGHT)
    effort = quirk.inverse_dynamics(system, [0.0, 1.0], ["push"]).effort["push"]
    agree(effort, np.full(2, 9.81 * np.sqrt(1.04) / (1 - 0.5 * 0.2)))


def test_a_door_on_two_hinges():
    door = Body.box("door", 20.0, [0.8, 0.04, 2.0], position=[0.4, 0, 0])
    hinges = [
        quirk.Revolute(n, GROUND, door, point=[0, 0, z], axis=[0, 0, 1]) for n, z in (("low", -0.8), ("high", 0.8))
    ]
    closer = quirk.TorsionSpring("closer", hinges[0], stiffness=5.0)
    swing = quirk.Drive("swing", hinges[0], Motion.sinusoid(1.0, 2.0))
    system = quirk.System([door, *hinges, closer, swing], gravity=WEIGHT)
    result = quirk.inverse_dynamics(system, TIMES, "high")
    angle = np.sin(2 * TIMES)
    agree(result.effort["high"], (20 * (0.8**2 + 0.04**2) / 12 + 20 * 0.16) * -4 * angle + 5 * angle, 1e-12)
    assert result["low"].unique.force == "unique only in sum"
    together = result["low"].force() + result["high"].force()
    agree(together[:, 2], np.full(len(TIMES), 20 * 9.81))
    dense = result.system.joint_loads(result.state_at(3), TIMES[3], solver="dense")
    agree(result["low"].force()[3], dense["low"].force)


@pytest.mark.parametrize(("size", "mass"), [(1e-3, 1e-3), (1e3, 1e3), (1e-3, 1e6)])
def test_units_do_not_matter(size, mass):
    names = ["J0", "J1", "J3", "J4"]
    one, other = (quirk.inverse_dynamics(five_bar(*scales), TIMES, names) for scales in ((1.0, 1.0), (size, mass)))
    for name in names:
        agree(other.effort[name] / (mass * size**2), one.effort[name], 1e-11)


def flyer(thrusts):
    ship = Body("ship", 50.0, [3.0, 4.0, 5.0])
    free = quirk.Free("pose", GROUND, ship)
    items = [ship, free, quirk.TrajectoryDrive("path", GROUND, ship, *(sinusoid(x) for x in SHIFT))]
    items += [quirk.Drive(f"turn {a}", free, sinusoid(x), f"rotation {a}") for a, x in zip("xyz", TURN, strict=True)]
    return quirk.System([*items, *thrusts(ship)])


def test_forces_torques_and_thrusters_on_a_body():
    def on_axes(ship):
        forces = [quirk.Force(f"F{k}", ship, 7 * np.eye(3)[k]) for k in range(3)]
        return [*forces, *(quirk.Torque(f"T{k}", ship, np.eye(3)[k]) for k in range(3))]

    names = [*(f"F{k}" for k in range(3)), *(f"T{k}" for k in range(3))]
    result = quirk.inverse_dynamics(flyer(on_axes), TIMES, names)
    view = result["ship"]
    agree(np.stack([result.effort[n] for n in names[:3]], 1), 50 * view.acceleration, 1e-12)
    J = np.array([3.0, 4.0, 5.0])
    turning = J * view.angular_acceleration + np.cross(view.angular_velocity, J * view.angular_velocity)
    agree(np.stack([result.effort[n] for n in names[3:]], 1), turning, 1e-12)

    def jets(ship):
        rng = np.random.default_rng(2)
        places = rng.normal(size=(9, 2, 3))
        return [quirk.Thruster(f"jet {k}", ship, 3.0, d, point=p) for k, (p, d) in enumerate(places)]

    result = quirk.inverse_dynamics(flyer(jets), TIMES, [f"jet {k}" for k in range(9)])
    agree(result.segments[0].dynamics.linear, result._accelerations[0], 1e-12)
    wrench = np.array([
        np.concatenate([part.direction, np.cross(part.point, part.direction)])
        for part in (result.system[f"jet {k}"] for k in range(9))
    ])  # fmt: skip
    in_body = np.einsum("tji,tj->ti", quirk.rotation.matrix(view.orientation), 50 * view.acceleration)
    want = np.concatenate([in_body, turning], axis=1) @ np.linalg.pinv(wrench)
    agree(np.stack([result.effort[f"jet {k}"] for k in range(9)], 1), want, 1e-11)


def test_the_result_is_one_that_runs():
    """Under the efforts found, without drivers, a damped mechanism simulates back to the prescribed motion."""

    def extra(bodies, joints):
        return [quirk.JointFriction(f"oil {k}", joint, viscous=0.5) for k, joint in enumerate(joints)]

    times = np.linspace(0, 2, 401)
    result = quirk.inverse_dynamics(five_bar(extra=extra), times, ["J0", "J4"])
    run = quirk.simulate(result.system, 2.0, output=times, initial_state=result.state_at(0), rtol=1e-11, atol=1e-13)
    assert np.abs(run.state.position - result.state.position).max() < 1e-8
    one = quirk.inverse_dynamics(five_bar(extra=extra), [times[100]], ["J0", "J4"])
    agree(one.effort["J0"], result.effort["J0"][[100]], 1e-12)
    assert "301" not in result.summary()
    agree(result["left"].jerk, quirk.kinematics(five_bar(), times)["left"].jerk, 1e-12)


def test_without_feedback_errors_grow_no_faster_than_disturbances():
    """The undamped mechanism leaves its path from round-off as it does from a push of its start, and no sooner."""
    times = np.linspace(0, 2, 401)
    result = quirk.inverse_dynamics(five_bar(), times, ["J0", "J4"])
    start = result.state_at(0)
    pushed = start.copy()
    pushed.velocity[:, 0] += 1e-6
    found = []
    for begin in (start, result.system.remove_disallowed_velocity(pushed)):
        run = quirk.simulate(result.system, 2.0, output=times, initial_state=begin, rtol=1e-11, atol=1e-13)
        found.append(np.abs(run.state.position - result.state.position).max(axis=(1, 2)))
    assert (found[0][40:] < 1e-4 * found[1][40:]).all()


@pytest.mark.parametrize(
    ("actuators", "options", "message"),
    [
        ([], {}, "must name at least one actuator"),
        (["J0", "J0"], {}, '"J0" twice'),
        (["x"], {}, 'CoordinateDriver "x", which is a driver: name the joint'),
        (["left"], {}, "must name an Actuator.*got Body"),
        (["gas"], {}, 'Force "gas", whose direction is unknown'),
        (["bolt"], {}, 'Fixed "bolt", which has no single free axis'),
        (["pipe"], {}, "both rotate about and translate"),
        (["J0", "J4"], {"weights": [1.0]}, "a number for each"),
        (["J0", "J4"], {"weights": {"J0": 1.0}}, "must name all actuators"),
        (["J0", "J4"], {"weights": [1.0, 0.0]}, "positive"),
        (["J0", "J4"], {"drivers": ["off"]}, "enabled constraints; got .*off"),
    ],
)
def test_messages(actuators, options, message):
    def extra(bodies, joints):
        return [
            quirk.Force("gas", bodies[0], lambda t, *state: np.zeros(3)),
            quirk.Fixed("bolt", bodies[0], bodies[1], active=False),
            quirk.Cylindrical("pipe", bodies[0], bodies[1], point=[0, 0, 0], axis=[0, 0, 1], active=False),
            planar.AngleDriver("off", GROUND, bodies[0], Motion.constant_rate(1.0), active=False),
        ]

    with pytest.raises(quirk.InputError, match=message):
        quirk.inverse_dynamics(five_bar(extra=extra), TIMES, actuators, **options)


def test_joint_space_of_a_loop():
    result = quirk.inverse_dynamics(five_bar(), TIMES, ["J0", "J4"])
    free = five_bar().without("x", "y")
    state = result.state_at(3)
    space = free.joint_space(state, coordinates=["J0", "J4"])
    # Coordinate accelerations from those of the bodies next to the ground.
    bodies = (("left", 1.0), ("right", -1.0))
    qdd = np.array([sign * result[name].angular_acceleration[3, 2] for name, sign in bodies])
    efforts = np.array([result.effort[name][3] for name in ("J0", "J4")])
    agree(space.mass_matrix @ qdd + space.bias + space.gravity, efforts, 1e-11)
    with pytest.raises(quirk.InputError, match="must equal the degrees of freedom, 2 at this state; got 1"):
        free.joint_space(state, coordinates="J0")
    with pytest.raises(quirk.InputError, match="J2 rotation z follows from the others"):
        free.joint_space(state, coordinates=["J0", "J4", "J2"])
    with pytest.raises(quirk.InputError, match="lists J0 rotation z twice"):
        free.joint_space(state, coordinates=["J0", "J0"])
    with pytest.raises(quirk.InputError, match="must name joints; got Body"):
        free.joint_space(state, coordinates=["left", "J0"])
    with pytest.raises(quirk.InconsistentStateError):
        moved = free.initial_state()
        moved.position[0, 0] += 0.1
        free.joint_space(moved, coordinates=["J0", "J4"])
