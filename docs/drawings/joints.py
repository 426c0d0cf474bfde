"""Drawings of joints, from free to rigid."""

from __future__ import annotations

import numpy as np

from .parts import two_ends
from .scenes import scene
from .sketch import DARK, FREE, I, J, Sketch, X, Y, Z, turn_about, unit


@scene
def spherical():
    """Ball and socket."""
    s = Sketch()
    s.box([0, 0, -1.1], [1.5, 1.0, 0.16], I)
    s.rod([0, 0, -1.02], [0, 0, -0.2], 0.13, I)
    s.ball([0, 0, 0], 0.34, I)
    s.ball([0, 0, 0.12], 0.27, J)
    s.rod(np.array([0.12, 0, 0.24]), [0.8, 0, 1.0], 0.1, J)
    s.turn([0, 0, 0.1], Z, 0.85, -70, 70)
    s.turn([0, 0, 0.1], s.view[2], 0.85, 95, 165)
    s.turn([0, 0, 0.1], s.view[2], 0.85, 0, -48)
    s.text([0, 0, -1.1], "i", (-0.95, 0))
    s.text([0.8, 0, 1.0], "j", (0.22, 0.08))
    return s


@scene
def revolute():
    """Hinge with an upright pin."""
    s = Sketch()
    s.axis([0, 0, -1.1], [0, 0, -0.6])
    s.box([-1.15, 0, 0], [0.16, 0.9, 1.5], I)
    s.box([-0.62, 0, -0.42], [0.9, 0.36, 0.24], I)
    s.rod([0, 0, -0.54], [0, 0, -0.3], 0.3, I)
    s.box([0.95, 0, 0], [1.5, 0.26, 0.3], J)
    s.rod([0, 0, -0.24], [0, 0, 0.24], 0.3, J)
    s.box([-0.62, 0, 0.42], [0.9, 0.36, 0.24], I)
    s.rod([0, 0, 0.3], [0, 0, 0.54], 0.3, I)
    s.axis([0, 0, 0.54], [0, 0, 1.3], "z", (0.12, 0))
    s.turn([0, 0, 0.85], Z, 0.42, -130, 130)
    s.text([-1.15, 0, 0.75], "i", (0, 0.28))
    s.text([1.7, 0, 0], "j", (0.22, 0))
    return s


@scene
def cylindrical():
    """Shaft in a sleeve."""
    s = Sketch()
    s.axis([-1.9, 0, 0], [-1.4, 0, 0])
    s.rod([-1.4, 0, 0], [-0.5, 0, 0], 0.16, J)
    s.box([0, 0, -0.55], [0.5, 0.4, 0.5], I)
    s.box([0, 0, -0.85], [1.4, 0.9, 0.14], I)
    s.rod([-0.5, 0, 0], [0.5, 0, 0], 0.36, I)
    s.rod([0.5, 0, 0], [1.4, 0, 0], 0.16, J)
    s.axis([1.4, 0, 0], [2.2, 0, 0], "z")
    s.arrow([-0.8, 0, 0.62], [0.8, 0, 0.62])
    s.turn([1.75, 0, 0], X, 0.38, -130, 130)
    s.text([-0.7, 0, -0.85], "i", (-0.3, 0))
    s.text([-1.4, 0, 0], "j", (0.1, 0.34))
    return s


@scene
def prismatic():
    """Slider on a rail."""
    s = Sketch()
    s.axis([-2.0, 0, 0], [-1.5, 0, 0])
    s.box([-1.3, 0, -0.4], [0.2, 0.5, 0.5], I)
    s.box([1.3, 0, -0.4], [0.2, 0.5, 0.5], I)
    s.box([-0.9, 0, 0], [1.2, 0.26, 0.26], I)
    s.box([0, 0, 0], [0.8, 0.62, 0.62], J)
    s.box([0.95, 0, 0], [1.1, 0.26, 0.26], I)
    s.axis([1.5, 0, 0], [2.1, 0, 0], "z")
    s.arrow([-0.8, 0, 0.75], [0.8, 0, 0.75])
    s.text([-1.3, 0, 0.13], "i", (0, 0.28))
    s.text([0, -0.31, 0], "j")
    return s


@scene
def universal():
    """Two forks and a cross."""
    s = Sketch(elevation=26)
    R = turn_about(Z, -28)
    arm = R @ [0.28, 0, 0]
    s.rod([-1.7, 0, 0], [-0.62, 0, 0], 0.14, I)
    s.box([-0.58, 0, 0], [0.14, 0.3, 1.2], I)
    s.box([-0.25, 0, -0.53], [0.7, 0.26, 0.13], I)
    s.axis([0, 0, -1.05], [0, 0, -0.4])
    s.box(R @ [0.25, 0.53, 0], [0.7, 0.13, 0.26], J, R)
    s.rod([0, 0, -0.46], [0, 0, 0], 0.07, DARK)
    s.rod(R @ [0, 0.46, 0], R @ [0, -0.46, 0], 0.07, DARK)
    s.rod([0, 0, 0], [0, 0, 0.46], 0.07, DARK)
    s.box([-0.25, 0, 0.53], [0.7, 0.26, 0.13], I)
    s.box(R @ [0.58, 0, 0], [0.14, 1.2, 0.3], J, R)
    s.rod(R @ [0.65, 0, 0], R @ [1.75, 0, 0], 0.14, J)
    s.box(R @ [0.25, -0.53, 0], [0.7, 0.13, 0.26], J, R)
    s.axis([0, 0, 0.6], [0, 0, 1.25], "x of i", (0.32, 0))
    s.axis(R @ [0, -0.6, 0], R @ [0, -1.5, 0], "y of j", (-0.38, 0.02))
    s.turn([0, 0, 0.9], Z, 0.3, -130, 130)
    s.turn(R @ [0, -1.1, 0], R @ Y, 0.26, -130, 130)
    s.text([-1.7, 0, 0], "i", (-0.2, 0), size=15)
    s.text(R @ [1.75, 0, 0] + arm, "j", (0, 0), size=15)
    return s


@scene
def constant_velocity():
    """Two shafts, the plane that halves their angle, and equal turns."""
    s = Sketch(elevation=16)
    out = turn_about(Y, -35) @ X
    half = unit(out - X)
    s.axis([-2.2, 0, 0], [-1.6, 0, 0])
    s.rod([-1.6, 0, 0], [-0.25, 0, 0], 0.15, I)
    s.ball([0, 0, 0], 0.42, I)
    s.fill(
        [k * half + m * Y for k, m in ((0.95, 0.7), (0.95, -0.7), (-0.95, -0.7), (-0.95, 0.7))], "#f5e6b8", alpha=0.6
    )
    s.ball([0.06, 0, 0.02], 0.3, J)
    s.rod(0.28 * out, 1.6 * out, 0.15, J)
    s.axis(1.6 * out, 2.1 * out, "z of j", (0.12, 0.18))
    s.turn([-1.95, 0, 0], X, 0.34, -120, 120, both=False)
    s.turn(1.85 * out, out, 0.34, -120, 120, both=False)
    s.text([-2.2, 0, 0], "z of i", (-0.32, 0.05), style="italic")
    s.text([-1.0, 0, 0], "i", (0, 0.34))
    s.text(1.0 * out, "j", (-0.05, 0.36))
    return s


@scene
def screw():
    """Nut on a thread."""
    s = Sketch()
    lead, radius = 0.26, 0.2

    def thread(begin, end):
        s.rod([0, 0, begin], [0, 0, end], radius, I)
        toward = np.arctan2(s.view[2, 1], s.view[2, 0])
        for k in range(-20, 20):
            t = np.linspace(-np.pi / 2, np.pi / 2, 30)
            z = lead * (k + t / (2 * np.pi))
            if z[0] > begin and z[-1] < end - 0.02:
                s.line(np.column_stack([radius * np.cos(t + toward), radius * np.sin(t + toward), z]), DARK, 1.2)

    s.box([0, 0, -1.25], [1.3, 0.9, 0.14], I)
    thread(-1.18, -0.1)
    s.rod([0, 0, -0.17], [0, 0, 0.17], 0.55, J)
    s.fill(s.circle([0, 0, 0.17], Z, radius), "#3c6a9c")
    thread(0.17, 1.1)
    s.axis([0, 0, 1.1], [0, 0, 1.55], "z", (0.12, 0))
    s.turn([0, 0, 0.42], Z, 0.5, -110, 110)
    s.arrow([0.9, 0, -0.5], [0.9, 0, 0.5])
    for k in (-2, -3):
        s.line([[-0.2, 0, lead * (k - 0.1)], [-0.75, 0, lead * (k - 0.1)]], DARK, 0.8)
    s.arrow([-0.68, 0, lead * -3.1], [-0.68, 0, lead * -2.1], "k", width=0.8)
    s.text([-0.75, 0, lead * -2.6], "lead", (-0.3, 0), size=12)
    s.text([0.65, 0, -1.25], "i", (0.3, 0))
    s.text([-0.55, 0, 0], "j", (-0.18, 0.1))
    return s


@scene
def planar():
    """Puck on a table."""
    s = Sketch(elevation=30)
    s.box([0, 0, -0.1], [3.2, 2.2, 0.2], I)
    s.rod([0, 0, 0], [0, 0, 0.2], 0.5, J)
    s.axis([0, 0, 0.2], [0, 0, 1.15], "z", (0.12, 0))
    s.turn([0, 0, 0.7], Z, 0.38, -130, 130)
    s.arrow([-1.45, 0, 0.02], [-0.6, 0, 0.02])
    s.arrow([0, -1.08, 0.02], [0, -0.55, 0.02])
    s.text([-1.45, 0, 0.02], "x", (-0.1, 0.1), style="italic")
    s.text([0, -0.9, 0], "y", (0.18, 0), style="italic")
    s.text([1.3, 0.8, 0], "i")
    s.text([0.5, 0, 0.2], "j", (0.1, 0.12))
    return s


@scene
def point_on_line():
    """Bead on a wire, part of a body."""
    s = Sketch()
    R = turn_about(Y, 30)
    s.box([-1.6, 0, -0.45], [0.14, 0.4, 1.1], I)
    s.box([1.6, 0, -0.45], [0.14, 0.4, 1.1], I)
    s.rod([-1.55, 0, 0], [1.55, 0, 0], 0.05, I)
    s.axis([1.67, 0, 0], [2.2, 0, 0], "z")
    s.box(R @ [0, 0, -0.6], [0.3, 0.3, 1.0], J, R)
    s.ball([0, 0, 0], 0.15, J)
    s.arrow([-1.2, 0, 0.33], [-0.4, 0, 0.33])
    s.turn([0, 0, 0], Z, 0.42, -60, 60)
    s.turn([0, 0, 0], s.view[2], 1.25, -140, -98)
    s.text([-1.6, 0, 0.1], "i", (0, 0.2))
    s.text(R @ [0, -0.15, -0.75], "j")
    return s


@scene
def point_on_plane():
    """Tip of a leaning bar on a slab."""
    s = Sketch(elevation=30)
    out = unit([0.45, 0, 1])
    R = turn_about(Y, np.degrees(np.arctan(0.45)))
    s.box([0, 0, -0.1], [3.2, 2.2, 0.2], I)
    s.axis([0, 0, 0], [0, 0, 1.3], "z", (-0.12, 0.05))
    s.arrow([-1.2, 0, 0.01], [-0.25, 0, 0.01])
    s.arrow([0, -1.0, 0.01], [0, -0.3, 0.01])
    s.text([-1.2, 0, 0], "x", (-0.12, 0.05), style="italic")
    s.text([0, -0.9, 0], "y", (0.18, 0), style="italic")
    s.box(0.85 * out, [0.24, 0.24, 1.2], J, R)
    s.ball([0, 0, 0.08], 0.13, J)
    s.turn([0, 0, 0.62], Z, 0.58, -52, 52)
    s.turn([0, 0, 0], s.view[2], 1.6, 50, 78)
    s.text([1.3, 0.8, 0], "i")
    s.text(1.45 * out, "j", (0.22, 0))
    return s


@scene
def fixed():
    """Two boxes with a weld."""
    s = Sketch()
    s.box([-0.8, 0, 0], [1.6, 0.8, 0.8], I)
    s.box([0.75, 0, -0.1], [1.5, 0.5, 0.5], J)
    for k in np.linspace(-0.25, 0.25, 6):
        s.ball([0.02, k, 0.15], 0.05, DARK)
    for k in np.linspace(-0.35, 0.1, 5):
        s.ball([0.02, -0.26, k], 0.05, DARK)
    s.text([-0.8, -0.4, 0], "i")
    s.text([0.8, -0.25, -0.1], "j")
    return s


@scene
def free():
    """Two bodies apart."""
    s = Sketch()
    R = turn_about(Y, -22) @ turn_about(X, 12)
    i, j = np.array([-1.2, 0, -0.3]), np.array([1.1, 0, 0.35])
    s.box(i, [0.9, 0.7, 0.5], I)
    s.box(j, [0.8, 0.6, 0.5], J, R)
    s.line([i, j], DARK, 1.1, "--")
    s.frame(i, 0.75)
    s.frame(j, 0.75, turn=R)
    s.text((i + j) / 2, "d", (0, 0.16))
    s.text(i, "i", (-0.2, -0.2))
    s.text(j, "j", (-0.1, -0.25))
    return s


@scene
def generic():
    """Six coordinates, numbered as the flags."""
    s = Sketch(azimuth=32, elevation=24)
    s.box([0, 0, -1.5], [1.9, 1.9, 0.14], I)
    s.box([0, 0, 0], [0.7, 0.7, 0.7], J)
    for k, axis in enumerate((X, Y, Z)):
        s.axis(0.35 * axis, 2.05 * axis)
        s.turn(0.75 * axis, axis, 0.27, -130, 130)
        s.arrow(1.25 * axis, 1.8 * axis)
        s.text(2.2 * axis, "xyz"[k], style="italic")
        s.text(1.5 * axis, str(k), ((0.2, -0.12), (0, 0.22), (0.2, 0))[k], FREE, 12)
        s.text(0.75 * axis, str(3 + k), ((-0.15, 0.38), (0.12, 0.42), (0.42, 0))[k], FREE, 12)
    s.text([-0.75, 0.75, -1.43], "i")
    s.text([-0.35, 0.35, 0.35], "j", (0.15, 0.1))
    return s


@scene
def distance():
    """Massless rod."""
    s = Sketch()
    i, j = np.array([-1.0, 0, -0.3]), np.array([1.0, 0, 0.4])
    two_ends(s, i, j)
    s.rod(i, j, 0.04, "#e8e8e8")
    s.ball(i, 0.1, I)
    s.ball(j, 0.1, J)
    s.text((i + j) / 2, "length", (-0.1, 0.25), size=13)
    return s
