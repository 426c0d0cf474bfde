"""Packages stand in one order, and imports go down it."""

import ast
import re
from collections import defaultdict
from configparser import ConfigParser
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
import quirk.constraints
import quirk.demos
import quirk.integrators

import quirk

# Each package imports from those before it.
ORDER = [
    "errors", "util", "jit", "bodies", "autodiff", "integrators", "functions", "constraints", "forces", "beams", "events",
    "dynamics", "system", "analysis", "result", "simulation", "graphics", "io", "batches", "sweeps", "demos", "commands",
]  # fmt: skip
# Other names of modules, for users.
ALIASES = {"rotation", "shapes", "importers"}
FOLDERS = {
    "": Path(quirk.__file__).parent,
    "constraints": Path(quirk.constraints.__file__).parent,
    "integrators": Path(quirk.integrators.__file__).parent,
    "demos": Path(quirk.demos.__file__).parent,
}
# Conveniences such as `system.modes()` and `result.plot`: what is above is imported when they are called, or for their
# types alone.
DELEGATES = {
    "errors", "constraints.backlash", "constraints.elastic_pulley", "system.configured_system", "system.system", "system.comparison", "dynamics.dense.rows", "dynamics.inconsistency",
    "analysis.mobility", "analysis.linear.modes", "analysis.linear.mode_animation", "analysis.linear.root_locus",
    "analysis.linear.equilibrium_path", "result.result", "result.output", "result.body_views", "result.joint_views", "result.force_views",
    "result.event_log", "result.constraint_health", "simulation.simulate", "simulation.run", "simulation.run_loop",
    "simulation.hybrid.hybrid_run", "simulation.hybrid.checkpointed_run", "batches.batch_dataset",
}  # fmt: skip
# Modules that may import each other inside one package, in a circle through functions or types.
LARGEST_CIRCLE = 10


def modules():
    """Every module, by its name after `quirk.`, with its path."""
    found = {}
    for prefix, folder in FOLDERS.items():
        for path in sorted(folder.rglob("*.py")):
            inside = path.relative_to(folder).with_suffix("").parts
            parts = [*([prefix] if prefix else []), *inside]
            if parts[0] in FOLDERS and not prefix:
                continue  # found from its own folder
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def package_of(name, path):
    """Names of the package from which relative imports of a module start."""
    whole = ["quirk", *(name.split(".") if name else [])]
    return whole if path.stem == "__init__" else whole[:-1]


def imports(name, path, node=None, kind="run"):
    """Yield (module, kind) of the imports from quirk in a file: at "run" time, when "called", or for "types"."""
    for child in ast.iter_child_nodes(node or ast.parse(path.read_text())):
        inner = kind
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            inner = "called"
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test) and kind == "run":
            inner = "types"
        if isinstance(child, ast.ImportFrom):
            base = package_of(name, path)[: -(child.level - 1) or None] if child.level else []
            full = [*base, *(child.module.split(".") if child.module else [])]
            if full[:1] == ["quirk"]:
                for alias in child.names:
                    longer = ".".join([*full[1:], alias.name])
                    yield longer if longer in MODULES else ".".join(full[1:]), inner
        yield from imports(name, path, child, inner)


IMPORTS = {name: set(imports(name, path)) for name, path in MODULES.items() if name not in {"", *ALIASES}}


def place(name):
    return ORDER.index(name.partition(".")[0])


def test_every_package_has_a_place():
    assert {name.partition(".")[0] for name in MODULES} - {"", *ALIASES} == set(ORDER)


def test_imports_go_down():
    """Demos use the public names, as any user does."""
    upward = {
        (name, other, kind)
        for name, found in IMPORTS.items()
        for other, kind in found
        if not name.startswith("demos") and other and place(other) > place(name)
    }
    assert {name for name, _, kind in upward if kind != "run"} == DELEGATES
    assert not [case for case in upward if case[2] == "run"]


def test_integrators_know_nothing_of_mechanics():
    known = {
        other.partition(".")[0] for name in IMPORTS if name.startswith("integrators") for other, _ in IMPORTS[name]
    }
    assert known <= {"integrators", "jit"}


def circles(edges):
    """Yield the sets of names that reach each other (Tarjan)."""
    index, lowest, stack = {}, {}, []

    def visit(name):
        index[name] = lowest[name] = len(index)
        stack.append(name)
        for other in edges[name]:
            if other not in index:
                yield from visit(other)
                lowest[name] = min(lowest[name], lowest[other])
            elif other in stack:
                lowest[name] = min(lowest[name], index[other])
        if lowest[name] == index[name]:
            found = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            yield set(found)

    for name in edges:
        if name not in index:
            yield from visit(name)


def test_circles_are_small():
    """None at run time; inside one package, small ones through functions and types."""
    at_run = {
        name: {other for other, kind in found if kind == "run" and other in IMPORTS} for name, found in IMPORTS.items()
    }
    assert not [sorted(circle) for circle in circles(at_run) if len(circle) > 1]
    for package in ORDER:
        inside = {
            name: {other for other, _ in found if other in IMPORTS and other.partition(".")[0] == package}
            for name, found in IMPORTS.items()
            if name.partition(".")[0] == package
        }
        largest = max(map(len, circles(inside)))
        assert largest <= LARGEST_CIRCLE, package


def test_no_two_classes_share_a_name():
    """But for joints of a plane, which are named as those in space."""
    owners = defaultdict(list)
    for name, path in MODULES.items():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                owners[node.name].append(name)
    twins = {"Prismatic", "Revolute"}
    assert {name for name, found in owners.items() if len(found) > 1} == twins
    assert all("constraints.planar.joints" in owners[name] for name in twins)


@pytest.mark.parametrize("alias", sorted(ALIASES))
def test_other_names_are_the_same_modules(alias):
    module = __import__(f"quirk.{alias}", fromlist=["*"])
    assert module is getattr(quirk, alias)
    assert module.__name__ != f"quirk.{alias}"


def test_packages_say_what_they_are_for():
    for name, path in MODULES.items():
        if path.stem == "__init__":
            assert ast.get_docstring(ast.parse(path.read_text())), name


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


def test_names_in_docstrings_and_comments_are_there():
    """Names such as `quirk.forces.law.LawLayout`."""
    missing = [
        (name, dotted)
        for name, path in MODULES.items()
        for dotted in set(re.findall(r"`(quirk(?:\.\w+)+)(?=[`(\[])", path.read_text(encoding="utf-8")))
        if not leads_to_something(dotted)
    ]
    assert not missing


def leads_to_something(dotted):
    """Whether attributes and modules lead to a name."""
    found, (_, *parts) = quirk, dotted.split(".")
    for k, part in enumerate(parts, 1):
        if not hasattr(found, part) and find_spec(".".join(["quirk", *parts[:k]])) is None:
            return False
        found = getattr(found, part) if hasattr(found, part) else import_module(".".join(["quirk", *parts[:k]]))
    return True
