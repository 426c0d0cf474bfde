"""Model files: what is written and read again is the same, bit by bit, and what is wrong is said with its place."""

from pathlib import Path

import numpy as np
import pytest
import quaternion
from mechanisms import pendulum, random_system
from model_texts import assert_same, of_demos, of_forces, of_pairs, of_planar_cases
from mutated import mutated
from scipy.spatial.transform import Rotation

import quirk
from quirk import planar
from quirk.io.modelfile import model_of, read, system_of, text_of, write
from quirk.io.modelfile.kinds import makers

SYSTEMS = {**of_pairs(), **of_planar_cases(), **of_forces(), **of_demos()}
# What cannot be written: those with Python functions.
WITH_FUNCTIONS = {
    "pair-CustomRows", "pair-Implicit", "pair-generic_with_a_function", "pair-implicit_of_velocities",
    "force-Actuator-1", "force-Drag-1", "force-Force-1", "force-ForceField-0", "force-ForceField-1", "force-ForceField-2",
    "force-Interaction-0", "force-Interaction-1", "force-Interaction-2", "force-JointForce-1", "force-JointTorque-1",
    "force-Potential-0", "force-PotentialField-0", "force-PotentialField-1", "force-Spring-5", "force-Tendon-2", "force-Thruster-1",
}  # fmt: skip
# It takes seconds to compile what finds the nearest point of a curve.
WITH_CURVES = {"pair-CurveOnCurve", "pair-PointOnCurve", "demo-quick-return", "demo-cam-follower"}


@pytest.fixture(scope="module")
def texts():
    """Of all systems that can be written."""
    return [text_of(build()) for name, build in SYSTEMS.items() if name not in WITH_FUNCTIONS]


@pytest.mark.parametrize("name", SYSTEMS)
def test_what_is_written_is_read_as_the_same(name):
    system = SYSTEMS[name]()
    if name in WITH_FUNCTIONS:
        with pytest.raises(quirk.InputError, match="Python function"):
            text_of(system)
        return
    text = text_of(system)
    again = system_of(text)
    assert text_of(again) == text
    assert_same(system, again, evaluate=name not in WITH_CURVES)


@pytest.mark.parametrize("seed", range(4))
def test_assembled_mechanisms_start_where_they_did(seed):
    system = random_system(np.random.default_rng(seed))
    text = text_of(system)
    assert "[[state.body]]" in text
    again = system_of(text)
    assert text_of(again) == text
    assert_same(system, again)


def again(system):
    """The system written and read, after checking that it is written the same once more."""
    text = text_of(system)
    read_again = system_of(text)
    assert text_of(read_again) == text
    assert_same(system, read_again)
    return read_again


def test_switched_constraints_turns_and_settings():
    system = pendulum(
        lambda rod, hinge: quirk.Drive("motor", hinge, quirk.Motion.constant_rate(1.0), active=False),
        lambda rod, hinge: quirk.Stop("stop", hinge, upper=1.0),
        load_length=0.7,
        rank_tolerance=1e-6,
    )
    system.assemble(coordinates={"hinge": 5.0}, rates={"hinge": 0.2})
    system.deactivate("hinge", "stop")
    system.activate("motor")
    other = again(system)
    assert not other.is_active("hinge")
    assert not other.is_active("stop")
    assert other.is_active("motor")
    np.testing.assert_allclose(other.initial_state().angles["hinge"], [0, 0, 5.0])
    assert (other._load_length, other._rank_tolerance) == (0.7, 1e-6)


def test_internal_variables():
    system = pendulum(lambda rod, hinge: quirk.Controller("c", hinge, 0.3, kp=2.0, ki=1.0, integral=0.25))
    assert again(system)["c"].integral == 0.25


def test_events_and_all_actions():
    def events(rod, hinge):
        force = quirk.Damping("air", rod, translational=0.3)
        return quirk.Event(
            "all", quirk.distance_between(rod, quirk.GROUND, [0.5, 0, 0]), direction=-1, level=0.2,
            action=[
                "record", quirk.engage("motor", tolerance=1e-3), quirk.release(hinge), quirk.switch_on("air"),
                quirk.switch_off("air"), quirk.replace("air", force), quirk.set_velocity(rod, [1, 2, 3]),
                quirk.follow("motor", quirk.Motion.sinusoid(0.1, 2.0) + quirk.Motion.polynomial([1, 2])),
                quirk.after(3, ["stop", quirk.engage("motor", keep_offset=True)]),
            ],
        )  # fmt: skip

    system = pendulum(
        lambda rod, hinge: quirk.Damping("air", rod, translational=0.1),
        lambda rod, hinge: quirk.Drive("motor", hinge, quirk.Motion.constant_rate(1.0), active=False),
        events,
    )
    before, after = system["all"].actions, again(system)["all"].actions
    assert [type(action) for action in before] == [type(action) for action in after]
    # Replaced forces, motions and arrays are equal to themselves alone.
    for a, b in zip(before, after, strict=True):
        assert getattr(a, "names", None) == getattr(b, "names", None)
        assert getattr(a, "tolerance", None) == getattr(b, "tolerance", None)
    assert after[5].velocity.tolist() == [1, 2, 3]
    assert after[6].motion(0.7) == before[6].motion(0.7)
    assert after[7].count == 3
    assert after[7].actions[1].keep_offset


def test_latches_sensors_and_contacts():
    one = quirk.Body.sphere("one", 1.0, 0.1, position=[0, 0, 1])
    two = quirk.Body.sphere("two", 1.0, 0.1, position=[3, 0, 1], velocity=[-1, 0, 0])
    bond = quirk.Fixed("bond", one, two, frame_i=quirk.Frame(), frame_j=quirk.Frame(), active=False)
    system = quirk.System(
        [
            one,
            two,
            bond,
            quirk.Latch("latch", bond, distance=0.2, strength=100.0),
            *quirk.sensors("near", [one, (two, [0.1, 0, 0])], radius=0.5, action="stop"),
            quirk.Contact("floor", quirk.GROUND, one, on_i=quirk.surface.plane(), on_j=quirk.surface.sphere(0.1)),
            quirk.Rope("rope", one, two, length=4.0),
            quirk.TendonStop("tackle", [(one, [0, 0, 0]), (two, [0, 0.1, 0])], weights=[2.0], upper=8.0),
        ]
    )
    other = again(system)
    assert [event.name for event in other.events] == ["latch", "near: one - two", "latch breaks"]


def test_companions_that_stand_elsewhere_keep_their_place():
    one, two = (planar.PlanarBody(name, 1.0, 0.1, position=(x, 0)) for name, x in (("one", 0), ("two", 1)))
    pin = planar.Revolute("pin", one, two, point=(0.5, 0))
    system = quirk.System([one, two]).with_parts(pin)
    assert [c.name for c in system.constraints] == ["one in plane", "two in plane", "pin"]
    assert [c.name for c in again(system).constraints] == ["one in plane", "two in plane", "pin"]


def test_frames_that_were_added_and_orientations_of_other_libraries():
    turn = Rotation.from_rotvec([0.1, -0.2, 0.3])
    other_turn = np.array(quaternion.quaternion(0.1, 0.2, 0.3, 0.4))
    ball = quirk.Body("ball", np.array(1.0), np.ones(3), orientation=other_turn)
    rod = quirk.Body("rod", 1.0, [1, 1, 1], orientation=turn, frames={"a b": quirk.Frame([1, 2, 3], turn)})
    rod.add_frame("tip", quirk.Frame([0.5, 0, 0]))
    joint = quirk.Spherical("joint", quirk.GROUND, rod, frame_i=quirk.Frame(), frame_j="tip", active=False)
    other = again(quirk.System([rod, joint, ball]))
    assert other["rod"].frames["a b"].rotation.tobytes() == rod.frames["a b"].rotation.tobytes()
    assert other["joint"].frame_j is other["rod"].frames["tip"]


def test_shapes_and_colors():
    shapes = [
        quirk.shapes.Box([1, 2, 3], color="red"),
        quirk.shapes.Cylinder(0.1, 1.0, axis=[1, 1, 0], frame=quirk.Frame([0, 0, 1]), color=(0.1, 0.2, 0.3)),
        quirk.shapes.Ellipsoid([1, 1, 2]),
    ]
    other = again(quirk.System([quirk.Body("b", 1.0, [1, 1, 1], shape=shapes)]))["b"].shapes
    assert [type(shape) for shape in other] == [type(shape) for shape in shapes]
    assert (other[0].color, other[0].size, other[1].axis) == ("red", shapes[0].size, shapes[1].axis)


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a\n", "ü 漢", "[x]", "#", "a.b", "'", "\x7f", "kind"])
def test_names_of_any_kind(name):
    body = quirk.Body(name, 1.0, [1, 1, 1], frames={name: quirk.Frame([1, 0, 0])})
    joint = quirk.Revolute(f"{name}2", quirk.GROUND, body, point=[0, 0, 0], axis=[0, 1, 0])
    system = again(quirk.System([body, joint]))
    assert system.bodies[0].name == name
    assert list(system.bodies[0].frames) == [name]


def test_what_was_given_is_kept_even_if_its_list_changes():
    place = np.array([1.0, 2.0, 3.0])
    points = [[0, 0, 0], [1, 0, 0], [2, 0.1, 0]]
    body = quirk.Body("b", 1.0, [1, 1, 1], position=place)
    curve = quirk.PointOnCurve("c", quirk.GROUND, body, points=points, active=False)
    system = quirk.System([body, curve])
    before = text_of(system)
    place[:], points[0][0] = 7.0, 9.0
    assert text_of(system) == before
    again(system)


def test_run_options_and_events_of_a_run(tmp_path):
    path = tmp_path / "model.toml"
    stop = quirk.Event("stop", "time", level=0.05, action="stop")
    options = {"duration": 0.1, "method": "RK4", "step": 0.01, "output": [0.0, 0.05, 0.1], "rtol": None}
    write(pendulum(), path, options | {"events": [stop]})
    model = read(path)
    assert {key: value for key, value in model.run.items() if key != "events"} == {
        "duration": 0.1, "method": "RK4", "step": 0.01, "output": [0.0, 0.05, 0.1]
    }  # fmt: skip
    result = quirk.simulate(model.system, **model.run)
    assert result.status == "stopped"
    np.testing.assert_allclose(result.time[-1], 0.05)


def test_save_and_load(tmp_path):
    system = pendulum()
    system.save(tmp_path / "a" / "pendulum.toml")
    assert_same(system, quirk.load(str(tmp_path / "a" / "pendulum.toml")))
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["pendulum.toml"]
    with pytest.raises(quirk.InputError, match="path must end in"):
        system.save(tmp_path / "pendulum.json")
    for path, said in [
        ("pendulum.json", "must be one of '.toml'"),
        ("missing.toml", "No such file"),
        (tmp_path, "the suffix of path"),
        (3, "name of a file"),
    ]:
        with pytest.raises(quirk.InputError, match=said):
            quirk.load(path)
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(quirk.InputError, match="cannot be read"):
        quirk.load(tmp_path / "bytes.toml")


def test_what_cannot_be_written_is_named_all_at_once():
    class Mine(quirk.Revolute):
        """A joint of a user."""

    system = pendulum(
        lambda rod, hinge: quirk.JointTorque("motor", hinge, lambda t, x, rate: -x),
        lambda rod, hinge: quirk.Event("e", "time", action=lambda t, state: None),
        lambda rod, hinge: quirk.Generic(
            "g", quirk.GROUND, rod, offset=[quirk.Motion.function(np.sin, np.cos, lambda t: -np.sin(t)), 0, 0, 0, 0, 0],
            active=False,
        ),
        lambda rod, hinge: Mine("mine", quirk.GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0], active=False),
    )  # fmt: skip
    with pytest.raises(quirk.InputError) as error:
        text_of(system)
    for said in (
        'JointTorque "motor": torque: a file cannot store the Python function <lambda>',
        'Event "e": action: a file cannot store',
        'Generic "g": offset: f: a file cannot store the Python function sin',
        'Mine "mine": Mine was not created by a public class',
        "quirk.Expression(",
    ):
        assert said in str(error.value)


MISTAKEN = """
format = 1
[system]
gravity = [0, 0, -9.81, 0]
[[body]]
name = "rod"
mas = 1.0
inertia = [1, 1, 1]
[[body]]
name = "rod"
mass = 1.0
inertia = [1, 1, 3]
[[constraint]]
name = "hinge"
kind = "Revolut"
[[constraint]]
name = "pin"
kind = "Revolute"
body_i = "ground"
body_j = "rodd"
point = [0, 0]   # one is missing
axis = [
  0,
  0,
]
frame_k = {origin = [0, 0, 0]}
[[force]]
name = "motor"
kind = "JointTorque"
joint = "pin"
torque = "2*sni(t)"
[[force]]
kind = "Body.box"
name = "box"
mass = 1.0
size = [1, 1, 1]
[run]
method = 3
[[evnt]]
name = "e"
"""


def test_all_mistakes_are_said_with_their_lines():
    with pytest.raises(quirk.InputError) as error:
        system_of(MISTAKEN, "my.toml")
    said = str(error.value).splitlines()
    assert said[0] == "my.toml has 12 mistakes:"
    for line, text in [
        (3, "gravity must have shape (3,)"),
        (5, 'Body "rod": mass must be given'),
        (7, 'Body "rod": there is no "mas"; did you mean "mass"?'),
        (9, 'the name "rod" is already used on line 5'),
        (9, "inertia violates the triangle inequality"),
        (15, "there is no kind 'Revolut'; did you mean \"Revolute\"?"),
        (20, 'Revolute "pin": body_j: there is no part "rodd"; did you mean "rod"?'),
        (26, 'Revolute "pin": there is no "frame_k"; did you mean "frame_'),
        (33, "kind 'Body.box' creates a Body, which does not belong under [[force]]"),
        (37, "[run]: duration, in s, must be given"),
        (38, "[run]: method must be a text; got 3"),
        (39, 'there is no section "evnt"; did you mean "event"?'),
    ]:
        assert any(one.strip().startswith(f"line {line}: ") and text in one for one in said), (line, text, said)


RAGGED = """[[body]]
name = "b"
mass = 1.0
inertia = [1, 1, 1]
[[force]]
name = "d"
kind = "Drag"
body = "b"
area = [[1, 2], [3]]
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "at least one body is needed"),
        ("a = ", "is not valid TOML: Invalid value .at end of document"),
        ("format = 2\n", "line 1: format 2 is newer than 1"),
        ("body = 3", "line 1: body: write a section"),
        ("x = " + "[" * 5000, "nested too deeply|not valid TOML"),
        ("[[body]]\nname = 3", "line 1: .*it must have a name"),
        ('[[body]]\nname = "ground"\nmass = 1.0\ninertia = [1, 1, 1]', "is that of the inertial frame"),
        ('[[constraint]]\nname = "a"\nkind = "Drive"\njoint = "a"\nmotion = "t"', '"a" depends on itself'),
        (
            "".join(f'[[constraint]]\nname = "{k}"\nkind = "Drive"\njoint = "{k + 1}"\n' for k in range(900)),
            "nested too deeply",
        ),
        ('[[constraint]]\nname = "a"', "it has no kind"),
        (RAGGED, 'line 5: Drag "d": area'),
        ('[system]\nswitched_off = ["hinge"]', 'line 2: .system.: switched_off: there is no part "hinge"'),
        ("[state]\nangels = {}", 'line 2: .*no "angels"; did you mean "angles"'),
        ('[[body]]\nname = "b"\nkind = "Motion"', "there is no kind 'Motion'"),
        ('[[body]]\nname = "b"\nkind = "Body.__init__"', "there is no kind"),
    ],
)
def test_other_mistakes(text, said):
    with pytest.raises(quirk.InputError, match=said):
        system_of(text)


def test_order_and_state_may_be_given_by_hand():
    text = text_of(pendulum())
    with pytest.raises(quirk.InputError, match='order: there is no part "rodd"'):
        system_of(text.replace("[system]", '[system]\norder = ["rodd"]'))
    system = system_of(text + '[[state.body]]\nname = "rod"\norientation = [2, 0, 0, 0]\nvelocity = [1, 2, 3]\n')
    assert system.initial_state().orientation.tolist() == [[1, 0, 0, 0]]
    assert system.initial_state().velocity.tolist() == [[1, 2, 3]]
    with pytest.raises(quirk.InputError, match=r'state of "rod": there is no "velocty"; did you mean "velocity"\?'):
        system_of(text + '[[state.body]]\nname = "rod"\nvelocty = [1, 2, 3]\n')
    with pytest.raises(quirk.InputError, match="position must have shape"):
        system_of(text + '[[state.body]]\nname = "rod"\nposition = [1, 2]\n')


def test_sensors_are_a_kind():
    text = (
        text_of(pendulum())
        + '[[event]]\nkind = "sensors"\nname = "s"\nfamily = ["rod", ["rod", [1, 0, 0]]]\nradius = 1\n'
    )
    assert [event.name for event in system_of(text).events] == ["s: rod - rod"]


def test_every_public_class_is_a_kind():
    without = {"System", "State", "Result", "Motion", "Expression", "Constraint", "Joint", "ForceElement", "Objective",
               "Run", "Batch", "BeamSegment"}  # fmt: skip
    classes = {name for name in quirk.__all__ if isinstance(getattr(quirk, name), type)}
    errors = {name for name in classes if name.endswith(("Error", "Warning"))}
    assert classes - errors - without <= set(makers())
    assert {f"planar.{name}" for name in planar.__all__} <= set(makers())


def test_mutated_files_are_valid_or_refused(texts):
    rng = np.random.default_rng(11)
    valid = 0
    for _ in range(400):
        text = mutated(texts[rng.integers(len(texts))], rng)
        try:
            model_of(text)
            valid += 1
        except quirk.InputError as error:
            assert str(error)
    assert 5 < valid < 200


def test_nothing_in_a_file_is_executed(tmp_path):
    flag = tmp_path / "flag"
    hostile = f"__import__('pathlib').Path({str(flag)!r}).touch()"
    for line in (
        f'torque = "{hostile}"',
        f'torque = {{kind = "Expression", text = "{hostile}"}}',
        'torque = {kind = "os.system", command = "false"}',
        'torque = {kind = "Motion.function.__globals__"}',
        'torque = "t.__class__"',
        'torque = "(1).__class__"',
    ):
        text = text_of(pendulum()) + f'[[force]]\nname = "f"\nkind = "JointTorque"\njoint = "hinge"\n{line}\n'
        with pytest.raises(quirk.InputError):
            system_of(text)
    assert not Path(flag).exists()
