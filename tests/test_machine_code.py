"""Machine code in files: whatever happens to them, runs go on and give the same numbers."""

import ast
import hashlib
import importlib
import importlib.util
import os
import pickle
import shutil
import subprocess
import sys
import time
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numba
import numpy as np
import pytest
from studies import study

from quirk.jit import cache as machine_code
from quirk.jit import kernel_sources
from quirk.jit.record import record
from quirk.util import ownership

pytest.importorskip("resource", reason="pipes, links and limits of Unix")

# Where entries are defined: what Python calls in compiled form.
ENTRY_MODULES = [
    "quirk.constraints.primitives",
    "quirk.dynamics.sparse.adjoint.backward",
    "quirk.dynamics.sparse.kernels.at_state",
    "quirk.dynamics.sparse.stepping.radau",
    "quirk.dynamics.sparse.stepping.rosenbrock",
    "quirk.dynamics.sparse.stepping.runge_kutta",
    "quirk.dynamics.sparse.stepping.taylor",
    "quirk.dynamics.sparse.stepping.event_functions",
    "quirk.dynamics.sparse.taylor.low_order_along",
    "quirk.dynamics.sparse.variation.explicit",
    "quirk.dynamics.sparse.variation.radau",
    "quirk.dynamics.sparse.tangent.elements",
    "quirk.dynamics.sparse.tangent.motion_tangents",
]

SOURCE = '''"""Multiples."""
from quirk.jit.compilation import entry

def double(x):
    return 2 * x

def triple(x):
    """Return three times a number."""
    return 3 * x

double, triple = entry(needed_by="doubles need")(double), entry(triple)
'''
COMPILING = "quirk: compiling what doubles need, once for this installation"


class Bomb:
    """What a file that is unpickled unchecked may do."""

    def __reduce__(self):
        return os._exit, (3,)


def imported(path):
    """Import a file as a module of its own, as a new process would."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module with two entries, both compiled and kept."""
    monkeypatch.setattr(machine_code, "SAID", set())
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    path = tmp_path / "entries.py"
    path.write_text(SOURCE)
    module = imported(path)
    assert (module.double(2.0), module.double(2), module.triple(2.0)) == (4.0, 4, 6.0)
    machine_code.SAID.clear()
    return module


def files(module):
    return sorted((Path(module.__file__).parent / "__pycache__").glob("*.quirk"))


def load(entry, argument):
    """Return the function that is found in the files, or None."""
    return entry.compiled._cache.load_overload((numba.typeof(argument),), entry.compiled.targetctx)


def save(entry, argument):
    compiled, kinds = entry.compiled, (numba.typeof(argument),)
    compiled._cache.save_overload(kinds, compiled.overloads[kinds])


def harms(rng, path, others):
    """Ways to do harm to a file."""
    content = path.read_bytes()

    def put(new):
        return lambda: path.write_bytes(new)

    def in_its_place(make):
        return lambda: (path.unlink(), make())

    flipped = bytearray(content)
    for place in rng.integers(len(content), size=rng.integers(1, 9)):
        flipped[place] ^= 1 << rng.integers(1, 8)
    cut, head = rng.integers(len(content)), rng.integers(80)
    return {
        "truncated": put(content[:cut]),
        "short": put(content[:head]),
        "empty": put(b""),
        "flipped": put(bytes(flipped)),
        "one flipped": put(content[:cut] + bytes([content[cut] ^ 1]) + content[cut + 1 :]),
        "longer": put(content + b"\0"),
        "zeros": put(bytes(len(content))),
        "noise": put(rng.bytes(len(content))),
        "another's": put(others[rng.integers(len(others))].read_bytes()),
        "bomb": put(pickle.dumps(Bomb())),
        "bomb behind a right beginning": put(content[:64] + pickle.dumps(Bomb())),
        "gone": path.unlink,
        "folder": in_its_place(path.mkdir),
        "pipe": in_its_place(lambda: os.mkfifo(path)),
        "dangling link": in_its_place(lambda: path.symlink_to("nowhere")),
        "link to itself": in_its_place(lambda: path.symlink_to(path.name)),
        "endless": in_its_place(lambda: path.symlink_to("/dev/zero")),
        "unreadable": lambda: path.chmod(0),
    }


HARMS = tuple(harms(np.random.default_rng(0), Path(__file__), [Path(__file__)]))


def restored(path, content):
    """Put a file back as it was, whatever is there."""
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    path.write_bytes(content)


def test_threads_that_need_the_same_code_at_once(module, monkeypatch, capsys):
    """One thread compiles it; the others wait, also while the time is noted."""
    shutil.rmtree(files(module)[0].parent)
    found = machine_code.folders

    def slowly(function):
        time.sleep(0.02)
        return found(function)

    fresh = imported(Path(module.__file__))
    monkeypatch.setattr(machine_code, "folders", slowly)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(fresh.double, [2.0] * 8)) == [4.0] * 8
    assert capsys.readouterr().err == f"{COMPILING}\n"
    assert load(imported(Path(module.__file__)).double, 2.0).entry_point(2.0) == 4.0


@pytest.mark.parametrize("seed", range(3))
def test_harmed_files(module, seed):
    """Nothing but the right function ever comes out of them, and the next process finds them mended."""
    rng = np.random.default_rng(seed)
    contents = {path: path.read_bytes() for path in files(module)}
    cases = [(module.double, 2.0, 4.0), (module.double, 2, 4), (module.triple, 2.0, 6.0)]
    assert len(contents) == len(cases)
    (path,) = [p for p in contents if "triple" in p.name]
    for name in HARMS:
        harms(rng, path, [p for p in contents if p != path])[name]()
        found = load(module.triple, 2.0)
        assert found is None or (name == "unreadable" and found.entry_point(2.0) == 6.0), name  # by a superuser
        save(module.triple, 2.0)
        assert [load(e, x).entry_point(x) for e, x, _ in cases] == [want for *_, want in cases], name
        assert name == "folder" or path.is_file()  # what is not a file stays, and the next folder is taken
        restored(path, contents[path])
        shutil.rmtree(os.environ["XDG_CACHE_HOME"], ignore_errors=True)
    assert files(module) == sorted(contents)  # nothing is left over


def test_a_damaged_file_is_named_once(module, capsys):
    for path in files(module):
        path.write_bytes(b"")
    assert load(module.double, 2.0) is load(module.triple, 2.0) is None
    damaged, compiling = capsys.readouterr().err.splitlines()
    (path,) = [p for p in files(module) if str(p) in damaged]
    assert (
        damaged == f"quirk: machine code in {path} cannot be used (ValueError: it is damaged), so it is compiled anew"
    )
    assert compiling == COMPILING


def given_away(path):
    """Let another user own a file or folder, which takes an administrator."""
    if os.geteuid() != 0:
        pytest.skip("only an administrator can give files away")
    os.chown(path, 12345, 12345, follow_symlinks=False)


def linked_from_a_folder_of_others(folder):
    """Put a folder of another user in the place of a folder, behind a link."""
    moved = folder.rename(folder.with_name("moved"))
    given_away(moved)
    folder.symlink_to(moved)


OPEN_TO_OTHERS = {
    "file": lambda path: path.chmod(0o666),
    "file of a group": lambda path: path.chmod(0o664),
    "file of another user": given_away,
    "folder": lambda path: path.parent.chmod(0o777),
    "sticky folder": lambda path: path.parent.chmod(0o1777),
    "folder of another user": lambda path: given_away(path.parent),
    "folder above": lambda path: path.parent.parent.chmod(0o777),
    "folder above of another user": lambda path: given_away(path.parent.parent),
    "linked folder": lambda path: linked_from_a_folder_of_others(path.parent),
}  # fmt: skip


@pytest.mark.parametrize("what", OPEN_TO_OTHERS)
def test_what_other_users_may_have_written_is_not_read(module, what, monkeypatch, capsys):
    """Nothing of it is unpickled, and another process finds what is compiled in its place."""
    monkeypatch.setattr("quirk.util.ownership._own_group", lambda group, user: False)
    (path,) = [path for path in files(module) if "triple" in path.name]
    rest = path.read_bytes()[32:64] + pickle.dumps(Bomb())
    path.write_bytes(hashlib.sha256(rest).digest() + rest)
    OPEN_TO_OTHERS[what](path)
    assert load(module.triple, 2.0) is None
    (said,) = capsys.readouterr().err.splitlines()
    assert "UntrustedError" in said
    assert ("belongs to another user" if "another" in what or "linked" in what else "other users may write") in said
    save(module.triple, 2.0)
    if "above" in what:  # the other folder is below it, too
        assert "machine code cannot be kept" in capsys.readouterr().err
        assert load(module.triple, 2.0) is None
    else:
        assert load(module.triple, 2.0).entry_point(2.0) == 6.0
    assert (path.read_bytes()[64:] != rest[32:]) is ("file" in what)  # in a folder of our own it is replaced


def test_folders_and_files_are_made_closed_to_others(module, tmp_path):
    before = os.umask(0)
    try:
        shutil.rmtree(tmp_path / "__pycache__")
        save(module.double, 2.0)
    finally:
        os.umask(before)
    (path,) = files(module)
    assert [oct(each.stat().st_mode & 0o777) for each in (path, path.parent)] == ["0o644", "0o755"]
    assert load(module.double, 2.0).entry_point(2.0) == 4.0


def test_a_group_of_the_user_alone(monkeypatch):
    """It may write, as on systems where each user has a group of the same name."""
    grp, pwd = pytest.importorskip("grp"), pytest.importorskip("pwd")
    groups = {7: ("ann", []), 8: ("ann", ["ann", "bob"]), 9: ("staff", []), 10: ("ann", ["ann"])}
    entry = namedtuple("entry", "gr_name gr_mem")
    monkeypatch.setattr(grp, "getgrgid", lambda group: entry(*groups[group]))
    owner = namedtuple("owner", "pw_name pw_gid")
    for group, own in ((7, True), (8, False), (9, False), (10, True), (11, False)):
        monkeypatch.setattr(pwd, "getpwuid", lambda user, group=group: owner("ann", group))
        assert ownership._own_group(group, 1) is own
    monkeypatch.setattr(pwd, "getpwuid", lambda user: owner("ann", 12))
    assert not ownership._own_group(7, 1)


@pytest.mark.slow
def test_python_without_assertions_has_files_of_its_own(tmp_path):
    """It and plain Python do not replace each other's."""
    (tmp_path / "entries.py").write_text(SOURCE)
    script = "import entries\nprint(entries.double(2.0), entries.double.compiled._cache_hits.total())"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    # Each compiles its own, and has replaced nothing of those before.
    for option, hits in (((), "0"), (("-O",), "0"), (("-OO",), "0"), (("-O",), "1"), ((), "1")):
        command = [sys.executable, *option, "-c", script]
        found = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=True)
        assert found.stdout.split() == ["4.0", hits], option


@pytest.mark.parametrize("what", ["numba.__version__", "llvmlite.__version__", "sys.version_info"])
def test_another_version_is_replaced(module, monkeypatch, capsys, what):
    monkeypatch.setattr(f"quirk.jit.cache.{what}", "0.1")
    assert load(module.double, 2.0) is None
    assert capsys.readouterr().err == f"{COMPILING}\n"
    save(module.double, 2.0)
    assert load(module.double, 2.0).entry_point(2.0) == 4.0
    monkeypatch.undo()
    assert (load(module.double, 2.0) is None) is (what != "sys.version_info")  # versions of Python have files each
    assert load(module.triple, 2.0) is not None


def test_a_changed_source_is_compiled_anew(module):
    path = Path(module.__file__)
    assert load(imported(path).triple, 2.0).entry_point(2.0) == 6.0
    before = path.stat()
    path.write_text(SOURCE.replace("3 * x", "5 * x"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # neither size nor time tell
    assert load(imported(path).triple, 2.0) is None


def test_docstrings_and_comments_are_no_code(module):
    path = Path(module.__file__)
    source = SOURCE.replace("Multiples.", "Multiples.\n\nOf numbers.\n").replace("Return three times", "Triple")
    path.write_text(source.replace("    return 2", "    # Exact.\n\n    return 2"))
    assert load(imported(path).triple, 2.0).entry_point(2.0) == 6.0
    assert load(imported(path).double, 2.0).entry_point(2.0) == 4.0


def without_docstrings(text):
    """Syntax tree of a module, with an ellipsis for each docstring."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body[0] = ast.Expr(ast.Constant(...))
    return ast.dump(tree)


def test_nothing_but_docstrings_and_comments_is_left_out():
    """The digest covers the syntax tree, docstrings apart, of every module that kernels depend on."""
    for name in reached_modules():
        text = Path(sys.modules[name].__file__).read_text()
        assert ast.dump(ast.parse(kernel_sources.code_of(text))) == without_docstrings(text), name


def test_fields_in_another_order_are_other_code():
    """Fields of one type that change places: the types have the same text, their machine code does not."""

    def layout(fields):
        kind = record(namedtuple("Numbers", fields))
        return machine_code.layouts(numba.typeof((kind(1.0, 2.0),))[0])

    assert layout("a b") == layout("a b") != layout("b a")


def imports_at_run_time(tree, package):
    """Names (module, name) that a module imports from quirk, but not for type checkers alone."""
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.ImportFrom):
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            yield from ((base, alias.name) for alias in node.names if base.split(".")[0] == "quirk")
        elif isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names if alias.name.split(".")[0] == "quirk")


def reached_modules():
    """Modules that kernels depend on, and what each of them imports as the digest sees it."""
    entries = [name for name in ENTRY_MODULES if importlib.import_module(name)]
    reached, pending = {}, [*kernel_sources.COMPILER, *entries]
    while pending:
        name = pending.pop()
        if name not in reached:
            reached[name] = kernel_sources._module(name)[1]
            pending += reached[name]
    return reached


def test_all_that_kernels_are_made_of_counts():
    """No import is overlooked in any module that kernels depend on; none is inside a function, or of a star."""
    reached = reached_modules()
    assert {
        "quirk.jit.record",
        "quirk.jit.tracing",
        "quirk.dynamics.sparse.kernels.factorise",
        "quirk.autodiff.elementary",
    } <= set(reached)
    for name, found in reached.items():
        module = sys.modules[name]
        package = name if hasattr(module, "__path__") else name.rpartition(".")[0]
        for base, imported in imports_at_run_time(ast.parse(Path(module.__file__).read_text()), package):
            by_value = (
                imported and imported.isupper() and kernel_sources._is_plain(getattr(sys.modules[base], imported))
            )
            by_value = by_value or base in kernel_sources.COMPILER
            assert by_value or base in found or f"{base}.{imported}" in found, f"{name} imports {base} {imported}"


def test_without_a_source_nothing_is_kept(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(machine_code, "SAID", set())
    namespace = {}
    exec(SOURCE, namespace)
    assert namespace["double"](4) == 8
    assert "its source is not in a file" in capsys.readouterr().err


def test_writers_and_readers_at_the_same_time(tmp_path):
    """Whoever reads finds one of the writers' files, whole."""
    path, identity = tmp_path / "folder" / "file", bytes(32)
    payloads = [bytes([k]) * 300_000 for k in range(4)]
    machine_code.write(path, identity, payloads[0])

    def work(k):
        found = []
        for _ in range(50):
            machine_code.write(path, identity, payloads[k])
            found.append(machine_code.read(path, identity))
        return found

    with ThreadPoolExecutor(4) as pool:
        assert all(payload in payloads for found in pool.map(work, range(4)) for payload in found)
    assert list(path.parent.iterdir()) == [path]


def test_a_line_that_cannot_be_said_ends_nothing(monkeypatch, capsys):
    monkeypatch.setattr(machine_code, "SAID", set())
    with open(os.devnull, "w") as file, monkeypatch.context() as closed:
        closed.setattr(sys, "stderr", file)
        file.close()
        machine_code.say("closed", "a line")
    with monkeypatch.context() as without:
        without.setattr(sys, "stderr", None)
        machine_code.say("none", "a line")
    machine_code.say("open", "another line")
    assert capsys.readouterr().err == "quirk: another line\n"


def started(folder, before="", **variables):
    """Start a process that calls an entry of a module in a folder."""
    script = f"{before}\nimport entries\nprint(entries.double(2.0), entries.double.compiled._cache_hits.total())"
    environment = {**os.environ, "PYTHONPATH": str(folder), **variables}
    return subprocess.Popen(
        [sys.executable, "-c", script], stdout=-1, stderr=-1, text=True, cwd=folder, env=environment
    )


def ended(process):
    """Return what a process printed, and the lines that it wrote to standard error."""
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return out.split(), err.splitlines()


def test_processes_at_the_same_time(tmp_path):
    (tmp_path / "entries.py").write_text(SOURCE)
    for process in [started(tmp_path) for _ in range(2)]:
        out, lines = ended(process)
        assert out[0] == "4.0"
        assert lines == ([] if out[1] == "1" else [COMPILING])
    assert ended(started(tmp_path)) == (["4.0", "1"], [])


FULL = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))"


@pytest.mark.parametrize(
    ("before", "cache"), study([(FULL, "cache"), ("", "entries.py")], 1), ids=["full", "no folder"]
)
def test_nothing_can_be_written(tmp_path, before, cache):
    """Entries are compiled anew in each process, which says so in one line."""
    (tmp_path / "entries.py").write_text(SOURCE)
    for _ in range(2):
        process = started(tmp_path, before, NUMBA_CACHE_DIR=str(tmp_path / cache), PYTHONDONTWRITEBYTECODE="1")
        out, (compiling, line) = ended(process)
        assert (out, compiling) == (["4.0", "0"], COMPILING)
        assert line.startswith("quirk: machine code cannot be kept, so that each process compiles it anew: ")
        assert ("File too large" in line) is (cache == "cache")
    left = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert left == [tmp_path / "entries.py"]


def test_a_folder_of_the_user_where_the_package_cannot_be_written(tmp_path):
    (tmp_path / "entries.py").write_text(SOURCE)
    (tmp_path / "__pycache__").touch()
    home = {"XDG_CACHE_HOME": str(tmp_path / "home"), "NUMBA_CACHE_DIR": ""}
    assert ended(started(tmp_path, **home)) == (["4.0", "0"], [COMPILING])
    assert ended(started(tmp_path, **home)) == (["4.0", "1"], [])


LONG_KERNELS = """
import sys
import numba
from quirk.jit.compilation import entry, kernel

def long_kernel(factor):
    @kernel
    def scaled(x, more):
STEPS        return factor * more * x
    return scaled

double, triple = long_kernel(2.0), long_kernel(3.0)

@entry
def doubled(x):
    return double(x, 1.0) + double(-2.0 * x, 1.0)

@entry
def tripled(x):
    return triple(x, 1.0) + triple(-2.0 * x, 1.0)

entries = {"doubled": doubled, "tripled": tripled, "plain": numba.njit(lambda x: double(x, 5.0) + double(-2.0 * x, 5.0))}
print(*(entries[name](0.0 * len(sys.argv) + 1.0) for name in sys.argv[1:]))
"""


@pytest.mark.slow
def test_kernels_of_one_name_stay_apart(tmp_path):
    """Two processes compile one entry each, whose kernels are too long to be inlined and get one name."""
    # Nothing in all: what is added is taken away again, by a sine that the compiler cannot know.
    steps = "".join(f"        x = x + sin({k}.0 * x)\n" for k in range(1, 150))
    steps += "".join(f"        x = x - 0.0 * cos({k}.0 * x)\n" for k in range(1, 150))
    path = tmp_path / "long_kernels.py"
    path.write_text("from math import cos, sin\n" + LONG_KERNELS.replace("STEPS", steps))
    # Names hold the options of the compiler in the order of a set.
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept"), "PYTHONHASHSEED": "0"}

    def returned(*names):
        command = [sys.executable, str(path), *names]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return [float(x) for x in done.stdout.split()]

    double, plain = returned("doubled", "plain")
    (triple,) = returned("tripled")
    assert triple == pytest.approx(1.5 * double)
    assert plain == pytest.approx(5.0 * double)
    assert returned("doubled", "tripled") == [double, triple]
