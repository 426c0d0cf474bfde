"""Every message names the object, the argument, what came and what to do."""

import copy
import inspect
import pickle
import re
import warnings

import numpy as np
import pytest

import quirk
from quirk.commands.parser import parser
from quirk.io.modelfile import model_of
from quirk.result.body_views import BodyView
from quirk.result.force_views import ForceView, FrictionView
from quirk.result.joint_views import JointView
from quirk.simulation.arguments import METHODS
from quirk.util.misuse import explained
from quirk.util.suggestion import nearest_names

NAN = float("nan")
I = [1.0, 1.0, 1.0]


def body(name="rod", **options):
    return quirk.Body(name, 1.0, I, **options)


A, B = body("a"), body("b", position=[1, 0, 0])
HINGE = quirk.Revolute("hinge", quirk.GROUND, A, point=[0, 0, 0], axis=[0, 0, 1])
BALL = quirk.Spherical("ball", quirk.GROUND, A, point=[0, 0, 0])
SLIDER = quirk.Prismatic("slider", quirk.GROUND, A, axis=[0, 0, 1])
FRAME = quirk.Frame()


def system(*items, **options):
    return quirk.System([A, HINGE, *items], **options)


def state(**parts):
    return quirk.State(**{
        "position": np.zeros((1, 3)), "orientation": np.array([[1.0, 0, 0, 0]]),
        "velocity": np.zeros((1, 3)), "angular_velocity": np.zeros((1, 3)), **parts,
    })  # fmt: skip


CASES = {
    # bodies
    "no name": (lambda: quirk.Body("", 1, I), "Body: name must be a non-empty string; got ''"),
    "name is a number": (lambda: quirk.Body(3, 1, I), "Body: name must be a non-empty string; got 3"),
    "zero mass": (lambda: quirk.Body("rod", 0, I), 'Body "rod": mass must be positive; got 0'),
    "negative mass": (lambda: quirk.Body("rod", -2, I), 'Body "rod": mass must be positive; got -2'),
    "NaN mass": (lambda: quirk.Body("rod", NAN, I), 'Body "rod": mass must be finite; got nan'),
    "text as mass": (lambda: quirk.Body("rod", "heavy", I), "Body \"rod\": mass must be"),
    "inertia of 6": (lambda: quirk.Body("rod", 1, range(6)), 'Body "rod": inertia must be 3 principal moments or a 3 x 3 tensor'),
    "scalar inertia": (lambda: quirk.Body("rod", 1, 2.0), 'Body "rod": inertia must be 3 principal moments or a 3 x 3'),
    "inertia not symmetric": (lambda: quirk.Body("rod", 1, [[1, 0.2, 0], [0, 1, 0], [0, 0, 1]]), 'Body "rod": inertia must be symmetric'),
    "inertia indefinite": (lambda: quirk.Body("rod", 1, [1, -1, 1]), 'Body "rod": inertia must be positive definite; its principal moments are (-1, 1, 1)'),
    "inertia zero": (lambda: quirk.Body("rod", 1, [0, 0, 0]), 'Body "rod": inertia must be positive definite'),
    "inertia impossible": (lambda: quirk.Body("rod", 1, [0.1, 0.1, 0.5]), 'Body "rod": inertia violates the triangle inequality (0.1, 0.1, 0.5): no rigid body'),
    "NaN in inertia": (lambda: quirk.Body("rod", 1, [1, NAN, 1]), 'Body "rod": inertia must be finite'),
    "position in the plane": (lambda: body(position=[1, 2]), 'Body "rod": position must have shape (3,); got shape (2,): [1, 2]'),
    "NaN in position": (lambda: body(position=[0, NAN, 0]), 'Body "rod": position must be finite; got [0.0, nan, 0.0]'),
    "text as velocity": (lambda: body(velocity="fast"), "Body \"rod\": velocity must be 3 numbers; got 'fast'"),
    "infinite spin": (lambda: body(angular_velocity=[0, 0, np.inf]), 'Body "rod": angular_velocity must be finite'),
    "zero quaternion": (lambda: body(orientation=[0, 0, 0, 0]), 'Body "rod": orientation must be a rotation; got the quaternion [0.0, 0.0, 0.0, 0.0]'),
    "angles as orientation": (lambda: body(orientation=[0, 0, 1]), 'Body "rod": orientation must have shape (4,)'),
    "shape": (lambda: body(shape="box"), 'Body "rod": shape must be one of quirk.shapes, or a list of such; got \'box\''),
    "box size": (lambda: quirk.Body.box("rod", 1, [1, 0, 1]), 'Body "rod": size[1] must be positive; got 0'),
    "cylinder axis": (lambda: quirk.Body.cylinder("rod", 1, 1, 1, axis=[0, 0, 0]), 'Body "rod": axis must be a direction; got the zero vector'),
    "sphere radius": (lambda: quirk.Body.sphere("rod", 1, -1), 'Body "rod": radius must be positive; got -1'),
    # joints
    "same body": (lambda: quirk.Spherical("ball", A, A, point=[0, 0, 0]), 'Spherical "ball": body_i and body_j must differ; got Body "a" twice'),
    "two grounds": (lambda: quirk.Fixed("weld", quirk.GROUND, quirk.GROUND), 'Fixed "weld": body_i and body_j must differ; got the ground twice'),
    "no body": (lambda: quirk.Fixed("weld", quirk.GROUND, "a"), "Fixed \"weld\": body_j must be a quirk.Body or quirk.GROUND; got 'a'"),
    "no point": (lambda: quirk.Spherical("ball", A, B), 'Spherical "ball": point must be given, in the inertial frame at the initial poses'),
    "no axis": (lambda: quirk.Revolute("hinge", A, B, point=[0, 0, 0]), 'Revolute "hinge": axis must be given'),
    "zero axis": (lambda: quirk.Revolute("hinge", A, B, point=[0, 0, 0], axis=[0, 0, 0]), 'Revolute "hinge": axis must be a direction; got the zero vector'),
    "NaN in point": (lambda: quirk.Spherical("ball", A, B, point=[0, NAN, 0]), 'Spherical "ball": point must be finite'),
    "both placements": (lambda: quirk.Spherical("ball", A, B, point=[0, 0, 0], frame_i=FRAME, frame_j=FRAME), 'Spherical "ball": give either point, or frame_i and frame_j, not both kinds'),
    "one frame": (lambda: quirk.Spherical("ball", A, B, frame_i=FRAME), 'Spherical "ball": frame_j must be a quirk.Frame in body coordinates; got None'),
    "no frame": (lambda: quirk.Spherical("ball", A, B, frame_i=[0, 0, 0], frame_j=FRAME), 'Spherical "ball": frame_i must be a quirk.Frame'),
    "frame origin": (lambda: quirk.Frame(origin=[1]), "Frame: origin must have shape (3,)"),
    "parallel cross": (lambda: quirk.Universal("u", A, B, point=[0, 0, 0], axis_i=[1, 0, 0], axis_j=[-2, 0, 0]), 'Universal "u": axis_i and axis_j must be perpendicular, as in a cross, and must not be parallel; got [1.0, 0.0, 0.0] and [-1.0, 0.0, 0.0], 180 degrees apart'),
    "oblique cross": (lambda: quirk.Universal("u", A, B, point=[0, 0, 0], axis_i=[1, 0, 0], axis_j=[1, 1, 0]), 'Universal "u": axis_i and axis_j must be perpendicular'),
    "cross without axis": (lambda: quirk.Universal("u", A, B, point=[0, 0, 0], axis_i=[1, 0, 0]), 'Universal "u": axis_j must be given'),
    "distance zero": (lambda: quirk.Distance("wire", A, B, length=0), 'Distance "wire": length must be positive; got 0'),
    "distance of a point to itself": (lambda: quirk.Distance("wire", quirk.GROUND, A), 'Distance "wire": its end points coincide at the initial poses; give length'),
    # systems
    "nothing": (lambda: quirk.System([]), "System: at least one body is needed"),
    "no list": (lambda: quirk.System(A), "System: items must be a list of bodies, constraints and forces"),
    "foreign item": (lambda: quirk.System([A, "hinge"]), "System: items must be bodies, beams, constraints, forces, events and sampled functions; got 'hinge'"),
    "duplicate name": (lambda: quirk.System([A, body("a")]), 'System: names must be unique; Body "a" has the name of Body "a": rename one'),
    "the same body twice": (lambda: quirk.System([A, HINGE, A]), 'System: Body "a" is in the list twice: drop one'),
    "items without a list": (lambda: quirk.System(A, HINGE, gravity=[0, 0, -1]), "System: items must be one list: System([a, b, ...]"),
    "name of an input": (lambda: quirk.System([A, HINGE, quirk.ComputedTorque("ca", [HINGE], [0], kp=1.0, kd=1.0, gravity=[0, 0, -9.81]), quirk.Force("ca.rates", A, [1, 0, 0])]), 'System: Force "ca.rates" has the name of an input, the rates of ComputedTorque "ca": rename one'),
    "only a joint": (lambda: quirk.System([HINGE]), 'System: Revolute "hinge" acts on Body "a", which is not in the system: add it'),
    "the ground's name": (lambda: quirk.System([body("ground")]), 'System: names must be unique; Body "ground" has the name of quirk.GROUND'),
    "stranger in a joint": (lambda: quirk.System([B, HINGE]), 'System: Revolute "hinge" acts on Body "a", which is not in the system: add it'),
    "stranger in a force": (lambda: quirk.System([B, quirk.Force("push", A, [1, 0, 0])]), 'System: Force "push" acts on Body "a", which is not in the system'),
    "motor without its joint": (lambda: quirk.System([A, quirk.JointTorque("motor", HINGE, 1.0)]), 'System: JointTorque "motor" acts on Revolute "hinge", which is not in the system'),
    "gravity as a number": (lambda: quirk.System([A], gravity=-9.81), "System: gravity must have shape (3,); got shape (): -9.81"),
    "changed mass": (lambda: setattr(A, "mass", 2.0), 'Body "a": mass cannot be changed after it was made; make a new one'),
    "switched joint": (lambda: setattr(HINGE, "active", False), 'Revolute "hinge": active cannot be changed after it was made'),
    "new attribute": (lambda: setattr(A, "velocty", [1, 0, 0]), 'Body "a": velocty cannot be changed'),
    "inertia ragged": (lambda: quirk.Body("rod", 1, [[1, 2], [3]]), 'Body "rod": inertia must be 3 principal moments or a 3 x 3 tensor'),
    "complex mass": (lambda: quirk.Body("rod", 1 + 2j, I), 'Body "rod": mass must be a number; got (1+2j)'),
    "True as mass": (lambda: quirk.Body("rod", True, I), 'Body "rod": mass must be a number; got True'),
    "None as mass": (lambda: quirk.Body("rod", None, I), 'Body "rod": mass must be a number; got None'),
    "text for a number": (lambda: run(duration="1"), "simulate: duration must be a number; got '1'"),
    "two durations": (lambda: run(duration=(0, 1)), "simulate: duration must be a number; got (0, 1)"),
    "text as active": (lambda: quirk.Spherical("ball", A, B, point=[0, 0, 0], active="no"), 'Spherical "ball": active must be True or False; got \'no\''),
    "unknown letter": (lambda: quirk.Revolute("hinge", A, B, point=[0, 0, 0], axis="w"), "Revolute \"hinge\": axis must be one of 'x', 'y', 'z'; got 'w'"),
    "ragged output": (lambda: run(output=[[0], [0, 1]]), "simulate: output must be times in seconds"),
    "far too much output": (lambda: run(output=1e-12), "simulate: output every 1e-12 s would be 1.0e+12 states"),
    "output longer than the run": (lambda: run(output=100), "simulate: output every 100 s is longer than the duration, 1 s"),
    "step longer than the run": (lambda: run(method="RK4", step=5), "simulate: step of 5 s is longer than the duration, 1 s"),
    "welded the wrong way round": (lambda: run_flipped(), 'Fixed "weld": the initial poses violate it by 3.14 rad, its frames point in opposite directions'),
    "hinges far apart in angle": (lambda: run_oblique(), 'Revolute "hinge": the initial poses violate it by 0.524 rad (row hinge: z_i . '),
    "wire too long": (lambda: run_wire(), 'Distance "wire": the initial poses violate it by 1.5 m (row wire: d . d)'),
    "unknown name": (lambda: system()["hing"], 'System: no object is named "hing"; did you mean "hinge"?'),
    "unknown name, nothing like it": (lambda: system()["xyz"], 'System: no object is named "xyz"; there are: a, hinge'),
    # states
    "state of other size": (lambda: system().acceleration(state(position=np.zeros((2, 3)))), "State: position must have shape (1, 3), a row for each body; got (2, 3)"),
    "NaN in a state": (lambda: system().acceleration(state(velocity=np.full((1, 3), NAN))), "State: velocity must be finite; row 0 is [nan, nan, nan]"),
    "zero quaternion in a state": (lambda: system().acceleration(state(orientation=np.zeros((1, 4)))), "State: orientation must be unit quaternions; row 0 is zero"),
    "no initial state": (lambda: run(initial_state="rest"), "System: state must be a quirk.State; got 'rest'"),
    "no state": (lambda: system().acceleration(None), "System: state must be a quirk.State; got None"),
    # forces
    "force on the ground": (lambda: quirk.Force("push", quirk.GROUND, [1, 0, 0]), 'Force "push": body must be a quirk.Body; got quirk.GROUND'),
    "force of two": (lambda: quirk.Force("push", A, [1, 0]), 'Force "push": force must have shape (3,)'),
    "force frame": (lambda: quirk.Force("push", A, [1, 0, 0], frame="world"), "Force \"push\": frame must be one of 'inertial', 'body'; got 'world'"),
    "torque about a ball": (lambda: quirk.JointTorque("motor", BALL, 1.0), 'JointTorque "motor": joint must be one that turns about a single axis; got Spherical "ball"'),
    "torque about a slider": (lambda: quirk.JointTorque("motor", SLIDER, 1.0), 'JointTorque "motor": joint must be one that turns about'),
    "force along a hinge": (lambda: quirk.JointForce("push", HINGE, 1.0), 'JointForce "push": joint must be one that slides along a single axis; got Revolute "hinge"'),
    "torque about a body": (lambda: quirk.JointTorque("motor", A, 1.0), 'JointTorque "motor": joint must be a joint such as quirk.Revolute'),
    "negative stiffness": (lambda: quirk.Spring("s", A, B, stiffness=-1), 'Spring "s": stiffness must not be negative; got -1'),
    "negative damping": (lambda: quirk.Spring("s", A, B, stiffness=1, damping=-1), 'Spring "s": damping must not be negative'),
    "function of wrong shape": (lambda: run(quirk.Force("push", A, lambda *x: [1, 2])), 'Force "push", at t = 0 s: what its force function returns must have shape (3,); got shape (2,)'),
    "function of NaN": (lambda: run(quirk.Torque("twist", A, lambda *x: [0, NAN, 0])), 'Torque "twist", at t = 0 s: what its torque function returns must be finite'),
    "function of nothing": (lambda: run(quirk.JointTorque("motor", HINGE, lambda *x: None)), 'JointTorque "motor", at t = 0 s: what its torque function returns must be a number; got None'),
    "function that fails": (lambda: run(quirk.Force("push", A, lambda t, *x: [x[9], 0, 0])), 'Force "push": its force function, called as f(t, position, orientation, velocity, angular_velocity), failed at t = 0 s: IndexError'),
    "function of other arguments": (lambda: run(quirk.Force("push", A, lambda t: [0, 0, 0])), 'Force "push": force must be a function f(t, position, orientation, velocity, angular_velocity) or f(t, state); got a function with 1 argument without a default'),
    # runs
    "no system": (lambda: quirk.simulate([A], 1.0), "simulate: system must be a quirk.System"),
    "zero duration": (lambda: run(duration=0), "simulate: duration must be positive; got 0"),
    "NaN duration": (lambda: run(duration=NAN), "simulate: duration must be finite"),
    "unknown method": (lambda: run(method="Euler"), "simulate: method must be one of 'Taylor', 'RK4', 'RK45', 'Tsit5', 'DOP853', 'Vern9', 'RadauIIA9', 'Rodas5P', 'Radau', 'BDF', 'LSODA', 'auto'; got 'Euler'"),
    "RK4 without step": (lambda: run(method="RK4"), "simulate: method 'RK4' has a fixed step size; give step= in seconds"),
    "negative step": (lambda: run(method="RK4", step=-1), "simulate: step must be positive; got -1"),
    "step and tolerance": (lambda: run(method="RK45", step=0.1, rtol=1e-6), "simulate: step fixes the step size, so rtol and atol have no meaning"),
    "events of BDF": (lambda: run(method="BDF", events=[quirk.Event("late", "time", level=0.5)]), 'simulate: Event "late": method="BDF" does not locate events, contacts, dry friction and backlash; take method="RadauIIA9" or "Rodas5P"'),
    "events of the dense solver": (lambda: run(solver="dense", events=[quirk.Event("late", "time", level=0.5)]), 'simulate: Event "late": solver="dense" does not locate events, contacts, dry friction and backlash; take solver="sparse"'),
    "stop of the dense solver": (lambda: run(quirk.Stop("end", HINGE, lower=-1.0), solver="dense"), 'simulate: Stop "end": solver="dense" does not locate'),
    "friction of LSODA": (lambda: run(quirk.JointFriction("rub", HINGE, coulomb=1.0, sticking=True), method="LSODA"), 'simulate: JointFriction "rub": method="LSODA" does not locate events, contacts, dry friction and backlash; take method="RadauIIA9" or "Rodas5P"'),
    "step for BDF": (lambda: run(method="BDF", step=0.1), "simulate: method 'BDF' chooses its own steps"),
    "zero tolerance": (lambda: run(rtol=0), "simulate: rtol must be positive; got 0"),
    "unknown stabilization": (lambda: run(stabilization="magic"), "simulate: stabilization must be one of 'projection', 'baumgarte', None; got 'magic'"),
    "negative baumgarte": (lambda: run(stabilization="baumgarte", baumgarte=(-1, 1)), "simulate: baumgarte must be two rates"),
    "unknown solver": (lambda: run(solver="magic"), "simulate: solver must be one of 'sparse', 'dense'; got 'magic'"),
    "output beyond the end": (lambda: run(output=[0, 2]), "simulate: output must lie between 0 and 1 s; got 0 to 2 s"),
    "output going back": (lambda: run(output=[0.1, 0.5, 0.3]), "simulate: output must increase strictly"),
    "output of nothing": (lambda: run(output=[]), "simulate: output must be a list of times"),
    "negative output": (lambda: run(output=-0.1), "simulate: output must be positive; got -0.1"),
    "velocity against a hinge": (lambda: run_apart(velocity=[0, 0, 0.5]), 'Revolute "hinge": the initial velocities violate it by 0.5 m/s (row hinge: coincidence along z): correct the initial velocities, or call system.assemble()'),
    "joint apart": (lambda: run_apart(shift=1e-3), 'Spherical "ball": the initial poses violate it by 0.001 m (row ball: coincidence along x): correct the initial poses, or call system.assemble()'),
    "spring without direction": (lambda: run(quirk.Spring("s", quirk.GROUND, A, stiffness=1, rest_length=1)), 'Spring "s": its ends coincide at t = 0 s'),
    # results
    "frame of a force": (lambda: run(quirk.Force("push", A, [0, 0, 0]))["push"].force(frame="k"), "Force \"push\": frame must be one of 'inertial', 'i', 'j'; got 'k'"),
    "coordinate of a force": (lambda: run(quirk.Spring("s", quirk.GROUND, A, stiffness=1, point_i=[1, 0, 0]))["s"].coordinate("angle"), "Spring \"s\": it has no coordinate 'angle'; its coordinates: 'length'"),
    "end of a force": (lambda: run(quirk.Force("push", A, [0, 0, 0]))["push"].force(end=1), 'Force "push": end must be the number of one of its 1 ends; got 1'),
    "view of nothing": (lambda: run()["hings"], 'System: no object is named "hings"; did you mean "hinge"?'),
    "load frame": (lambda: run()["hinge"].force(frame="k"), "Revolute \"hinge\": frame must be one of 'inertial', 'i', 'j', 'joint i', 'joint j'; got 'k'"),
}  # fmt: skip


def run(*forces, duration=1.0, **options):
    return quirk.simulate(system(*forces), duration, **options)


def run_flipped():
    rod = body("rod")
    weld = quirk.Fixed("weld", quirk.GROUND, rod, frame_i=FRAME, frame_j=quirk.Frame(rotation=[0, 0, 0, 1]))
    return quirk.simulate(quirk.System([rod, weld]), 1.0)


def run_oblique():
    turned = quirk.Frame(rotation=[np.cos(np.pi / 12), np.sin(np.pi / 12), 0, 0])
    rod = body("rod")
    hinge = quirk.Revolute("hinge", quirk.GROUND, rod, frame_i=FRAME, frame_j=turned)
    return quirk.simulate(quirk.System([rod, hinge]), 1.0)


def run_wire():
    rod = body("rod", position=[0.5, 0, 0])
    return quirk.simulate(quirk.System([rod, quirk.Distance("wire", quirk.GROUND, rod, length=2.0)]), 1.0)


def run_apart(velocity=None, shift=None):
    if velocity is not None:
        rod = body("rod", velocity=velocity)
        joint = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis=[0, 0, 1])
    else:
        rod = body("rod")
        joint = quirk.Spherical("ball", quirk.GROUND, rod, frame_i=FRAME, frame_j=quirk.Frame([shift, 0, 0]))
    return quirk.simulate(quirk.System([rod, joint]), 1.0)


@pytest.mark.parametrize("case", CASES)
def test_message(case):
    action, message = CASES[case]
    with pytest.raises(quirk.QuirkError, match=re.escape(message)) as error:
        action()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (
            lambda: quirk.Revolute("hinge", A, B, [0, 0, 0], [0, 0, 1]),
            'Revolute "hinge": too many positional arguments; expected Revolute(name',
        ),
        (
            lambda: quirk.Body("rod", 1.0, I, pos=[0, 0, 0]),
            "Body \"rod\": got an unexpected keyword argument 'pos'; did you mean \"position\"? Expected Body(name",
        ),
        (
            lambda: quirk.Body.box("rod", 1.0, I, colour="red"),
            "Body.box \"rod\": got an unexpected keyword argument 'colour'; did you mean \"color\"? Expected Body.box(name",
        ),
        (
            lambda: quirk.Body.sphere("ball", rad=0.1, vel=[0, 0, 1]),
            "Body.sphere \"ball\": got unexpected keyword arguments 'rad' and 'vel'; did you mean \"radius\" and "
            '"velocity"? Expected Body.sphere(name',
        ),
        (
            lambda: quirk.Spring("s", A, B, stiffness=1, length=2),
            "Spring \"s\": got an unexpected keyword argument 'length'; did you mean \"rest_length\"?",
        ),
        (
            lambda: quirk.Spring("s", A, B, k=1),
            "Spring \"s\": got an unexpected keyword argument 'k'; did you mean \"stiffness\"?",
        ),
        (
            lambda: quirk.simulate(system(), 1.0, dt=0.1),
            "simulate: got an unexpected keyword argument 'dt'; did you mean \"step\" or \"output\"? Expected simulate(",
        ),
        (
            lambda: quirk.simulate(system(), 1.0, 0.1),
            "simulate: too many positional arguments; expected simulate(system, duration, *, method=",
        ),
        (lambda: quirk.simulate(system()), "simulate: missing a required argument: 'duration'; expected simulate("),
        (
            lambda: system().assemble(coords={"hinge": 0.1}),
            "System.assemble: got an unexpected keyword argument 'coords'; did you mean \"coordinates\"?",
        ),
        (lambda: quirk.System([A], g=[0, 0, -9.81]), "System: got an unexpected keyword argument 'g'; did you mean"),
        (lambda: state(bodys=[]), "State: got an unexpected keyword argument 'bodys'; did you mean \"bodies\"?"),
    ],
)  # fmt: skip
def test_arguments_that_do_not_fit(action, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        action()


PUBLIC = [getattr(quirk, name) for name in sorted(quirk.__all__)]
CLASSES = [x for x in PUBLIC if isinstance(x, type) and not issubclass(x, BaseException)]
READERS = [getattr(quirk.importers, name) for name in ("read", "load_urdf", "load_sdf", "load_mjcf", "to_urdf")]


def methods(cls):
    """Public methods of a class that take no names of the user, and what messages call them."""
    for name in dir(cls):
        function = getattr(cls, name)
        own = next(base for base in cls.__mro__ if name in vars(base))
        if name[0] == "_" or not callable(function) or not own.__module__.startswith("quirk"):
            continue
        kinds = {p.kind for p in inspect.signature(function).parameters.values()}
        if inspect.Parameter.VAR_KEYWORD not in kinds:
            # The base class of `System` is no public name.
            title = "System" if issubclass(quirk.System, own) else own.__name__
            yield function, f"{title}.{name}"


@pytest.mark.parametrize(
    ("function", "called"),
    [
        *((x, x.__name__) for x in PUBLIC if inspect.isfunction(x) and x not in (quirk.load, quirk.sweep, quirk.where)),
        *((x, x.__name__) for x in READERS if x.__name__ != "read"),
        *((x, x.__name__) for x in CLASSES if x.__init__ is not object.__init__),
        *(pair for cls in (quirk.System, quirk.Result, quirk.State) for pair in methods(cls)),
        *(pair for cls in (BodyView, JointView, ForceView, FrictionView) for pair in methods(cls)),
    ],
)
def test_every_public_function_says_which_arguments_it_takes(function, called):
    with pytest.raises(TypeError) as error:
        function(qqqq=1)
    assert re.match(rf"(\w+\.)?{re.escape(called)}( \"\?\")?: got an unexpected keyword argument 'qqqq'; expected ", str(error.value))  # fmt: skip
    assert "\n" not in str(error.value)


def test_type_errors_of_the_function_itself_are_as_they_were():
    """What user functions and bodies of public functions raise is not taken for a wrong argument."""

    @explained
    def public(x, *, scale=1.0):
        return scale + x

    assert public("a", scale="b") == "ba"
    with pytest.raises(TypeError, match="unsupported operand type"):
        public("a")
    with pytest.raises(
        TypeError, match=re.escape("public: missing a required argument: 'x'; expected public(x, *, sc")
    ):
        public(scale=2.0)
    assert inspect.signature(public) == inspect.signature(public.__wrapped__)


@pytest.fixture(scope="module")
def result():
    spring = quirk.Spring("coil", quirk.GROUND, A, stiffness=1.0, point_i=[1, 0, 0], point_j=[0, 1, 0])
    return quirk.simulate(system(spring, gravity=[0, 0, -9.81]), 0.1, output=0.05)


@pytest.mark.parametrize(
    "part",
    [
        lambda r: r, lambda r: r["a"], lambda r: r["hinge"], lambda r: r["coil"], lambda r: r.energy,
        lambda r: r.momentum, lambda r: r.residual, lambda r: r.power, lambda r: r.events, lambda r: r.state,
        lambda r: r.system, lambda r: r.center_of_mass(), lambda r: r["a"].path(), lambda r: r.mobility,
        lambda r: r.system.linearize(), lambda r: r.system.modes(),
        lambda r: r.system.acceleration(r.state_at()), lambda r: r.system.joint_loads(r.state_at())["hinge"],
    ],
)  # fmt: skip
def test_misspelt_attributes_name_the_nearest_and_list_all(result, part):
    """Two letters exchanged, at a place drawn at random, in each attribute with a name long enough to be known again."""
    view, random = part(result), np.random.default_rng(5)
    names = [name for name in dir(view) if name[0] != "_"]
    assert names
    for name in names:
        k = int(random.integers(0, max(1, len(name) - 1)))
        wrong = name[:k] + name[k : k + 2][::-1] + name[k + 2 :]
        if wrong in names or wrong == name:
            continue
        with pytest.raises(AttributeError) as error:
            getattr(view, wrong)
        kind, listed = type(view).__name__, set(str(error.value).partition("here are: ")[2].split(", "))
        assert str(error.value).startswith(f"{kind} has no attribute '{wrong}'; ")
        assert listed == set(names)
        if len(name) >= 6:
            assert re.search(rf'did you mean "({re.escape(name)}|.*" or "{re.escape(name)})"\?', str(error.value))
        assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)
        assert not hasattr(view, wrong) and getattr(view, wrong, None) is None


def test_errors_within_properties_are_not_hidden(result):
    """An AttributeError inside of a property is raised as it is, and names that begin with _ have Python's message."""
    with pytest.raises(quirk.InputError, match="it has no travel"):
        result["hinge"].travel  # noqa: B018
    with pytest.raises(AttributeError, match="object has no attribute '_positoin'"):
        result["a"]._positoin  # noqa: B018
    assert np.array_equal(copy.copy(result["a"]).position, result["a"].position)
    with pytest.raises(AttributeError, match="no attribute 'Hinge'; did you mean \"Revolute\""):
        quirk.Hinge  # noqa: B018


@pytest.mark.parametrize(
    ("given", "known", "meant"),
    [
        ("POSITION", ["velocity", "position"], ["position"]),
        ("pos", ["velocity", "position"], ["position"]),
        ("vel", ["angular_velocity", "velocity"], ["velocity"]),
        ("tol", ["closure_tolerance", "state"], ["closure_tolerance"]),
        ("box", ["Body", "Body.box", "Body.bar"], ["Body.box"]),
        ("hinge", ["Bushing", "Revolute"], ["Revolute"]),
        ("dt", ["method", "output", "step"], ["step", "output"]),
        ("coefs", ["coefficients", "offset"], ["coefficients"]),
        ("h.angel", ["h.force", "h.angle", "h.angle_rate"], ["h.angle"]),
        ("xyz", ["hinge", "rod"], []),
        ("", ["hinge", "rod"], []),
        ("hinge", [], []),
    ],
)
def test_nearest_names(given, known, meant):
    assert nearest_names(given, known) == meant


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda: system(quirk.Event("e", "hinge.angel")), 'Event "e": no quantity is called "hinge.angel"; did you mean "hinge.angle"? There are: hinge.angle, '),
        (lambda: system(quirk.Event("e", "hing.angle")), 'Event "e": "hing.angle" does not start with a name of the system; did you mean "hinge.angle"?'),
        (lambda: system(quirk.Event("e", "a.pos")), 'Event "e": no quantity is called "a.pos"; did you mean "a.position.x"? There are: a.speed, '),
        (lambda: system(quirk.Event("e", lambda t, state: state["a"].velocitty[0])), "BodyNow has no attribute 'velocitty'; did you mean \"velocity\"? There are: "),
        (lambda: quirk.Event("e", "hinge.angle", action="recrod"), 'got \'recrod\'; did you mean "record"?'),
    ],
)  # fmt: skip
def test_misspelt_quantities_of_events(action, message):
    with pytest.raises(quirk.InputError, match=re.escape(message)):
        quirk.simulate(action(), 1.0)


def test_misspelt_quantities_of_results(result):
    with pytest.raises(quirk.InputError, match=re.escape("'derivatives'; got 'forcse'; did you mean \"forces\"?")):
        result.to_pandas(["motion", "forcse"])
    with pytest.raises(
        quirk.InputError, match=re.escape('"a.positoin.x"; did you mean "a.position.x"? There are: a.po')
    ):
        result.plot.phase("a.positoin.x")
    with pytest.raises(
        quirk.InputError, match=re.escape('outputs: no quantity is called "a.sped"; did you mean "a.speed"')
    ):
        result.system.linearize(outputs=["a.sped"])
    with pytest.raises(
        quirk.InputError, match='has an option \'dt\'; did you mean "step" or "output"\\? There are: build, '
    ):
        quirk.sweep(system, {"rank_tolerance": [1e-7]}, 1.0, output=0.1, dt=0.1)


PLANAR = quirk.planar.PlanarBody("slab", 1.0, 0.1)


@pytest.mark.parametrize(
    ("make", "owner"),
    [
        (lambda x: quirk.Stop("end", HINGE, upper=x), 'Stop "end": upper'),
        (lambda x: quirk.Stop("end", HINGE, lower=-x), 'Stop "end": lower'),
        (lambda x: quirk.TorsionSpring("coil", HINGE, stiffness=1.0, rest_angle=x), 'TorsionSpring "coil": rest_angle'),
        (lambda x: system(quirk.Event("e", "hinge.angle", level=x)).linearize(), None),
        (lambda x: quirk.Drive("m", HINGE, quirk.Motion.polynomial([x])), 'Drive "m": motion'),
        (lambda x: quirk.Drive("m", HINGE, quirk.Motion.sinusoid(x, 1.0)), 'Drive "m": motion'),
        (lambda x: quirk.Controller("servo", HINGE, x, kp=1.0), 'Controller "servo": target'),
        (lambda x: quirk.planar.AngleDriver("m", quirk.GROUND, PLANAR, quirk.Motion.constant_rate(1.0), offset=x), 'planar.AngleDriver "m": offset'),
        (lambda x: quirk.planar.PlanarBody("slab", 1.0, 0.1, angle=x), 'Body "slab": angle'),
    ],
)  # fmt: skip
def test_angles_that_look_like_degrees(make, owner):
    """Round numbers of more than a turn warn; angles within one, multiples of pi, and lengths do not."""
    if owner is not None:
        for angle in (22.5, 45, 90.0, 180, 360):
            with pytest.warns(quirk.DegreesWarning, match=re.escape(f"{owner}: ")) as told:
                make(angle)
            assert f"{angle:g} rad is more than a whole turn; angles are in radians" in str(told[0].message)
            assert f"np.radians({'-' * ('lower' in owner)}{angle:g}) = " in str(told[0].message)
            assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for angle in (0.0, 1.0, 6.0, 7.0, 2 * np.pi, 7 * np.pi, 20.3):
            make(angle)


def test_levels_and_coordinates_that_look_like_degrees():
    for quantity in ("hinge.angle", "hinge", "hinge.rotation", "hinge.rotation.x"):
        with pytest.warns(quirk.DegreesWarning, match=r'Event "e": level: 90 rad is more than a whole turn'):
            run(quirk.Event("e", quantity, level=90), duration=0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(quirk.Event("e", "hinge.angle_rate", level=90), quirk.Event("f", "a.position.x", level=45), duration=0.01)
        quirk.Stop("end", SLIDER, upper=45)
        quirk.Drive("m", SLIDER, quirk.Motion.polynomial([45.0]))
    with pytest.raises(quirk.InputError, match=r"45 rad is more than a whole turn.*np.radians\(45\) = 0.785398"):
        system().assemble(coordinates={"hinge": 45})
    with pytest.raises(quirk.InputError, match=r"angle: 45 rad is more than a whole turn"):
        quirk.Latch("latch", HINGE, distance=0.1, angle=45)
    with pytest.raises(quirk.InputError, match=re.escape("give joint coordinates by name, coordinates={'hinge': 45}")):
        system().assemble({"hinge": 45})


def test_joints_placed_where_bodies_were_declared():
    """A joint that is added after assembly says which poses placed it; one whose frames were given does not."""
    other = body("other", position=[1, 0, 0])
    knee = quirk.Revolute("knee", A, other, point=[0.5, 0, 0], axis="z")
    chain = system(other, knee)
    chain.assemble(coordinates={"knee": 0.3})
    said = 'it was placed at the poses with which Body "a" and Body "other" were declared, from which the initial state differs'
    with pytest.raises(quirk.InconsistentStateError, match=re.escape(said)):
        quirk.simulate(chain.with_parts(quirk.Fixed("weld", A, other)), 0.1)
    framed = quirk.Fixed("weld", A, other, frame_i=quirk.Frame([1, 0, 0]), frame_j=FRAME)
    with pytest.raises(quirk.InconsistentStateError, match='Fixed "weld": the initial poses violate it') as error:
        quirk.simulate(chain.with_parts(framed), 0.1)
    assert "declared" not in str(error.value)
    with pytest.raises(quirk.InconsistentStateError) as error:
        run_oblique()
    assert "declared" not in str(error.value)


def test_errors_are_what_python_expects():
    """Bad values are ValueErrors, unknown names KeyErrors, failed runs RuntimeErrors."""
    assert issubclass(quirk.InputError, ValueError)
    assert issubclass(quirk.InconsistentStateError, quirk.InputError)
    assert issubclass(quirk.UnknownNameError, KeyError)
    assert issubclass(quirk.SimulationError, RuntimeError)
    assert issubclass(quirk.AssemblyError, RuntimeError)


def test_consistent_states_are_accepted_in_any_unit():
    """The same rounded input, in millimeters and far from the origin, is not taken for a mistake."""
    for size, origin in ((1e-3, 0.0), (1e3, 0.0), (1.0, 1e6)):
        arm = size * np.array([0.6, 0.8, 0]) + origin
        rod = quirk.Body(
            "rod",
            1.0,
            [size**2] * 3,
            position=arm,
            angular_velocity=[0, 0, 2],
            velocity=size * np.array([-1.6, 1.2, 0]),
        )
        joint = quirk.Spherical("ball", quirk.GROUND, rod, point=[origin] * 3)
        assert quirk.simulate(quirk.System([rod, joint]), 0.1).status == "completed"


MODEL = """
[[body]]
name = "rod"
kind = "Body.box"
mass = 1.0
size = [1, 0.1, 0.1]

[[constraint]]
name = "hinge"
kind = "Revolute"
body_i = "ground"
body_j = "rod"
point = [0, 0, 0]
axis = "z"
"""


@pytest.mark.parametrize(
    ("before", "after", "messages"),
    [
        ("Body.box", "box", ["line 4: ", "there is no kind 'box'; did you mean \"Body.box\""]),
        ("Revolute", "Hinge", ["line 10: ", "there is no kind 'Hinge'; did you mean \"Revolute\"?"]),
        ("Revolute", "Revolut", ["line 10: ", "there is no kind 'Revolut'; did you mean \"Revolute\"?"]),
        ("Revolute", "Qqqq", ["there is no kind 'Qqqq'; there are: ", "Cylindrical", "Revolute"]),
        ("point =", "pos =", ["line 13: ", 'Revolute "hinge": there is no "pos"; did you mean "point"?']),
        ("[[constraint]]", "[body]", ["the model has sections body on lines 2 and 8: write [[body]], in double brackets"]),
        ("", '[run]\nduration = 1\ndt = 0.1\n', ["line 3: [run]: there is no \"dt\"; did you mean \"step\" or \"output\"?"]),
        (
            "",
            '[[event]]\nname = "e"\nfunction = "hinge.angel"\n[[run.event]]\nname = "f"\nfunction = "rot.speed"\n[run]\nduration = 1\n',
            ["the model has 2 mistakes", 'line 3: Event "e": no quantity is called "hinge.angel"; did you mean "hinge.angle"?',
             'line 6: Event "f": "rot.speed" does not start with a name of the system; did you mean "rod.speed"?'],
        ),
    ],
)  # fmt: skip
def test_misspelt_model_files(before, after, messages):
    text = MODEL.replace(before, after, 1) if before else after + MODEL
    with pytest.raises(quirk.InputError) as error:
        model_of(text)
    for message in messages:
        assert message in str(error.value)
    if "Qqqq" in text:
        assert "Body.box" not in str(error.value)


XACRO = '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="arm">{}</robot>'


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("arm.xacro", XACRO.format('<xacro:property name="m" value="1"/>'), "is a xacro file, a program that writes"),
        ("arm.urdf", XACRO.format('<link name="${prefix}base"/>'), "is a xacro file"),
        ("arm.sdf", '<sdf version="1.9" xmlns:xacro="x"><xacro:arm/></sdf>', "is a xacro file"),
        ("arm.xml", '<xacro:arm xmlns:xacro="x"/>', "is a xacro file"),
        (
            "world.sdf",
            '<sdf version="1.9"><world name="w"><include><uri>model://a</uri></include><include><uri>b</uri></include></world></sdf>',
            "has no link, only includes, none of which could be read: include of 'model://a', which is not found; packages= says",
        ),
        ("options.urdf", '<robot name="arm"><link name="base"/></robot>', "has no option 'gravty'; did you mean \"gravity\"? There are: "),
    ],
)  # fmt: skip
def test_descriptions_that_are_none(name, text, message, tmp_path):
    (tmp_path / name).write_text(text)
    options = {"gravty": [0, 0, -9.81]} if name.startswith("options") else {}
    with pytest.raises(quirk.InputError, match=re.escape(message)):
        quirk.load(tmp_path / name, **options)


def test_help_lists_all_methods(capsys):
    with pytest.raises(SystemExit):
        parser().parse_args(["run", "--help"])
    listed = set(re.findall(r"\w+", capsys.readouterr().out))
    assert set(METHODS) <= listed


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Belt", 'did you mean "Pulley"?'), ("PID", 'did you mean "Controller"?'), ("World", 'did you mean "System"?'),
        ("Simulation", 'did you mean "simulate" or "Run"?'), ("Xyzzy", "dir(quirk) lists its names"),
    ],
)  # fmt: skip
def test_names_from_other_programs(name, hint):
    with pytest.raises(AttributeError, match=re.escape(f"has no attribute '{name}'; {hint}")):
        getattr(quirk, name)


def test_what_a_motion_and_a_batch_need():
    with pytest.raises(
        quirk.InputError, match=r'f_t must be .* or a text such as "sin\(3\*t\)"; got None: give f, f_t'
    ):
        quirk.Motion.function(np.sin)
    with pytest.raises(quirk.InputError, match=r"to arrays with a value for each of the 2 members.*got \['end'\]"):
        quirk.Batch(system(), 2, vary=["end"])


def driven_mechanism(drive):
    """A wheel, a slider and a probe at rest, each free to move along the coordinate that one driver prescribes."""
    wheel = quirk.Body.cylinder("wheel", 1.0, 0.2, 0.1, angular_velocity=[0, 0, 0.5])
    slider = quirk.Body.sphere("slider", 1.0, 0.1, position=[0, 0, 2.0], velocity=[0, 0, -0.25])
    axle = quirk.Revolute("axle", quirk.GROUND, wheel, point=[0, 0, 0], axis="z")
    rail = quirk.Prismatic("rail", quirk.GROUND, slider, point=[0, 0, 2.0], axis="z")
    rate = quirk.Motion.constant_rate
    drives = {
        "turn": quirk.Drive("turn", axle, rate(3.0, 6.0)),
        "push": quirk.Drive("push", rail, rate(-2.0)),
        "strut": quirk.DistanceDrive("strut", quirk.GROUND, slider, rate(1.0, 2.0)),
        "path": quirk.TrajectoryDrive("path", quirk.GROUND, slider, rate(0.0), rate(0.0), rate(4.0, 2.0)),
    }
    joints = [axle, rail] if drive != "path" else [axle]
    return quirk.System([wheel, slider, *joints, drives[drive]])


@pytest.mark.parametrize(
    ("drive", "message"),
    [
        ("turn", "poses violate it by 0.283 rad (row turn: angle z): it prescribes 6 rad at t = 0 s, and the initial poses have 6.28319 rad: correct"),
        ("push", "velocities violate it by 1.75 m/s (row push: displacement z): it prescribes -2 m/s at t = 0 s, and the initial velocities have -0.25 m/s: correct"),
        ("strut", "velocities violate it by 1.25 m/s (row strut: distance): it prescribes 1 m/s at t = 0 s, and the initial velocities have -0.25 m/s: correct"),
        ("path", "velocities violate it by 4.25 m/s (row path: coordinate z): it prescribes 4 m/s at t = 0 s, and the initial velocities have -0.25 m/s: correct"),
    ],
)  # fmt: skip
def test_drivers_name_both_values(drive, message):
    with pytest.raises(quirk.InconsistentStateError, match=re.escape(f'"{drive}": the initial {message}')):
        quirk.simulate(driven_mechanism(drive), 1.0)


def test_efforts_of_several_joints_are_named():
    rod = quirk.Body.box("rod", 2.0, [1.0, 0.1, 0.1], position=[0.5, 0, 0])
    tip = quirk.Body.box("tip", 1.0, [1.0, 0.1, 0.1], position=[1.5, 0, 0])
    hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis="y")
    elbow = quirk.Revolute("elbow", rod, tip, point=[1, 0, 0], axis="y")
    control = quirk.ComputedTorque("control", [hinge, elbow], [0, 0], kp=1.0, kd=1.0, gravity=[0, 0, -9.81])
    spring = quirk.Spring("spring", quirk.GROUND, tip, stiffness=1.0)
    result = quirk.simulate(quirk.System([rod, tip, hinge, elbow, control, spring]), 0.1, output=0.1)
    with pytest.raises(quirk.InputError, match=r'one joint have effort; use along\("hinge"\) or along\("elbow"\) for'):
        _ = result["control"].effort
    assert result["control"].along("hinge").shape == (2,)
    with pytest.raises(quirk.InputError, match=r"have effort; use force\(\) and torque\(\)$"):
        _ = result["spring"].effort


def test_what_a_system_is_made_of_cannot_be_changed():
    """Compiled models would not notice a change: each attempt is an error, also on copies."""
    ball = quirk.Body("ball", 1.0, [1, 1, 1])
    system = quirk.System([ball], gravity=[0, 0, -10.0])
    for one in (system, copy.deepcopy(system), pickle.loads(pickle.dumps(system))):
        for name in ("gravity", "bodies", "constraints", "forces", "events", "sampled"):
            with pytest.raises(quirk.InputError, match=f"System: {name} cannot be changed.*with_parts"):
                setattr(one, name, [])
        for change, given in (("clear", ()), ("append", (ball,)), ("__iadd__", ([ball],)), ("__setitem__", (0, ball))):
            with pytest.raises(quirk.InputError, match="lists of parts cannot be changed"):
                getattr(one.forces, change)(*given)
        with pytest.raises(ValueError, match="read-only"):
            one.gravity[2] = -1.6
        with pytest.raises(ValueError, match="read-only"):
            one.bodies[0].position[2] = 1.0
        assert one.gravity.tolist() == [0, 0, -10] and [*one.bodies, *one.forces] == one.bodies
    moon = quirk.System([*system], gravity=[0, 0, -1.6])
    assert quirk.simulate(moon, 1.0, output=1.0)["ball"].velocity[-1, 2] == pytest.approx(-1.6, rel=1e-12)
