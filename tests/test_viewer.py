"""Motions in the browser: one offline file, which Chromium plays; live views; and sliders that drag a mechanism."""

import base64
import io
import json
import re
import shutil
import time
import urllib.request

import msgspec
import numpy as np
import pytest
import zstandard
from PIL import Image

import quirk
from quirk import rotation
from quirk.graphics.viewer.labels import LINE, WIDTH, laid_out
from quirk.graphics.viewer.values import values_of

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")


@pytest.fixture(scope="module")
def result():
    """A rod on a hinge with a ball on a spring, 1 s."""
    rod = quirk.Body.bar("rod </script>", [0, 0, 0], [1, 0, 0], 1.0, radius=0.03)
    bob = quirk.Body.sphere("bob/1", 0.5, 0.12, position=[1, 0, -0.5])
    parts = [
        rod,
        bob,
        quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0]),
        quirk.Spring("spring", rod, bob, point_i=[0.5, 0, 0], stiffness=40.0),
    ]
    return quirk.simulate(quirk.System(parts, gravity=[0, 0, -9.81]), 1.0, output=0.05)


@pytest.fixture(scope="module")
def page(result, tmp_path_factory):
    path = tmp_path_factory.mktemp("html") / "swing.html"
    given = result.to_html(
        path, fps=20, arrows=["hinge"], trails=["bob/1", ("rod </script>", [0.5, 0, 0])], labels=True
    )
    assert given == path
    return path


def recording(path):
    """What a file plays: (time, message) pairs, and its duration."""
    (data,) = re.findall(r'window.__VISER_EMBED_DATA__="([^"]+)"', path.read_text(encoding="utf-8"))
    packed = zstandard.ZstdDecompressor().decompressobj().decompress(base64.b64decode(data)[8:])
    length = int.from_bytes(packed[:8], "little")
    found = msgspec.msgpack.decode(packed[8 : 8 + length])
    return found["messages"], found["durationSeconds"]


class TestFile:
    def test_it_loads_nothing(self, page):
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r"<(?:script|img|iframe|link)[^>]*\s(?:src|href)\s*=\s*[\"'](?!data:)", text)
        assert {url for url in re.findall(r"https?://[\w.]+", text) if "w3.org" not in url} == set()
        assert "rod </script>" not in text
        assert "<title>rod &lt;/script&gt;, bob/1: 0 to 1 s</title>" in text

    def test_it_has_all_parts_and_pictures(self, page):
        messages, duration = recording(page)
        assert duration == pytest.approx(21 / 20)
        made = {m["name"] for _, m in messages if m["type"] in ("FrameMessage", "MeshMessage")}
        for name in ("bodies/rod <\N{DIVISION SLASH}script>", "bodies/bob\N{DIVISION SLASH}1", "between/spring"):
            assert f"/N/{name}" in made
        assert "/N/bodies/rod <\N{DIVISION SLASH}script>/hinge j/surface 1" in made
        assert "/N/between/hinge force/surface 1" in made
        moves = [
            t
            for t, m in messages
            if m["type"] == "SetPositionMessage" and m["name"] == "/N/bodies/bob\N{DIVISION SLASH}1"
        ]
        assert len(moves) >= 20
        np.testing.assert_allclose(np.unique(np.round(np.diff(np.unique(moves)), 9)), 1 / 20)

    def test_positions_are_those_of_the_result(self, page, result):
        """Up to one length for the whole picture and one place that is its middle."""
        messages, _ = recording(page)
        name = "/N/bodies/bob\N{DIVISION SLASH}1"
        drawn = {
            round(t, 6): m["position"] for t, m in messages if m["type"] == "SetPositionMessage" and m["name"] == name
        }
        drawn = np.array([drawn[t] for t in sorted(drawn)])
        true = result["bob/1"].position
        assert len(drawn) == len(true)
        unit = np.linalg.norm(drawn[10] - drawn[0]) / np.linalg.norm(true[10] - true[0])
        np.testing.assert_allclose(drawn - drawn[0], unit * (true - true[0]), atol=1e-6)

    def test_labels_name_everything_once(self, page):
        messages, _ = recording(page)
        texts = [m["props"]["text"] for t, m in messages if m["type"] == "LabelMessage" and m["name"].endswith("/name")]
        assert sorted(texts) == ["bob/1", "hinge", "rod </script>", "spring"]

    def test_names_of_one_place_do_not_lie_on_one_another(self, tmp_path):
        """A ball welded onto the tip of a rod, where a joint is, too: three names at one dot of the screen."""
        rod = quirk.Body.bar("rod", [0, 0, 0], [1, 0, 0], 1.0, radius=0.03)
        tip = quirk.Body.sphere("tip", 0.5, 0.05, position=[1, 0, 0])
        hinges = [
            quirk.Revolute("foot", quirk.GROUND, rod, point=[0, 0, 0], axis="y"),
            quirk.Fixed("weld", rod, tip, point=[1, 0, 0]),
        ]
        spare = quirk.Spherical("socket", rod, tip, point=[1, 0, 0])
        result = quirk.simulate(quirk.System([rod, tip, *hinges, spare]), 0.1, output=0.1)
        messages, _ = recording(result.to_html(tmp_path / "f.html", labels=True))
        labels = {m["props"]["text"].strip(): m["props"] for _, m in messages if m["type"] == "LabelMessage"}
        at_tip = [labels[name] for name in ("tip", "weld", "socket")]
        lines = {(one["anchor"], one["text"].count("\n")) for one in at_tip}
        assert len(lines) == 3 and ("center-left", 0) in lines and ("top-left", 0) not in lines
        assert labels["rod"]["anchor"] == "center-left"

    def test_names_find_a_line_of_their_own(self):
        names = ["first", "second", "third", "a long way off", "fourth"]
        dots = np.array([[0.0, 0.0], [0.0, 0.0], [3.0, 2.0], [400.0, 0.0], [-20.0, 1.0]])
        found = laid_out(names, dots, np.array([[10.0, 40.0]]))
        rows = []
        for name, label, (x, y) in zip(names, found, dots, strict=True):
            assert label.text.strip() == name
            above = {
                "center-left": -0.5,
                "top-left": label.text.count("\n"),
                "bottom-left": -1 - label.text.count("\n"),
            }
            rows.append((x, y + LINE * above[label.anchor], len(name) * WIDTH))
        for k, (x, y, width) in enumerate(rows):
            assert all(abs(y - b) >= LINE or x + width <= a or a + w <= x for a, b, w in rows[:k])
        assert found[3] == ("a long way off", "center-left")

    def test_a_body_that_is_followed_stays(self, result, tmp_path):
        messages, _ = recording(result.to_html(tmp_path / "f.html", fps=20, follow="bob/1"))
        name = "/N/bodies/bob\N{DIVISION SLASH}1"
        own = [m["position"] for _, m in messages if m["type"] == "SetPositionMessage" and m["name"] == name]
        root = [m["position"] for _, m in messages if m["type"] == "SetPositionMessage" and m["name"] == "/N"]
        # Of what is at the origin, or not turned, no message is sent.
        turn = next(
            (m["wxyz"] for _, m in messages if m["type"] == "SetOrientationMessage" and m["name"] == "/N"), [1, 0, 0, 0]
        )
        R = quirk.rotation.matrix(np.array(turn))
        shifted = np.array(own) @ R.T + np.vstack([np.zeros(3), root])
        np.testing.assert_allclose(shifted - shifted[0], 0, atol=1e-6)

    @pytest.mark.parametrize(("follow", "moves"), [(None, True), ("ground", False), ("ball", True)])
    def test_what_goes_far_is_followed(self, tmp_path, follow, moves):
        ball = quirk.Body.sphere("ball", 1.0, 0.1, velocity=[20, 0, 0])
        result = quirk.simulate(quirk.System([ball]), 1.0, output=0.1)
        messages, _ = recording(result.to_html(tmp_path / "f.html", follow=follow))
        assert any(m["type"] == "SetPositionMessage" and m["name"] == "/N" for _, m in messages) == moves

    def test_it_is_replaced_as_a_whole(self, result, tmp_path):
        path = tmp_path / "a.html"
        path.write_text("old")
        with pytest.raises(quirk.QuirkError):
            result.to_html(path, follow="nobody")
        assert path.read_text() == "old"

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"fps": 0}, "to_html: fps must be positive"),
            ({"fps": 500}, "to_html: fps must not be above 120; got 500"),
            ({"speed": -1}, "to_html: speed must be positive"),
            ({"speed": 1e6}, "which show no motion: choose a lower speed, such as 0.1"),
            ({"speed": 1e-9}, "at most 5000000 poses are kept: choose a higher speed or a lower fps"),
            ({"follow": "hinge"}, "to_html: follow must be the name of a body, or .ground.; got 'hinge'"),
            ({"follow": 3}, "to_html: follow must be the name of a body, or .ground.; got 3"),
            ({"trails": ["hinge"]}, 'to_html: trails must be points of bodies; got Revolute "hinge"'),
            ({"trails": 3}, "to_html: trails must be names of bodies, or pairs"),
            ({"trails": [("bob/1", [1, 2])]}, r"to_html: point of 'bob/1' must have shape \(3,\)"),
            ({"labels": 1}, "to_html: labels must be True or False; got 1"),
            ({"arrows": ["bob/1"]}, "arrows: loads are those of constraints and forces"),
        ],
    )
    def test_what_is_refused(self, result, tmp_path, options, message):
        with pytest.raises(quirk.InputError, match=message):
            result.to_html(tmp_path / "x.html", **options)
        assert not (tmp_path / "x.html").exists()

    def test_other_endings_and_a_missing_library(self, result, tmp_path, monkeypatch):
        with pytest.raises(quirk.InputError, match=r"to_html: path must end in \.html or \.htm"):
            result.to_html(tmp_path / "x.gif")
        monkeypatch.setitem(__import__("sys").modules, "viser", None)
        with pytest.raises(quirk.InputError, match=r'need viser: pip install "quirk-dynamics\[viewer\]"'):
            result.to_html(tmp_path / "x.html")


def panel_of(page):
    """What the panel of a page knows: its times, values and borders of the plot."""
    (data,) = re.findall(r"const data = (\{.*\});", page.read_text(encoding="utf-8"))
    return json.loads(data)


class TestPanel:
    def test_plots_with_values_at_all_pictures(self, result, tmp_path):
        page = result.to_html(tmp_path / "p.html", fps=20, plots=["hinge.deg", "bob/1.speed", "spring.force.z"])
        text, data = page.read_text(encoding="utf-8"), panel_of(page)
        wanted = [np.degrees(result["hinge"].angle), result["bob/1"].speed, result["spring"].force()[:, 2]]
        np.testing.assert_allclose(np.array(data["values"], dtype=float), wanted, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(data["times"], result.time, atol=1e-9)
        assert data["low"] < 0 < 1 < data["high"] and 0 < data["left"] < data["right"] < 1
        assert text.count("<svg") >= 1 and "Angle (deg)" in text and "Force (N)" in text
        assert "<td>spring.force.z</td>" in text

    def test_by_default_joints_or_energies(self, result, page, tmp_path):
        assert len(panel_of(page)["values"]) == 1
        assert "<td>hinge.angle</td>" in page.read_text(encoding="utf-8")
        ball = quirk.Body.sphere("<ball>", 1.0, 0.1, velocity=[1, 0, 0])
        free = quirk.simulate(quirk.System([ball]), 0.5, output=0.1).to_html(tmp_path / "f.html")
        assert "<td>total energy</td>" in free.read_text(encoding="utf-8")
        bare = result.to_html(tmp_path / "b.html", plots=())
        assert panel_of(bare)["values"] == []
        assert 'id="quirk-plot"' not in bare.read_text(encoding="utf-8")

    @pytest.mark.parametrize("plots", ["hinge.color", ["nobody.speed"], 3])
    def test_quantities_that_there_are_not(self, result, tmp_path, plots):
        with pytest.raises(quirk.InputError, match="to_html"):
            result.to_html(tmp_path / "x.html", plots=plots)
        assert not (tmp_path / "x.html").exists()

    def test_there_is_one_clock(self, page):
        messages, _ = recording(page)
        texts = [m["props"]["text"] for _, m in messages if m["type"] == "LabelMessage"]
        assert not any(text.startswith("t =") for text in texts)
        text = page.read_text(encoding="utf-8")
        assert text.count('<div id="quirk-clock">') == 1
        assert ".mantine-NumberInput-root { display: none }" in text


class TestLooks:
    def test_arrows_have_a_scale(self, result, page):
        messages, _ = recording(page)
        (note,) = [m["props"]["text"] for _, m in messages if m["type"] == "LabelMessage" and "square" in m["name"]]
        largest = np.linalg.norm(result["hinge"].force(), axis=1).max()
        assert note.splitlines()[1:] == [f"longest force {largest:.3g} N"]

    @pytest.mark.parametrize(("gravity", "floors"), [([0, 0, -9.81], 1), ([0, 0, 0], 0)])
    def test_there_is_a_floor_only_where_there_is_gravity(self, tmp_path, gravity, floors):
        ball = quirk.Body.sphere("ball", 1.0, 0.1, velocity=[1, 0, 0])
        result = quirk.simulate(quirk.System([ball], gravity=gravity), 0.5, output=0.1)
        messages, _ = recording(result.to_html(tmp_path / "f.html"))
        assert sum(m["type"] == "GridMessage" for _, m in messages) == floors
        texts = [m["props"]["text"] for _, m in messages if m["type"] == "LabelMessage"]
        assert any(text.startswith("1 square" if floors else "axes of") for text in texts)

    @pytest.mark.parametrize("axes", [False, True])
    def test_axes_of_joints(self, result, tmp_path, axes):
        messages, _ = recording(result.to_html(tmp_path / "f.html", axes=axes))
        name = "/N/ground/hinge axis"
        seen = [m["visible"] for _, m in messages if m["type"] == "SetSceneNodeVisibilityMessage" and m["name"] == name]
        assert seen[-1] is axes
        turns = [m["wxyz"] for _, m in messages if m["type"] == "SetOrientationMessage" and m["name"] == name]
        if axes:
            np.testing.assert_allclose(abs(rotation.matrix(np.array(turns[-1]))[:, 2]), [0, 1, 0], atol=1e-12)

    def test_translucent_bodies(self, result, tmp_path):
        messages, _ = recording(result.to_html(tmp_path / "f.html", opacity=0.4))
        opacity = {}
        for _, m in messages:
            if m["type"] == "MeshMessage":
                opacity[m["name"]] = m["props"]["opacity"]
            elif m["type"] == "SceneNodeUpdateMessage" and "opacity" in m["updates"]:
                opacity[m["name"]] = m["updates"]["opacity"]
        assert opacity["/N/bodies/bob\N{DIVISION SLASH}1/surface 1"] == 0.4
        assert opacity["/N/between/spring/surface 1"] is None
        for value in (0.0, 1.5, "half"):
            with pytest.raises(quirk.InputError, match="opacity"):
                result.to_html(tmp_path / "x.html", opacity=value)

    def test_values_of_what_is_clicked(self, result):
        with result.view(fps=20) as view:
            nodes = {node.part.name: node for node in view._stage._nodes}
            view._play.value = False
            view._choose(nodes["bob/1"].part)
            time.sleep(0.2)
            picture = int(np.abs(result.time - view._slider.value).argmin())
            told = view._values.content
            assert told.startswith(f"**bob/1** at {result.time[picture]:.4g} s")
            assert f"position: {np.linalg.norm(result['bob/1'].position[picture]):.4g} m" in told
            view._stage.show_axes(True)
            assert nodes["hinge axis"]._frame.visible
            view._stage.show_axes(False)
            assert not nodes["hinge axis"]._frame.visible
            view._stage.fade(0.3)
            assert nodes["bob/1"]._meshes[0].opacity == 0.3
            view._stage.fade(1.0)
            assert nodes["bob/1"]._meshes[0].opacity is None
        told = values_of(result, nodes["hinge j"].part, 0.5)
        row = int(np.abs(result.time - 0.5).argmin())
        assert f"angle: {result['hinge'].angle[row]:.4g} rad" in told
        assert f"force: {np.linalg.norm(result['hinge'].force()[row]):.4g} N" in told


class TestLive:
    def test_it_is_served_and_plays_until_closed(self, result, capsys):
        with result.view(speed=0.5, trails=["bob/1"]) as view:
            assert view.url in capsys.readouterr().err
            with urllib.request.urlopen(view.url, timeout=10) as answer:
                assert b"viser" in answer.read().lower()
            assert f'src="{view.url}"' in view._repr_html_()
            first = waited(lambda: view._slider.value)
            assert waited(lambda: view._slider.value != first)
        assert view.closed
        view.close()
        assert "closed" in view._repr_html_()
        with pytest.raises(OSError):
            urllib.request.urlopen(view.url, timeout=2)

    def test_blocking_ends_at_ctrl_c(self, result, monkeypatch):
        def pressed(self, timeout=None):
            raise KeyboardInterrupt

        view = result.view()
        monkeypatch.setattr(type(view._closed), "wait", pressed)
        view.wait()
        assert view.closed

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"port": -1}, "view: port must be a whole number from 0 to 65535; got -1"),
            ({"host": ""}, "view: host must be an address of this machine"),
            ({"host": "192.0.2.1"}, "view: nothing can be served at 192.0.2.1:0"),
            ({"block": "yes"}, "view: block must be True or False"),
            ({"follow": "hinge"}, "view: follow must be the name of a body, or"),
        ],
    )
    def test_what_is_refused(self, result, options, message):
        with pytest.raises(quirk.InputError, match=message):
            result.view(**options)


def waited(found, seconds=10.0):
    """What a function gives, once it is not false; or the last it gave."""
    end = time.monotonic() + seconds
    while not (value := found()) and time.monotonic() < end:
        time.sleep(0.02)
    return value


def four_bar():
    """A crank of 1 m, a coupler of 3 m, a rocker of 2 m, and a base of 3 m; a driver turns the crank."""
    a, b, d = np.zeros(3), np.array([0, 1.0, 0]), np.array([3.0, 0, 0])
    c = np.array([2.9, 2.0, 0])
    c = d + 2.0 * (c - d) / np.linalg.norm(c - d)
    crank, coupler, rocker = (
        quirk.Body.bar(n, p, q, 1.0) for n, p, q in (("crank", a, b), ("coupler", b, c), ("rocker", d, c))
    )
    hinges = [
        ("A", quirk.GROUND, crank, a),
        ("B", crank, coupler, b),
        ("C", coupler, rocker, c),
        ("D", quirk.GROUND, rocker, d),
    ]
    joints = [quirk.Revolute(n, i, j, point=p, axis=[0, 0, 1]) for n, i, j, p in hinges]
    motor = quirk.Drive("motor", joints[0], quirk.Motion.constant_rate(1.0))
    return quirk.System([crank, coupler, rocker, *joints, motor])


class TestSliders:
    def test_they_drag_a_closed_loop(self):
        system = four_bar()
        before = system.initial_state()
        with system.view() as view:
            assert [one.label for one in view.coordinates] == [f"{joint} rotation z (rad)" for joint in "ABCD"]
            assert view.drag("A", 0.35) == pytest.approx(0.35, abs=1e-12)
            held = quirk.System([*(part for part in system if part.name != "motor")])
            assert np.abs(held.constraint_rows(view.state).phi).max() < 1e-9
            x, y, _ = view.state.position[0]
            assert np.arctan2(y, x) == pytest.approx(np.pi / 2 + 0.35)
            assert view._message.content == ""
        np.testing.assert_array_equal(system.initial_state().position, before.position)
        assert system.is_active("motor")

    def test_one_that_cannot_go_on_stops_and_says_so(self):
        """The rocker of a crank-rocker swings to and fro between the poses in which crank and coupler are in line."""
        system = four_bar()
        with system.view() as view:
            start = view._value(3)
            reached = view.drag("D", start + 2.0)
            coupler = float(np.hypot(*(2 * (system["coupler"].position - [0, 1, 0]))[:2]))
            limits = np.array([rocker_angle(coupler - 1), rocker_angle(coupler + 1)]) - rocker_angle_of(system)
            assert 0 <= limits[0] - (reached - start) < 0.01
            assert "cannot be reached" in view._message.content
            assert "D rotation z (rad)" in view._message.content
            assert view._sliders[3].value == pytest.approx(reached, abs=1e-3)
            assert view.drag("D", start) == pytest.approx(start, abs=1e-12)
            assert view._message.content == ""

    def test_what_is_refused(self):
        with four_bar().view() as view:
            with pytest.raises(quirk.InputError, match=r"'motor' is not one of its sliders.*A rotation z \(rad\), B"):
                view.drag("motor", 1.0)
            with pytest.raises(quirk.InputError, match="value must be finite"):
                view.drag("A", np.nan)

    def test_a_system_without_axes(self):
        with quirk.System([quirk.Body.sphere("b", 1.0, 1.0)]).view() as view:
            assert view.coordinates == []
            assert "No joint" in view._message.content


def rocker_angle(distance):
    """Angle of the rocker, 2 m, about D at (3, 0) where its end is so far from A at the origin."""
    x = (distance**2 - 4 + 9) / 6
    return np.arctan2(np.sqrt(distance**2 - x**2), x - 3)


def rocker_angle_of(system):
    x, y, _ = 2 * (system["rocker"].position - [3, 0, 0])
    return np.arctan2(y, x)


@pytest.fixture(scope="module")
def chromium():
    """A browser without a screen, and without a network."""
    if not (CHROMIUM and DRIVER):
        pytest.skip("needs chromium and chromium-driver")
    pytest.importorskip("selenium")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=500,400"):
        options.add_argument(argument)
    for argument in ("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"):
        options.add_argument(argument)  # draws without a graphics card
    options.add_argument("--host-resolver-rules=MAP * ~NOTFOUND")
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    driver.set_page_load_timeout(120)
    yield driver
    driver.quit()


def test_chromium_plays_it_without_a_network(page, chromium):
    chromium.get(page.as_uri())
    chromium.execute_script(ALONE)
    pictures = []
    end = time.monotonic() + 120
    while len(pictures) < 2 and time.monotonic() < end:
        picture = colored(chromium.get_screenshot_as_png())
        # As pictures fade in there is more and more to be seen; what moves is also no more where it was.
        if picture.sum() > 50 and all((before & ~picture).sum() > 20 for before in pictures):
            pictures.append(picture)
        time.sleep(0.2)
    assert len(pictures) == 2
    sent = [json.loads(entry["message"])["message"] for entry in chromium.get_log("performance")]
    asked = [m["params"]["request"]["url"] for m in sent if m["method"] == "Network.requestWillBeSent"]
    assert page.as_uri() in asked
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert [entry for entry in chromium.get_log("browser") if entry["level"] == "SEVERE"] == []


# Shows nothing but the mechanism: no bar to play with, and no word that there is no graphics card.
ALONE = """
const style = document.createElement("style");
style.textContent = ".mantine-Paper-root, .mantine-Notifications-root { display: none !important }";
document.head.append(style);
"""


def colored(png):
    """Which dots of a picture have a color, unlike the ground, its grid and all that is written."""
    rgb = np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(int)
    return np.ptp(rgb, axis=2) > 60


def test_a_cursor_follows_and_goes_where_it_is_put(page, chromium):
    """The clock, the cursor and the value are those of one picture; a click on the plot goes there."""
    from selenium.webdriver import ActionChains

    chromium.set_window_size(1100, 700)
    chromium.get(page.as_uri())
    data = panel_of(page)

    def state():
        return chromium.execute_script(STATE)

    def until(fits):
        end = time.monotonic() + 120
        while time.monotonic() < end and not fits(state()):
            time.sleep(0.1)
        return state()

    until(lambda now: now[2] != "")
    chromium.execute_script('document.querySelector(".mantine-Paper-root button").click()')
    plot = chromium.find_element("id", "quirk-plot")
    for part in (0.3, 0.77):
        x = (data["left"] + part * (data["right"] - data["left"]) - 0.5) * plot.size["width"]
        ActionChains(chromium).move_to_element_with_offset(plot, int(x), 0).click().perform()
        t = data["low"] + part * (data["high"] - data["low"])
        k = int(np.abs(np.array(data["times"]) - t).argmin())
        clock, left, value = until(lambda now, k=k: now[2] == data["values"][0][k])
        assert float(clock.split()[2]) == pytest.approx(data["times"][k], abs=0.01)
        shown = (data["times"][k] - data["low"]) / (data["high"] - data["low"])
        assert left == pytest.approx(100 * (data["left"] + shown * (data["right"] - data["left"])), abs=0.1)
        assert value == data["values"][0][k]


STATE = """
return [document.getElementById("quirk-clock").textContent,
  parseFloat(document.getElementById("quirk-cursor").style.left), document.querySelector("#quirk td.value").textContent];
"""
