"""Imports run one way, floor by floor."""

import ast
from configparser import ConfigParser
from pathlib import Path

import pytest
import quirk.constraints
import quirk.demos
import quirk.integrators

import quirk

FLOORS = [
    {
        "compiled",
        "machine_code",
        "kernel_sources",
        "compile_times",
        "ownership",
        "native",
        "files",
        "record",
        "traced",
        "scalar",
    },
    {"lanes", "pointers", "interruption", "jets", "duals", "tape", "replay"},
    {"integrators"},
    {
        "errors",
        "made",
        "misuse",
        "suggestion",
        "renamed",
        "sealed",
        "validate",
        "output",
        "rotation",
        "euler",
        "progress",
        "interpolation",
        "interpolated",
        "round_off",
    },
    {
        "expression",
        "frame",
        "shape",
        "shapes",
        "mesh",
        "mesh_files",
        "polyhedron",
        "body",
        "state",
        "motion",
        "motion_table",
        "degrees",
    },
    {
        "constraints",
        "stand_ins",
        "fingerprint",
        "outputs_of_calls",
        "code_use",
        "code_rules",
        "object_kinds",
        "effects",
        "changes",
        "traceable",
        "tracer",
        "tracer_arrays",
        "float_functions",
    },
    {"forces"},
    {"events"},
    {"dynamics"},
    {
        "configuration",
        "quantities",
        "parts",
        "at_state",
        "system",
        "assembly",
        "nearest",
        "closure",
        "joint_coordinates",
        "joint_space",
        "mobility",
        "contradiction",
        "allowed",
        "virtual_work",
        "linear",
        "topology",
        "recomposed",
    },
    {"paths"},
    {"views", "view_of_forces"},
    {
        "result",
        "result_output",
        "power",
        "segment",
        "happenings",
        "group",
        "gaps",
        "frictions",
        "contact_loads",
        "parts_touched",
    },
    {"health"},
    {
        "simulate",
        "running",
        "legs",
        "legged",
        "kinematics",
        "inverse_dynamics",
        "actuators",
        "efforts",
        "schedule",
        "hybrid",
        "changeable",
        "phases",
        "switching",
        "watching",
        "contacts",
        "hermite",
        "between",
        "carried_between",
        "instants",
        "join",
        "likeness",
        "rebuilt",
        "frictional",
        "frictionless",
        "resting",
        "sensitivity",
        "objective",
        "trail",
    },
    {"importers", "modelfile", "load", "checkpoints"},
    {
        "prefixes",
        "event_marks",
        "figures",
        "body_points",
        "curves",
        "figure_text",
        "legends",
        "sheet",
        "line_styles",
        "magnitudes",
        "paper",
        "plot_polar",
        "quantities_by_name",
        "plates",
        "round_parts",
        "scene",
        "scene_forces",
        "plot",
        "plot_paths",
        "plot_power",
        "plot_group",
        "plot_ghosts",
        "plot_compare",
        "plot_derivatives",
        "plot_loads",
        "plot_panels",
        "plot_phase",
        "plot_roots",
        "plot_spectrum",
        "still",
        "outlines",
        "animate",
        "in_between",
        "notebook",
        "camera",
        "film",
        "framing",
        "painting",
        "rope_paths",
        "stage",
        "summary",
        "resultfile",
        "sweeps",
        "viewer",
    },
    {"cli", "commands", "demos"},
]
FLOOR = {name: number for number, names in enumerate(FLOORS) for name in names}
FOLDERS = {
    "": Path(quirk.__file__).parent,
    "constraints": Path(quirk.constraints.__file__).parent,
    "integrators": Path(quirk.integrators.__file__).parent,
    "demos": Path(quirk.demos.__file__).parent,
}


def modules():
    """Every module of a floor, with its path."""
    for prefix, folder in FOLDERS.items():
        for path in sorted(folder.rglob("*.py")):
            inside = path.relative_to(folder).with_suffix("").parts
            parts = (prefix, *inside) if prefix else inside
            if parts[0] in FLOOR:
                yield pytest.param(path, parts, id=".".join(parts))


def imported(path, parts):
    """Names of quirk's modules that a file imports when it is itself imported."""
    package = ["quirk", *parts[:-1]]
    for node in ast.parse(path.read_text()).body:  # not inside functions, nor for type checking alone
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            full = [*base, *(node.module.split(".") if node.module else [])]
            if full == ["quirk"]:
                yield from (alias.name for alias in node.names)
            elif full[:1] == ["quirk"]:
                yield full[1]


@pytest.mark.parametrize(("path", "parts"), list(modules()))
def test_imports_go_down(path, parts):
    for name in imported(path, parts):
        if parts[0] == "demos":
            continue  # demos use the public names, as any user does
        assert name in FLOOR, f"{name} has no floor"
        assert FLOOR[name] <= FLOOR[parts[0]], f"{'.'.join(parts)} imports {name} from a higher floor"
        assert parts[0] != "integrators" or name in {"integrators", "compiled", "lanes", "record"}


def test_every_module_has_a_floor():
    names = {p.stem if p.is_file() else p.name for p in FOLDERS[""].iterdir() if p.suffix == ".py" or p.is_dir()}
    names = {name for name in names if not name.startswith("__")}
    assert names <= set(FLOOR)


@pytest.mark.parametrize(("side", "other"), [("dense", "sparse"), ("sparse", "dense")])
def test_dense_and_compiled_sides_do_not_know_each_other(side, other):
    folder = FOLDERS[""] / "dynamics" / side
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert other not in (node.module or "").split("."), f"{path.relative_to(folder)}, line {node.lineno}"


def test_every_package_is_installed():
    """A wheel has what `setup.cfg` lists, and nothing else; in place all is found, listed or not."""
    config = ConfigParser()
    config.read(Path(__file__).parents[1] / "setup.cfg")
    listed = {line for line in config["options"]["packages"].split("\n") if line and not line.startswith("#")}
    there = {
        ".".join(["quirk", *([name] if name else []), *path.parent.relative_to(folder).parts])
        for name, folder in FOLDERS.items()
        for path in folder.rglob("__init__.py")
    }
    assert listed == there
