"""The public names; and that the layout works from anywhere."""

import ast
import inspect
import subprocess
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest
from studies import study

import quirk
from quirk import constraints, events, forces, planar
from quirk.graphics.plot.plot import Plotter

NAMES = [
    "Actuator",
    "AssemblyError",
    "AttitudeControl",
    "Batch",
    "Beam",
    "BeamSegment",
    "Body",
    "BreaksWarning",
    "ChangedFunctionWarning",
    "CheckpointWarning",
    "Bushing",
    "ConstantVelocity",
    "Constraint",
    "Contact",
    "ContactLoadWarning",
    "ConvergenceError",
    "DegreesWarning",
    "Coupling",
    "Controller",
    "ComputedTorque",
    "CurveOnCurve",
    "CustomRows",
    "Cylindrical",
    "Damper",
    "Damping",
    "Distance",
    "DistanceDrive",
    "Drag",
    "Drawing",
    "Drive",
    "Drum",
    "Event",
    "Expression",
    "Fixed",
    "FluxPinning",
    "Force",
    "ForceElement",
    "ForceField",
    "Frame",
    "Free",
    "GROUND",
    "Gear",
    "Generic",
    "Friction",
    "GravityGradient",
    "GravityCompensation",
    "IgnoredPartWarning",
    "ImpactWarning",
    "Implicit",
    "InconsistentStateError",
    "InputError",
    "Interaction",
    "Joint",
    "JointForce",
    "JointFriction",
    "JointTorque",
    "KnifeEdge",
    "Latch",
    "Motion",
    "Objective",
    "OneSided",
    "Planar",
    "PointGravity",
    "PointOnCurve",
    "PointOnLine",
    "PointOnPlane",
    "Potential",
    "PotentialField",
    "Prismatic",
    "Pulley",
    "QuirkError",
    "RackPinion",
    "ReactionWheel",
    "Result",
    "Run",
    "Revolute",
    "Rope",
    "RollingDisk",
    "Screw",
    "Sampled",
    "OutputWarning",
    "RateJumpWarning",
    "RoundOffWarning",
    "SaveWarning",
    "SensitivityWarning",
    "SeriesWarning",
    "SimulationError",
    "Spherical",
    "Spring",
    "StatefulWarning",
    "StiffnessWarning",
    "State",
    "Stop",
    "System",
    "Tendon",
    "TendonStop",
    "Thruster",
    "Torque",
    "TorsionSpring",
    "TrajectoryDrive",
    "UniformField",
    "Universal",
    "UnknownNameError",
    "WriteError",
    "after",
    "disable",
    "distance_between",
    "enable",
    "engage",
    "equilibrium_path",
    "follow",
    "inverse_dynamics",
    "export_fmu",
    "gym_environment",
    "join",
    "kinematics",
    "load",
    "planar",
    "read_checkpoint",
    "release",
    "replace",
    "root_locus",
    "sensors",
    "set_velocity",
    "simulate",
    "surface",
    "sweep",
    "switch_off",
    "switch_on",
    "where",
    "Section",
]


def test_exports():
    assert sorted(quirk.__all__) == sorted(NAMES)
    for name in NAMES:
        assert getattr(quirk, name) is not None


def test_joints_and_forces_are_re_exported():
    for module in (constraints, forces):
        for name in module.__all__:
            if name not in ("Constraint", "Joint"):
                assert getattr(quirk, name) is getattr(module, name)


def test_version():
    assert quirk.__version__ == version("quirk-dynamics")


def run(script):
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout


def test_heavy_modules_are_imported_when_needed():
    """Models are made without matplotlib and numpy-quaternion, and nothing is compiled for them."""
    script = (
        "import sys, quirk; quirk.simulate, quirk.Revolute, quirk.System\n"
        "print([m for m in ('matplotlib', 'quaternion', 'scipy.integrate') if m in sys.modules])\n"
        "from quirk.constraints.primitives import constraint_time_derivatives\n"
        "print(len(constraint_time_derivatives.compiled.signatures))"
    )
    assert run(script).split("\n")[:2] == ["[]", "0"]


def test_the_package_alone_loads_nothing():
    script = "import sys; before = {*sys.modules}; import quirk; print({*sys.modules} & {'numpy', 'scipy', 'numba'}); "
    assert run(script + "print([m for m in {*sys.modules} - before if m.startswith('quirk.')])") == "set()\n[]\n"


@pytest.mark.parametrize(
    "first",
    study(
        ["quirk.simulation.simulate", "quirk.result.result", "quirk.commands.cli", "quirk.constraints.planar"],
        {"quirk.constraints.planar"},
    ),
)
def test_names_are_there_whatever_is_imported_first(first):
    script = f"import {first}; import quirk; print(all(callable(f) for f in (quirk.simulate, quirk.kinematics)))"
    assert run(script) == "True\n"


def test_names_that_are_not_there():
    with pytest.raises(AttributeError, match="module 'quirk' has no attribute 'Revolut'"):
        _ = quirk.Revolut
    with pytest.raises(ImportError, match="cannot import name 'Revolut'"):
        from quirk import Revolut  # noqa: F401


def test_all_names_are_listed_and_modules_found():
    modules = {"constraints", "demos", "errors", "events", "forces", "importers", "integrators", "rotation", "shapes"}
    assert set(dir(quirk)) == {*NAMES, *modules, "__all__", "__doc__", "__version__"}
    assert all(hasattr(quirk, name) for name in dir(quirk))
    assert quirk.errors.InputError is quirk.InputError


def test_what_type_checkers_read_has_the_same_names():
    stub = ast.parse((Path(quirk.__file__).parent / "__init__.pyi").read_text())
    (listed,) = (ast.literal_eval(node.value) for node in stub.body if isinstance(node, ast.Assign))
    assert sorted([*listed, *constraints.__all__, *events.__all__, *forces.__all__]) == sorted(NAMES)
    imported = {(alias.asname or alias.name) for node in stub.body if hasattr(node, "names") for alias in node.names}
    assert set(listed) <= imported


def test_arguments_are_written_out():
    """Keywords are handed on unseen only where they are of many functions: of readers of files, and of simulate."""
    hidden = set()
    for name in quirk.__all__:
        public = getattr(quirk, name)
        members = [m for m in dir(public) if not m.startswith("_")] if inspect.isclass(public) else []
        if not inspect.isclass(public) or not issubclass(public, BaseException | Warning):
            for label, function in [(name, public), *((f"{name}.{m}", getattr(public, m)) for m in members)]:
                kinds = {p.kind for p in inspect.signature(function).parameters.values()} if callable(function) else {}
                hidden |= {label} if inspect.Parameter.VAR_KEYWORD in kinds else set()
    assert hidden == {"load", "sweep"}


@pytest.mark.parametrize(
    ("method", "target"),
    [
        (quirk.Result.animate, "graphics.animation.animate:animate"),
        (quirk.Result.view, "graphics.viewer.player:view"),
        (quirk.Result.to_html, "graphics.viewer.html:to_html"),
        (quirk.Result.to_xarray, "io.resultfile.dataset:to_xarray"),
        (quirk.Result.to_pandas, "io.resultfile.columns:to_pandas"),
        (quirk.Result.to_csv, "io.resultfile.columns:to_csv"),
        (quirk.Result.to_npz, "io.resultfile.columns:to_npz"),
        (quirk.Result.at, "result.resampling:at"),
        (quirk.Result.save, "io.resultfile.write:save"),
        (quirk.System.view, "graphics.viewer.sliders:view"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_methods_have_the_arguments_of_what_they_call(method, target):
    module, name = target.split(":")
    own, called = (
        [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()][1:]
        for function in (method, getattr(import_module(f"quirk.{module}"), name))
    )
    assert own == called


def test_options_of_pictures_are_written_out():
    for name in ("energy", "phase", "paths", "loads"):
        taken = inspect.signature(getattr(Plotter, name)).parameters
        assert {"path", "ax", "size", "style"} <= taken.keys()
        assert all(p.kind is not p.VAR_KEYWORD for p in taken.values())


def test_keywords_of_class_methods_are_those_of_the_constructor():
    for kind in (quirk.Body, planar.PlanarBody):
        known = inspect.signature(kind).parameters
        for name in ("box", "cylinder", "bar", "sphere", "ellipsoid"):
            taken = inspect.signature(getattr(kind, name)).parameters
            assert all(taken[key] == known[key] for key in known.keys() & taken.keys() - {"name", "mass"})
            assert {"velocity", "frames", "inertia_tolerance"} <= taken.keys() and "shape" not in taken


def test_earlier_names_work_and_warn(tmp_path):
    ball = quirk.Body.sphere("ball", 1.0, 0.1, position=[1.0, 2.0, 3.0])
    system = quirk.System([ball])
    result = quirk.simulate(system, 0.1, output=0.1)
    with pytest.warns(DeprecationWarning, match="Result.centre_of_mass is called center_of_mass now"):
        assert (result.centre_of_mass().position == [1.0, 2.0, 3.0]).all()
    with pytest.warns(DeprecationWarning, match="System.linearise is called linearize now"):
        assert system.linearise().A.shape == (12, 12)
    objective = quirk.Objective(["ball.position.x"], lambda x: (x.sum(), 0 * x + 1))
    with pytest.warns(DeprecationWarning, match="BodyView.tower is called pose_derivatives now"):
        assert result["ball"].tower(1).rotations(1).shape[1] == 2
    with pytest.warns(DeprecationWarning, match="Objective.judged is called evaluate now"):
        assert objective.judged(result["ball"].position[:, :1])[0] == 2.0
    with pytest.warns(DeprecationWarning, match="sphere: the argument centre is called center now"):
        old = quirk.surface.sphere(0.1, centre=[0, 0, 1])
    contact = quirk.Contact("touch", quirk.GROUND, ball, on_i=quirk.surface.plane(), on_j=old)
    quirk.System([ball, contact]).save(file := tmp_path / "model.toml")
    written = file.read_text()
    file.write_text(written.replace("center = ", "centre = "))
    with pytest.warns(DeprecationWarning, match="the argument centre"):
        quirk.load(file).save(file)
    assert "center = " in written and file.read_text() == written
    with pytest.raises(AttributeError, match="no attribute 'lineariz'"):
        _ = system.lineariz
