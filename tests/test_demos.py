"""Every demo runs, saves its pictures and shows the physics it is about."""

import matplotlib as mpl

mpl.use("Agg")

from importlib import import_module

import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image
from quirk.demos import DEMOS
from scipy.integrate import cumulative_simpson
from studies import study

import quirk
from quirk.commands.cli import main
from quirk.simulation.prescribed.kinematics import KinematicResult


def double_pendulum(result):
    assert result.energy.drift < 1e-8
    reach = np.linalg.norm(result["lower"].point([0.4, 0, 0]), axis=1)
    assert reach.max() <= 1.8 + 1e-12


def four_bar(result):
    assert result.rank == 17
    assert result["crank pin"].rotation[-1, 2] > 4 * np.pi  # the crank goes round
    assert np.ptp(result["rocker pin"].rotation[:, 2]) < np.pi  # the rocker rocks


def bricard(result):
    assert result.rank == 29
    assert result.energy.drift < 1e-8
    assert np.ptp(result["bar 2"].position[:, 1]) > 0.2


def door(result):
    assert result.rank == 5
    assert result["upper"].unique.force == "unique only in sum"
    together = result["lower"].force() + result["upper"].force()
    np.testing.assert_allclose(together[:, 2], 20 * 9.81, atol=1e-9)
    assert abs(result["lower"].rotation[-1, 2]) < 0.5 < result["lower"].rotation[0, 2]  # it has closed


def tennis_racket(result):
    spin = result["racket"].angular_velocity[:, 1]
    assert spin.min() < -5.5 < 5.5 < spin.max()  # it flips
    momentum = result.momentum.angular
    np.testing.assert_allclose(momentum, np.broadcast_to(momentum[0], momentum.shape), atol=1e-11)


def heavy_top(result):
    assert result["disc"].position[:, 2].min() > 0.09  # it does not fall
    angle = np.unwrap(np.arctan2(*result["disc"].position[:, 1::-1].T))
    assert angle[-1] > 2 * np.pi  # and precesses more than once around


def flyball_governor(result):
    lift, balls = result["guide"].displacement[:, 2], result["right ball"].position
    assert lift[-1] > 0.1
    assert np.hypot(balls[-1, 0], balls[-1, 1]) > np.hypot(balls[0, 0], balls[0, 1]) + 0.1
    left = result["left ball"].position
    np.testing.assert_allclose(left[:, :2], -balls[:, :2], atol=1e-6)


def coupler_curve(result):
    tip, angle = result["coupler"].path([0.25, 0, 0]), result["crank"].in_plane.angle
    straight = tip.position[(angle > np.pi / 2) & (angle < 1.5 * np.pi)]
    assert np.ptp(straight[:, 0]) > 0.39
    assert np.ptp(straight[:, 1]) < 1e-3
    # The motion repeats turn by turn, with all derivatives.
    for order in range(5):
        derivative = tip.derivative(order)
        np.testing.assert_allclose(derivative[-1], derivative[0], atol=1e-9 * np.abs(derivative).max())
    # The motor lifts the bars and gives them their speed: its work is the change of their energy.
    torque, rate = result["motor"].torque()[:, 2], result["crank"].angular_velocity[:, 2]
    work = cumulative_simpson(torque * rate, x=result.time, initial=0)
    np.testing.assert_allclose(result.energy.total - result.energy.total[0], work, atol=1e-5)


def quick_return(result):
    from quirk.demos.quick_return import STROKE, TIME_RATIO, turning_points

    ram = result["ram"]
    assert np.ptp(ram.position[:, 0]) == pytest.approx(STROKE, rel=1e-9)  # both ends are among the times
    start, end = turning_points(result.time, ram.velocity[:, 0])
    assert (1 - (end - start)) / (end - start) == pytest.approx(TIME_RATIO, rel=1e-9)
    np.testing.assert_allclose(ram.position[:, 1], 0.47, atol=1e-12)


def planetary_gears(result):
    angles = {name: result[name].in_plane.angle for name in ("sun", "carrier", "planet 1")}
    np.testing.assert_allclose(angles["carrier"], 0.25 * angles["sun"], atol=1e-12)  # Willis
    np.testing.assert_allclose(angles["planet 1"], -2 * angles["carrier"], atol=1e-12)
    np.testing.assert_allclose(result["motor"].torque()[:, 2], 5.0, rtol=1e-9)  # a quarter of the load
    # A tooth of the planet draws the deltoid 2 exp(i u) + exp(-2 i u).
    tooth, u = result["planet 1"].point([0.048, 0, 0]), angles["carrier"]
    deltoid = 0.048 * (2 * np.exp(1j * u) + np.exp(-2j * u))
    np.testing.assert_allclose(tooth[:, 0] + 1j * tooth[:, 1], deltoid, atol=1e-12)


def slider_crank(result):
    from quirk.demos.slider_crank import CRANK, GAS, RATE, ROD

    piston, crank_angle = result["piston"], RATE * result.time
    assert np.ptp(piston.position[:, 1]) == pytest.approx(2 * CRANK, rel=1e-9)
    assert piston.acceleration[0, 1] == pytest.approx(-CRANK * RATE**2 * (1 + CRANK / ROD), rel=1e-9)
    # What the gas does, the driver takes: the cycle ends as it began.
    force = np.array([quirk.Expression(GAS, "t")(t) for t in result.time])
    work = np.trapezoid(force * piston.velocity[:, 1], result.time)
    assert np.trapezoid(result["driver"].torque()[:, 2], crank_angle) == pytest.approx(-work, rel=1e-9)
    # The rod leans by arcsin(CRANK / ROD sin); the wall takes what the piston pin pushes across.
    wall, pin = result["cylinder wall"].force(), result["piston pin"].force()
    np.testing.assert_allclose(wall[:, 0], -pin[:, 0], atol=1e-8)
    np.testing.assert_allclose(pin[:, 1], 0.5 * (piston.acceleration[:, 1] + 9.81) - force, atol=1e-7)


def identify_masses(result):
    """What is found is right to a few parts in a hundred: the noise leaves that."""
    from quirk.demos.identify_masses import TRUE

    found = {
        "b.mass": result.system["b"].mass,
        "c.mass": result.system["c"].mass,
        "spring.stiffness": result.system["spring"].stiffness,
        "coil.stiffness": result.system["coil"].stiffness,
    }
    for name, value in found.items():
        assert float(getattr(value, "constant", value)) == pytest.approx(TRUE[name], rel=0.03)


def snap_through(result):
    from quirk.demos.snap_through import HALF, RATE, REST, STIFFNESS

    z, load = result["block"].position[:, 2], RATE * result.time
    length = np.cbrt(REST * HALF**2)
    limit = 2 * STIFFNESS * np.sqrt(length**2 - HALF**2) * (REST / length - 1)
    assert z[load < 0.95 * limit].min() > 0.2  # on the upper branch
    assert z[load > 1.4 * limit].max() < -0.4  # on the lower one
    assert 2 * STIFFNESS * z[-1] * (REST / np.hypot(HALF, z[-1]) - 1) == pytest.approx(load[-1], rel=0.02)


def straight_line(result):
    """Straight, and at constant speed, to a few millimeters."""
    from quirk.demos.straight_line import TIMES, curve

    # The best place on the coupler, and the line, by linear least squares.
    part = (result.time >= TIMES[0]) & (result.time <= TIMES[-1])
    pin, axes = curve(result, np.zeros(2))
    columns = np.zeros((part.sum(), 2, 5))
    columns[..., :2] = axes[part][..., 2:]
    columns[:, 0, 2] = columns[:, 1, 3] = -1.0
    columns[:, 0, 4] = -result.time[part]
    rest = np.linalg.lstsq(columns.reshape(-1, 5), -pin[part].ravel(), rcond=None)
    assert np.sqrt(rest[1][0] / part.sum()) < 3e-3


def computed_torque(result):
    """The tip follows its path under the torques and feedback, which has nothing to do."""
    (x, x_rate), (y, y_rate) = ((0.2, 0.4 * np.pi), (0.1, 0.8 * np.pi))
    path = np.stack([x * np.sin(x_rate * result.time), 0.75 + y * np.sin(y_rate * result.time)], axis=1)
    assert np.abs(result["tip"].point[:, :2] - path).max() < 1e-11
    for side in ("left", "right"):
        assert (
            np.abs(result[f"{side} motor feedback"].along()).max()
            < 1e-8 * np.abs(result[f"{side} motor"].along()).max()
        )


def cam_follower(result):
    from quirk.demos.cam_follower import SLOW, lift

    angle = 6 * SLOW * result.time
    moved = result["guide"].displacement[:, 2]
    at_table = np.isclose(angle % 15, 0) | np.isclose(angle % 15, 15)
    assert at_table.sum() == 25
    np.testing.assert_allclose(moved[at_table], lift(angle[at_table]), atol=1e-12)
    np.testing.assert_allclose(moved, lift(angle), atol=2e-5)
    # A spline of degree 5: snap is a line between the points of the table.
    assert np.abs(np.diff(result["follower"].snap[:, 1], 2)[~at_table[1:-1]]).max() < 1e-3
    # Energy: what the cam does goes into the bodies and the spring.
    work = cumulative_simpson(result["cam"].force()[:, 1] * result["follower"].velocity[:, 1], x=result.time, initial=0)
    np.testing.assert_allclose(result.energy.total - result.energy.total[0], work, atol=1e-5)


def never_grows(energy):
    assert (np.diff(energy) <= 1e-9 * energy.max()).all()


def counting_pendulum(result):
    assert result.status == "stopped"
    assert [event.direction for event in result.events] == [1, -1] * 5
    assert result.time[-1] == result.events.time[-1]
    np.testing.assert_allclose(np.diff(result.events.time), np.diff(result.events.time)[0], rtol=1e-9)
    assert result["hinge"].rotation[-1, 2] == pytest.approx(np.pi / 2, abs=1e-10)


def cut_linkage(result):
    from quirk.demos.cut_linkage import STRENGTH

    (cut,) = result.events
    whole, open_chain = result.segments
    assert (whole.rank, open_chain.rank) == (17, 15)
    load = np.linalg.norm(result["C"].force(), axis=1)
    before = result.active("C")
    assert load.max() == load[before][-1] == pytest.approx(STRENGTH, rel=1e-9)
    assert not load[~before].any()
    assert cut.energy_loss == 0
    assert np.abs(result.power.balance).max() < 1e-8


def train_of_boxes(result):
    from quirk.demos.train_of_boxes import MASS, RATE, STRENGTHS

    # The last latch of n boxes carries 1 / n of the pull.
    count = len(STRENGTHS) + 1 - np.arange(len(STRENGTHS))
    np.testing.assert_allclose(result.events.time, count * STRENGTHS / RATE, rtol=1e-9)
    np.testing.assert_allclose(result.momentum.linear[:, 0], 0.5 * RATE * result.time**2, atol=1e-8)
    left = result["box 4"].velocity[-1, 0]
    assert left == pytest.approx(0.5 * RATE * result.events.time[0] ** 2 / (len(STRENGTHS) + 1) / MASS, rel=1e-9)


def docking(result):
    assert result.events.name == ["latch", "part"]
    for momentum in (result.momentum.linear, result.momentum.angular):
        np.testing.assert_allclose(momentum, np.broadcast_to(momentum[0], momentum.shape), atol=1e-10)
    assert result.events[0].energy_loss > 0
    assert result.active("hinge").sum() > 100
    assert not result.active("hinge")[-1]
    assert np.abs(result.power.balance).max() < 1e-8


def bouncing_ball(result):
    from quirk.demos.bouncing_ball import AT_REST, FALL, HEIGHT, RADIUS, RESTITUTION

    bounces = result.events.of("floor").time
    # Each bounce lasts longer than the next by the restitution.
    expected = FALL + 2 * FALL * np.cumsum(RESTITUTION ** np.arange(1, 11))
    np.testing.assert_allclose(bounces[1:11], expected, rtol=1e-9)
    assert bounces[-1] == pytest.approx(AT_REST, rel=1e-6)
    never_grows(result.energy.total)
    assert result["ball"].position[:, 2].max() == pytest.approx(HEIGHT + RADIUS)
    resting = result.time > AT_REST
    np.testing.assert_allclose(result["ball"].position[resting, 2], RADIUS, atol=1e-12)
    np.testing.assert_allclose(result["floor"].force()[resting, 2], 0.5 * 9.81, rtol=1e-9)
    np.testing.assert_allclose(result["ball"].velocity[:, 0], 0.3, rtol=1e-12)


def geneva_drive(result):
    from quirk.demos.geneva_drive import RATE

    assert result.events.name == [f"pin {does} slot {line}" for line in (0, 1) for does in ("enters", "leaves")] * 2
    np.testing.assert_allclose(result.events.time[::2], (0.75 + 2 * np.arange(4)) * np.pi / RATE, rtol=1e-12)
    assert max(np.linalg.norm(i.force) for event in result.events for i in event.impulse.values()) < 1e-12
    wheel = result["wheel"].in_plane
    assert wheel.angle[-1] == pytest.approx(np.pi / 4 - 2 * np.pi, abs=1e-10)
    locked = result.active("lock 0") | result.active("lock 1")
    np.testing.assert_allclose(wheel.angular_velocity[locked], 0, atol=1e-12)
    # By geometry, where the pin is between both bearings.
    assert wheel.angular_velocity.min() == pytest.approx(-RATE / (np.sqrt(2) - 1), rel=1e-9)


def woodpecker(result):
    pecks = result.events.of("beak").time
    np.testing.assert_allclose(np.diff(pecks)[5:], pecks[-1] - pecks[-2], rtol=1e-7)  # a limit cycle
    down = np.diff(np.interp(pecks, result.time, result["sleeve"].position[:, 1]))[5:]
    np.testing.assert_allclose(down, down[-1], rtol=1e-3)
    # Where slip is slow, steps are implicit; work within them keeps to rtol = 1e-9 of the energy that is exchanged.
    assert np.abs(result.power.balance).max() < 1e-8 * np.ptp(result.energy.potential)


def stick_slip(result):
    from quirk.demos.stick_slip import MASS, SLIDING, SPEED, STICKING, STIFFNESS

    w, more = np.sqrt(STIFFNESS / MASS), (STICKING - SLIDING) * MASS * 9.81 / STIFFNESS
    slips = 2 / w * (np.pi - np.arctan(more * w / SPEED))
    np.testing.assert_allclose(np.diff(result.events.time)[0::2], slips, rtol=1e-9)
    np.testing.assert_allclose(np.diff(result.events.time)[1::2], 2 * more / SPEED, rtol=1e-9)
    assert result["friction"].sticking.any()


def ratchet(result):
    from quirk.demos.ratchet import TEETH

    teeth = TEETH * result["axle"].rotation[:, 2] / (2 * np.pi)
    assert teeth[-1] > 10
    assert (teeth > np.maximum.accumulate(teeth) - 1).all()
    assert np.abs(result.power.balance).max() < 1e-7


def dry_hinge(result):
    from quirk.demos.dry_hinge import INERTIA, SLIDING, START, STICKING, STIFFNESS

    angle = START + result["hinge"].angle
    turning = angle[np.searchsorted(result.time, result.events.time[:-1])]
    want = START - 2 * SLIDING / STIFFNESS * np.arange(1, len(turning) + 1)
    np.testing.assert_allclose(np.abs(turning), want, rtol=1e-9)
    np.testing.assert_allclose(np.diff(result.events.time), np.pi * np.sqrt(INERTIA / STIFFNESS), rtol=1e-9)
    assert 0 < abs(STIFFNESS * angle[-1]) < STICKING and result["friction"].sticking[-1]


def gear_backlash(result):
    from quirk.demos.gear_backlash import BACKLASH

    play, torque = result["mesh flanks"].coordinate(), result["mesh flanks"].load()
    inside = np.abs(play) < 0.499 * BACKLASH
    assert inside.any() and (torque[inside] == 0).all()
    assert play.max() > 0.5 * BACKLASH and play.min() < -0.5 * BACKLASH
    assert np.abs(result.power.balance).max() < 1e-9


def belt_drive(result):
    from quirk.demos.belt_drive import RADII, RATE, STIFFNESS, limit

    assert [event.direction for event in result.events] == [1]
    slips = result.time >= result.events.time[0]
    above, below = (result["belt spans"].coordinate(f"tension {k}") for k in (0, 1))
    np.testing.assert_allclose((below / above)[slips], limit(), rtol=1e-8)
    behind = 1 + result["driven wheel"].angular_velocity[:, 2] * RADII[1] / (RATE * RADII[0])
    creep = 1 - (1 + above / STIFFNESS) / (1 + below / STIFFNESS)
    assert np.abs(behind - creep)[~slips & (result.time > 1.0)].max() < 3e-3
    assert np.abs(result.power.balance).max() < 1e-8


def newtons_cradle(result):
    from quirk.demos.newtons_cradle import ANGLE, LENGTH, displacements

    moved = displacements(result) / (LENGTH * np.sin(ANGLE))
    after = result.time > 0.3  # the swing down takes a fourth of a period of about 1 s
    half = after & (result.time < 0.7)
    assert moved[half].max(axis=0)[3:].min() > 0.95  # two balls leave as far as two were lifted
    assert np.abs(moved[half][:, :3]).max() < 0.05
    assert np.diff(result.energy.total).max() < 1e-12  # the potential is negative


def falling_chain(result):
    from quirk.demos.falling_chain import LENGTH, LINKS

    never_grows(result.energy.total)
    assert np.abs(result.power.balance).max() < 1e-9
    ends = [
        result["link 1"].point([-LENGTH / 2, 0, 0]),
        *(result[f"link {k + 1}"].point([LENGTH / 2, 0, 0]) for k in range(LINKS)),
    ]
    assert min(end[:, 2].min() for end in ends) > -1e-9
    # After the cut nothing pushes across.
    free = ~result.active("hook")
    momentum = result.momentum.linear[free, 0]
    np.testing.assert_allclose(momentum, momentum[0], rtol=1e-9)
    # It lies on the floor, each joint of which carries half of both its links.
    loads = np.array([result[f"contact {k}"].force()[-1, 2] for k in range(LINKS + 1)])
    np.testing.assert_allclose(loads.sum(), LINKS * 0.1 * 9.81, rtol=1e-6)
    np.testing.assert_allclose(loads[1:-1], 0.1 * 9.81, rtol=1e-3)


ANIMATE = quirk.Result.animate


def with_few_pictures(result, path, *, fps, **options):
    """Animate a result as the demo asks for, with one picture in five, each small."""
    return ANIMATE(result, path, fps=fps // 5, **{**options, "size": 2.0})


def cart_pole(result):
    angle, force = result["hinge"].angle, result["drive"].effort
    assert abs(angle[-1] % (2 * np.pi) - np.pi) < 1e-2 and abs(result["rail"].travel[-1]) < 0.05
    assert np.abs(angle[0]) < 1e-12 and np.abs(force).max() <= 12.0 + 1e-12
    held = np.abs(angle % (2 * np.pi) - np.pi) < 0.5
    assert held[-100:].all() and not held[:20].any()
    assert abs(result.power.balance).max() < 1e-5


def flexible_arm(result):
    angle, tip = result["hinge"].angle, result["arm"].center_line[:, -1]
    along = np.cos(angle) * tip[:, 0] + np.sin(angle) * tip[:, 1] - 10.0
    across = np.cos(angle) * tip[:, 1] - np.sin(angle) * tip[:, 0]
    assert -0.6 < across.min() < -0.5  # 0.57 m by Simo and Vu-Quoc
    waves = 6.0 * 10.0 * np.sqrt(1.2 / 2.8e7)
    assert abs(along[-1] - 10.0 * (np.tan(waves) / waves - 1)) < 0.02 * along[-1]


CHECKS = [
    double_pendulum,
    four_bar,
    bricard,
    door,
    tennis_racket,
    heavy_top,
    flyball_governor,
    coupler_curve,
    quick_return,
    planetary_gears,
    slider_crank,
    computed_torque,
    identify_masses,
    straight_line,
    snap_through,
    cam_follower,
    counting_pendulum,
    cut_linkage,
    train_of_boxes,
    docking,
    bouncing_ball,
    geneva_drive,
    ratchet,
    woodpecker,
    stick_slip,
    dry_hinge,
    gear_backlash,
    belt_drive,
    newtons_cradle,
    falling_chain,
    cart_pole,
    flexible_arm,
]


LONG = {straight_line, snap_through, woodpecker, computed_torque, ratchet, falling_chain, flexible_arm,
        planetary_gears, gear_backlash, bricard, quick_return, cam_follower, cart_pole, stick_slip, slider_crank,
        flyball_governor, dry_hinge, coupler_curve, geneva_drive, docking, belt_drive}  # fmt: skip


@pytest.mark.parametrize("check", study(CHECKS, {*CHECKS} - LONG), ids=lambda check: check.__name__)
def test_demo(check, tmp_path, capsys, monkeypatch):
    name = check.__name__.replace("_", "-")
    demo = import_module("quirk.demos." + check.__name__)
    results = []
    run = demo.run
    monkeypatch.setattr(demo, "run", lambda out: results.append(run(out)))
    monkeypatch.setattr(quirk.Result, "animate", with_few_pictures)
    assert main(["demo", name, "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert "constraint residual" in printed.out
    files = sorted(path.name for path in tmp_path.iterdir())
    assert f"{name}.gif" in files
    assert any(file.endswith(".png") for file in files)
    for file in files:
        assert f"wrote {tmp_path / file}" in printed.out
        with Image.open(tmp_path / file) as image:
            image.verify()
    (result,) = results
    looped = any("inputs" in options for options in result.options)  # a loop of the demo's own shows no progress
    completed = result.status == "completed" and not isinstance(result, KinematicResult)
    assert ("] 100%" in printed.err) is (completed and not looped)
    assert result.residual.position.max() < 1e-11
    assert plt.get_fignums() == []
    check(result)


def test_each_demo_has_its_check():
    assert [check.__name__.replace("_", "-") for check in CHECKS] == list(DEMOS)


def test_unknown_demo(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["demo", "perpetuum"])
    assert stop.value.code == 2
    assert "double-pendulum" in capsys.readouterr().err
