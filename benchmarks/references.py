"""Systems of the reference tables, built through the public interface only."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import quirk

FOLDER = Path(__file__).parents[1] / "tests" / "data"

JOINTS = {
    "spherical": quirk.Spherical,
    "revolute": quirk.Revolute,
    "cylindrical": quirk.Cylindrical,
    "prismatic": quirk.Prismatic,
}


def joint(j, ends, items):
    """Return the constraint for an entry of a reference table."""
    where = {key: j[key] for key in ("point", "axis") if key in j}
    pair = ends.get(j.get("A")), ends[j["B"]]
    if j["type"] == "universal":
        return quirk.Universal(j["name"], *pair, point=j["point"], axis_i=j["axis_on_A"], axis_j=j["axis_on_B"])
    if j["type"] == "screw":
        return quirk.Screw(j["name"], *pair, lead=2 * np.pi * j["lead_per_radian"], **where)
    if j["type"] == "gear":
        one, two = (ends[name] for name in j["gear_bodies"])
        a, b = j["gear_coeffs"]
        return quirk.Gear(j["name"], one, two, ratio=-a / b, axis=j["axis_dir"])
    if j["type"] == "rolling_disk":
        return quirk.RollingDisk(j["name"], *pair, radius=j["radius"], disk_axis=j["disk_axis_body"])
    if j["type"] == "constant_speed_drive":
        driven = next(i for i in items if isinstance(i, quirk.Revolute) and (i.body_i, i.body_j) == pair)
        return quirk.Drive(j["name"], driven, quirk.Motion.constant_rate(j["speed"]))
    return JOINTS[j["type"]](j["name"], *pair, **where)


def load(name):
    """Return the reference table of a system."""
    return json.loads((FOLDER / f"{name}.json").read_text())


def tensor(inertia):
    """Return an inertia tensor from its six elements; principal moments are returned unchanged."""
    if len(inertia) == 3:
        return inertia
    xx, yy, zz, xy, xz, yz = inertia
    return [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]


def build(data):
    """Return the system of a reference table."""
    bodies = {
        b["name"]: quirk.Body(
            b["name"],
            b["mass"],
            tensor(b["inertia"]),
            position=b["position"],
            orientation=b["orientation"],
            velocity=b["velocity"],
            angular_velocity=b["omega_body"],
        )
        for b in data["bodies"]
    }
    ends = {**bodies, "ground": quirk.GROUND}
    items = list(bodies.values())
    for j in data["joints"]:
        items.append(joint(j, ends, items))
    for k, f in enumerate(data["forces"]):
        items.append(FORCES[f["type"]](f.get("name", f"force{k}"), f, ends, items))
    return quirk.System(items, gravity=data["gravity"])


def spring(name, f, ends, items):
    """Return a spring with a damper."""
    return quirk.Spring(
        name,
        ends[f["A"]],
        ends[f["B"]],
        f["point_in_A"],
        f["point_in_B"],
        stiffness=f["stiffness"],
        damping=f["damping"],
        rest_length=f["rest_length"],
    )


def axis_torque(name, f, ends, items):
    """Return a torque about the axis of a hinge."""
    joint = next(
        i for i in items if isinstance(i, quirk.Revolute) and (i.body_i.name, i.body_j.name) == (f["A"], f["B"])
    )
    return quirk.JointTorque(name, joint, f["torque"])


def world_torque(name, f, ends, items):
    """Return a torque in the inertial frame."""
    return quirk.Torque(name, ends[f["body"]], f["torque"], frame="inertial")


FORCES = {"spring_damper": spring, "axis_torque": axis_torque, "world_torque": world_torque}


def deviations(data, result):
    """Return the largest deviations from the table, each relative to the scale of the quantity in the table."""
    table = data["reference"]
    worst = {}

    def note(name, actual, expected, scale):
        actual, expected = np.asarray(actual), np.asarray(expected)
        assert actual.shape == expected.shape
        miss = np.abs(actual - expected).max() / max(scale, np.abs(expected).max())
        worst[name] = max(worst.get(name, 0.0), float(miss))

    for body in (b["name"] for b in data["bodies"]):
        rows = [entry["bodies"][body] for entry in table]
        view = result[body]
        note("position", view.position, [r["position"] for r in rows], 1.0)
        note("velocity", view.velocity, [r["velocity"] for r in rows], 1.0)
        note("omega", view.angular_velocity, [r["omega_body"] for r in rows], 1.0)
        q = np.array([r["orientation"] for r in rows])
        sign = np.sign(np.einsum("tk,tk->t", q, view.orientation))[:, None]
        note("orientation", sign * view.orientation, q, 1.0)
        note("acceleration", view.acceleration, [r["acceleration"] for r in rows], 1.0)
        note("alpha", view.angular_acceleration, [r["alpha_body"] for r in rows], 1.0)
    largest = max((np.abs([r["force"], r["torque"]]).max() for e in table for r in e["joint_reactions"].values()),
                  default=0.0)  # fmt: skip
    for joint in table[0]["joint_reactions"]:
        for what in ("force", "torque"):
            want = [e["joint_reactions"][joint][what] for e in table]
            note("loads", getattr(result[joint], what)(), want, largest)
    for what in ("kinetic", "total"):
        note(f"energy {what}", getattr(result.energy, what), [e["energy"][what] for e in table], 1.0)
    return worst
