"""Damaged and hostile files: what comes is a system or an InputError; nothing else is read, and nothing hangs."""

import random
import re
import shutil
import sys
import time
from pathlib import Path

import pytest

import quirk
from quirk import importers

DATA = Path(__file__).parent / "data" / "import"
NUMBERS = [
    "0",
    "-1",
    "1e308",
    "-1e308",
    "1e-320",
    "nan",
    "inf",
    "-inf",
    "1e999",
    "",
    "x",
    "1 2",
    "0x10",
    "1_0",
    "\u0664",
]


def mutated(text, rng):
    """A file with one to three changes of all kinds."""
    for _ in range(rng.randint(1, 3)):
        kind = rng.randrange(8)
        tags = [m.span() for m in re.finditer(r"<[^>]*>", text)]
        if not tags:
            return text
        start, end = rng.choice(tags)
        if kind == 0:  # another number
            found = [m.span() for m in re.finditer(r"-?\d+\.?\d*(e-?\d+)?", text)]
            if found:
                a, b = rng.choice(found)
                text = text[:a] + rng.choice(NUMBERS) + text[b:]
        elif kind == 1:  # a tag less
            text = text[:start] + text[end:]
        elif kind == 2:  # an element twice
            text = text[:end] + text[start:end] + text[end:]
        elif kind == 3:  # an attribute or name of another kind
            words = re.findall(r'"([^"]*)"', text)
            found = [m.span(1) for m in re.finditer(r'"([^"]*)"', text)]
            if found:
                a, b = rng.choice(found)
                text = text[:a] + rng.choice(words) + text[b:]
        elif kind == 4:  # an attribute less
            found = [m.span() for m in re.finditer(r' \w+="[^"]*"', text)]
            if found:
                a, b = rng.choice(found)
                text = text[:a] + text[b:]
        elif kind == 5:  # any character
            k = rng.randrange(len(text))
            text = text[:k] + rng.choice('<>&"/\x00\x01\u2028\U0001f600 a0') + text[k + 1 :]
        elif kind == 6:  # a piece less
            k = rng.randrange(len(text))
            text = text[:k] + text[k + rng.randrange(60) :]
        else:  # a whole line less, or twice
            lines = text.split("\n")
            k = rng.randrange(len(lines))
            lines[k : k + 1] = [] if rng.random() < 0.5 else [lines[k]] * 2
            text = "\n".join(lines)
    return text


WATCHED: list[str] | None = None


def watch(event, arguments):
    if WATCHED is not None and (event == "open" or event.startswith("socket.")):
        WATCHED.append(f"{event} {arguments[0]}")


@pytest.fixture
def touched(monkeypatch):
    """Notes the files and sockets that Python opens."""
    noted: list[str] = []
    if not hasattr(sys, "_watches_imports"):
        sys.addaudithook(watch)
        sys._watches_imports = True
    monkeypatch.setitem(globals(), "WATCHED", noted)
    return noted


@pytest.mark.parametrize(("name", "count"), [("arm.urdf", 300), ("loop.sdf", 300), ("four_bar.xml", 250)])
def test_mutated_files_are_read_or_refused(tmp_path, touched, name, count):
    if name.endswith(".xml"):
        pytest.importorskip("mujoco")
    rng, text = random.Random(name), (DATA / name).read_text()
    path = tmp_path / name
    importers.read(DATA / name)  # which loads all modules that are needed
    read = refused = 0
    for number in range(count):
        path.write_text(mutated(text, rng), encoding="utf-8")
        started = time.perf_counter()
        touched.clear()
        try:
            system = importers.read(path).system
            assert isinstance(system, quirk.System)
            read += 1
        except quirk.InputError as error:
            assert name in str(error), f"{number}: {error}"
            refused += 1
        assert time.perf_counter() - started < 5
        assert set(touched) <= {f"open {path}"}
    assert read > count / 20 and refused > count / 20
    assert sorted(tmp_path.iterdir()) == [path]  # nothing is written beside it


BOMB = """<?xml version="1.0"?>
<!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>
<robot name="&b;"><link name="a"/></robot>"""
OUTSIDE = """<?xml version="1.0"?>
<!DOCTYPE robot SYSTEM "http://example.org/robot.dtd" [<!ENTITY secret SYSTEM "file:///etc/hostname">]>
<robot name="r"><link name="&secret;"/></robot>"""


@pytest.mark.parametrize("text", [BOMB, OUTSIDE, "<!DOCTYPE mujoco><mujoco/>"])
@pytest.mark.parametrize("suffix", [".urdf", ".sdf", ".xml"])
def test_entities_are_refused(tmp_path, text, suffix):
    path = tmp_path / f"file{suffix}"
    path.write_text(text)
    with pytest.raises(quirk.InputError, match=r"line [123]: contains a declaration of a document type or an entity"):
        quirk.load(path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is not well-formed XML: no element found"),
        (b"\x89PNG\r\n", "is not well-formed XML"),
        (b"<robot>\xff\xfe</robot>", "is not well-formed XML"),
        (b'<?xml version="1.0" encoding="utf-7"?><robot/>', "is not well-formed XML"),
        (b'<?xml version="1.0" encoding="shift_jis"?><robot/>', "is not well-formed XML"),
        (b"<svg/>", "a file starts with <robot>, <sdf> or <mujoco>; got <svg>"),
        (b"<robot>" + b"<a>" * 100000, "nested more than 200 deep"),
        (b"<robot><xacro:macro/></robot>", "is a xacro file"),
    ],
)
def test_what_is_no_description_is_refused(tmp_path, data, message):
    path = tmp_path / "file.urdf"
    path.write_bytes(data)
    with pytest.raises(quirk.InputError, match=message):
        quirk.load(path)


def arms(depth):
    """Models of which each attaches the next one ten times."""
    files = {}
    for k in range(depth):
        asset = f'<asset><model name="m" file="{k + 1}.xml"/></asset>'
        attached = "".join(f'<attach model="m" body="b" prefix="p{n}"/>' for n in range(10))
        files[f"{k}.xml"] = f'<mujoco>{asset}<worldbody><body name="b">{attached}</body></worldbody></mujoco>'
    last = '<mujoco><worldbody><body name="b"><geom size="1"/></body></worldbody></mujoco>'
    return {**files, f"{depth}.xml": last}


def world(*texts):
    return f"<mujoco><worldbody>{''.join(texts)}</worldbody></mujoco>"


FREE = '<body><joint type="free"/><geom size="0.1"/></body>'
LARGE = {
    "copies": {"0.xml": world(f'<replicate count="100000000">{FREE}</replicate>')},
    "copies of nothing": {"0.xml": world('<replicate count="100000000"/>')},
    "copies of copies": {"0.xml": world('<replicate count="100">' * 50, FREE, "</replicate>" * 50)},
    "cloth": {"0.xml": world('<body><flexcomp name="c" type="grid" count="1000 1000 1" spacing="1 1 1"/></body>')},
    "composite": {"0.xml": world('<body><composite type="cable" count="10000000 1 1" size="1"/></body>')},
    "included": {
        "0.xml": '<mujoco><worldbody><include file="1.xml"/></worldbody></mujoco>',
        "1.xml": f'<mujocoinclude><replicate count="100000000">{FREE}</replicate></mujocoinclude>',
    },
    "copies of what is included": {
        "0.xml": '<mujoco><worldbody><replicate count="500"><include file="1.xml"/></replicate></worldbody></mujoco>',
        "1.xml": f"<mujocoinclude>{FREE * 100}</mujocoinclude>",
    },
    "attached": arms(12),
}


@pytest.mark.parametrize("name", LARGE)
def test_what_would_become_too_large_is_refused(name, tmp_path):
    for file, text in LARGE[name].items():
        (tmp_path / file).write_text(text)
    began = time.perf_counter()
    with pytest.raises(quirk.InputError, match=r"line 1, <mujoco>: replication and included files produce .* elements"):
        quirk.load(tmp_path / "0.xml")
    assert time.perf_counter() - began < 30


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '<asset><texture name="t" type="2d" builtin="flat" width="1000000" height="1000000"/></asset>',
            "some 10\\^12",
        ),
        ('<asset><hfield name="h" nrow="100000" ncol="100000" size="1 1 1 1"/></asset>', "some 10\\^10 numbers"),
        ('<size nuserdata="2000000000"/>', "allocates some 10\\^9 numbers"),
        ('<worldbody><include file="0.xml"/></worldbody>', "includes itself"),
    ],
)
def test_what_would_fill_the_memory_is_refused(text, message, tmp_path):
    (tmp_path / "0.xml").write_text(f"<mujoco>{text}</mujoco>")
    with pytest.raises(quirk.InputError, match=message):
        quirk.load(tmp_path / "0.xml")


def test_includes_of_sdf_end(tmp_path):
    """Chains of files, and files that each include the next one many times."""

    def write(k, times, last):
        include = "<include><name>m{0}</name><uri>{1}.sdf</uri></include>"
        text = "".join(include.format(n, k + 1) for n in range(times if k < last else 0))
        (tmp_path / f"{k}.sdf").write_text(f'<sdf version="1.9"><model name="m"><link name="l"/>{text}</model></sdf>')

    for times, last, message in (
        (1, 400, "are included more than 50 levels deep"),
        (40, 4, "more than 100000 elements"),
    ):
        for k in range(last + 1):
            write(k, times, last)
        with pytest.raises(quirk.InputError, match=message):
            quirk.load(tmp_path / "0.sdf")


def test_copies_are_read(tmp_path):
    pytest.importorskip("mujoco")
    (tmp_path / "0.xml").write_text(world(f'<replicate count="3" offset="1 0 0">{FREE}</replicate>'))
    assert len(quirk.load(tmp_path / "0.xml").bodies) == 3


def test_long_chains_and_names_are_no_trouble(tmp_path):
    count = 400
    links = "".join(f'<link name="l{k}"/>' for k in range(count))
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
    joints = "".join(
        f'<joint name="j{k}" type="fixed"><parent link="l{k}"/><child link="l{k + 1}"/></joint>' for k in range(count)
    )
    path = tmp_path / "chain.urdf"
    path.write_text(f'<robot name="r">{links}<link name="l{count}">{inertial}</link>{joints}</robot>')
    system = importers.load_urdf(path).system
    assert len(system.bodies) == 1 and f"l{count}" in system.bodies[0].frames
    path.write_text('<robot name="r"><link name="' + "a" * 10**6 + '"><inertial/></link></robot>')
    with pytest.raises(quirk.InputError) as caught:
        importers.load_urdf(path)
    assert len(str(caught.value)) < 400


def test_folders_that_meshes_name_are_not_left(tmp_path):
    """A mesh is read where the file says and nowhere else; what is no mesh is listed."""
    shutil.copy(DATA / "arm.urdf", tmp_path / "arm.urdf")
    text = (tmp_path / "arm.urdf").read_text()
    shapes = "".join(
        f'<visual><geometry><mesh filename="{name}"/></geometry></visual>'
        for name in ("/etc/passwd", "../../../etc/passwd", "package://../../etc/passwd", "file:///etc/passwd", "x" * 5000 + ".stl")
    )  # fmt: skip
    (tmp_path / "arm.urdf").write_text(text.replace("<collision>", shapes + "<collision>", 1))
    listed = importers.load_urdf(tmp_path / "arm.urdf").left_out
    assert sum("mesh file" in line for line in listed) == 5
