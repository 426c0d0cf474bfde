"""Models compiled by MuJoCo, with access by name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from quirk.bodies import rotation
from quirk.errors import InputError

from .markup import LARGEST, parse, shortened
from .mjcf_cables import expand_cables, text_of
from .mjcf_expansion import check_expansion
from .pose import Pose

# Joint types in MuJoCo's order.
FREE, BALL, SLIDE, HINGE = range(4)


def library() -> ModuleType:
    """Return the module mujoco; an InputError is raised if it is not installed."""
    try:
        import mujoco
    except ImportError:
        raise InputError(
            'MJCF files require mujoco, which is not installed: pip install "quirk-dynamics[mjcf]"'
        ) from None
    return mujoco


class MjcfModel:
    """A compiled MuJoCo model with its initial positions and velocities.

    Attributes
    ----------
    mujoco : the module
    m, d : model and state, MuJoCo's MjModel and MjData
    file : name of the file, for messages
    cables : elastic cables of the file
    """

    def __init__(self, path: Path, keyframe: int | str | None) -> None:
        self.mujoco, self.file = library(), path.name
        root = parse(path)
        if root.tag not in ("mujoco", "mujocoinclude"):
            raise root.error("an MJCF file starts with <mujoco>")
        check_expansion(path, root)
        has_cables, self.cables = expand_cables(root)
        with _quiet(self.mujoco) as warnings:
            try:
                make = self.mujoco.MjModel
                self.m = make.from_xml_string(text_of(root)) if has_cables else make.from_xml_path(str(path))
                self.d = self.mujoco.MjData(self.m)
                self._start(keyframe)
            except InputError:
                raise
            except Exception as error:  # MuJoCo raises many types of errors
                text = " ".join(str(error).split())
                raise InputError(f"{self.file}: MuJoCo cannot read it: {text}") from None
        self.warnings = warnings

    def _start(self, keyframe: int | str | None) -> None:
        m, d = self.m, self.d
        if keyframe is not None:
            number = keyframe
            if isinstance(keyframe, str):
                number = self.mujoco.mj_name2id(m, self.mujoco.mjtObj.mjOBJ_KEY, keyframe)
            if isinstance(number, bool) or not isinstance(number, int | np.integer) or not 0 <= number < m.nkey:
                known = ", ".join(self.name("KEY", k) for k in range(m.nkey)) or "none"
                raise InputError(f"{self.file}: there is no keyframe {keyframe!r}; there are: {known}")
            self.mujoco.mj_resetDataKeyframe(m, d, int(number))
        self.mujoco.mj_normalizeQuat(m, d.qpos)
        self.mujoco.mj_fwdPosition(m, d)
        arrays = d.qpos, d.qvel, d.xpos, d.xmat, d.xipos, m.body_mass, m.body_inertia, m.opt.gravity, m.jnt_pos
        if any(not (np.abs(array) <= LARGEST).all() for array in arrays):
            raise InputError(
                f"{self.file}: positions, velocities, masses and gravity must be numbers up to {LARGEST:g}"
            )

    def name(self, kind: str, number: int) -> str:
        """Return the name of an object, or its kind and number if it has no name; `kind` is, for example, "BODY"."""
        found = self.mujoco.mj_id2name(self.m, getattr(self.mujoco.mjtObj, f"mjOBJ_{kind}"), int(number))
        return found or f"{kind.lower()} {number}"

    def where(self, kind: str, number: int) -> str:
        """Return the file, kind and name of an object, for messages."""
        return f'{self.file}, {kind.lower()} "{shortened(self.name(kind, number))}"'

    def code(self, kind: str, value: str) -> int:
        """Return the value of a member of one of MuJoCo's enumerations, for example "BOX" in "Geom"."""
        prefix = {"Joint": "JNT", "DisableBit": "DSBL"}.get(kind, kind.upper())
        return int(getattr(getattr(self.mujoco, f"mjt{kind}"), f"mj{prefix}_{value}"))

    def get(self, array: str) -> np.ndarray | None:
        """Return an array of the model by name, or None if the installed version of MuJoCo lacks it."""
        return getattr(self.m, array, None)

    def body_pose(self, body: int) -> Pose:
        """Return the initial pose of MJCF body number `body`, inertial frame."""
        return Pose(self.d.xmat[body].reshape(3, 3).copy(), self.d.xpos[body].copy())


def pose(position: Any, quaternion: Any) -> Pose:
    """Return a pose from a position (3,), m, and a quaternion (4,), scalar first."""
    q = np.array(quaternion, dtype=float)
    return Pose(rotation.matrix(q / np.linalg.norm(q)), np.array(position, dtype=float))


@contextmanager
def _quiet(mujoco: ModuleType) -> Iterator[list[str]]:
    """Context manager that collects MuJoCo's warnings in a list, in place of a log file in the current folder."""
    before, said = mujoco.get_mju_user_warning(), []
    mujoco.set_mju_user_warning(lambda text: said.append(text))
    try:
        yield said
    finally:
        mujoco.set_mju_user_warning(before)
