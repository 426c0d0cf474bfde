"""Force elements as kernels see them, and the pointers through which users' functions are called."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from quirk.compiled import plain_python
from quirk.errors import InputError
from quirk.forces import JointTorque
from quirk.forces.element import Wrenches
from quirk.forces.law import Law
from quirk.forces.value import Value
from quirk.pointers import address_of, pointer_to_compiled, pointer_to_python
from quirk.state import STATE_SIZE, Kinematics, State

from ..model import Model
from .layout import KINEMATICS_SIZE, WRENCH_SIZE, Slots
from .loads import INPUTS, PYTHON, Forces


class Applied:
    """The force table of a model, with all it needs to stay alive.

    Attributes
    ----------
    table : Forces
    stop : (1,) set when a function asks for the end of the run
    latest : what a function raised last, even if it returned since
    """

    def __init__(self, model: Model, slots: Slots) -> None:
        self.stop = np.zeros(1, dtype=np.int64)
        self.latest: BaseException | None = None
        self._troubles: dict[Callable[[float], None], BaseException] = {}
        self._slots = slots
        laws = [(element, rows, element.law()) for element, rows in model.forces]
        self._python = [(element, rows) for element, rows, law in laws if law is None]
        known = [(rows, law) for _, rows, law in laws if law is not None]
        count = len(known) + bool(self._python)
        table = Forces(
            kind=np.full(count, PYTHON),
            state=np.zeros(2 * count, dtype=np.int64),
            kinematics=np.zeros(2 * count, dtype=np.int64),
            point=np.zeros(6 * count),
            frame=np.zeros(18 * count),
            axis=np.zeros(count, dtype=np.int64),
            constants=np.zeros(3 * count),
            address=np.zeros(count, dtype=np.int64),
            inputs=np.zeros(INPUTS * count),
            outputs=np.zeros(3 * count),
            reference=np.zeros(3 * count),
            whole_inputs=np.zeros(slots.lanes * STATE_SIZE if self._python else 0),
            whole_outputs=np.zeros(slots.lanes * WRENCH_SIZE if self._python else 0),
        )
        self.table = table
        # Joints whose angles functions get: the element, the joint and the axis.
        self._angles = [
            (e, model.joints.number[element.joint.name], element.joint.rotation_axis)
            for e, element in enumerate(element for element, _, law in laws if law is not None)
            if isinstance(element, JointTorque) and element.torque.function is not None
        ]
        self._pointers: list[Any] = []
        for e, (rows, law) in enumerate(known):
            i, j = rows if len(rows) == 2 else (slots.bodies, rows[0])
            table.kind[e] = law.kind
            table.axis[e] = law.axis
            table.state[2 * e : 2 * e + 2] = [slots.offset(b, STATE_SIZE) for b in (i, j)]
            table.kinematics[2 * e : 2 * e + 2] = [slots.offset(b, KINEMATICS_SIZE) for b in (i, j)]
            table.point[6 * e : 6 * e + 6] = [*law.frame_i.origin, *law.frame_j.origin]
            table.frame[18 * e : 18 * e + 18] = [*law.frame_i.matrix.T.ravel(), *law.frame_j.matrix.T.ravel()]
            table.constants[3 * e : 3 * e + 3] = law.constants
            if law.function is not None:
                self._keep(e, self._pointer(e, law))
        if self._python:
            self._keep(len(known), pointer_to_python(self.watched(self._all_python)))

    @property
    def trouble(self) -> BaseException | None:
        """What a user's function raised when it was last called, None if all returned."""
        return next(iter(self._troubles.values()), None)

    def refer(self, t: float, angles: np.ndarray, rates: np.ndarray | None = None) -> None:
        """Let the angles (K, 3) of joints go on from these, at time t, with rates (K, 3) or at rest."""
        for e, k, axis in self._angles:
            rate = 0.0 if rates is None else rates[k, axis]
            self.table.reference[3 * e : 3 * e + 3] = angles[k, axis], rate, t

    def _keep(self, e: int, pointer: Any) -> None:
        self._pointers.append(pointer)
        self.table.address[e] = address_of(pointer)

    def _pointer(self, e: int, law: Law) -> Any:
        value: Value = law.function
        if is_compiled(value.function) and not plain_python():
            return compiled_pointer(value.function, law.of_joint)
        inputs = self.table.inputs[INPUTS * e : INPUTS * (e + 1)]
        outputs = self.table.outputs[3 * e : 3 * (e + 1)]

        def call_joint(t: float) -> None:
            outputs[0] = value(t, float(inputs[0]), float(inputs[1]))

        def call_body(t: float) -> None:
            # Copies, so that a function may keep what it gets.
            outputs[:] = value(t, *(part.copy() for part in np.split(inputs, (3, 7, 10))))

        return pointer_to_python(self.watched(call_joint if law.of_joint else call_body))

    def watched(self, function: Callable[[float], Any]) -> Callable[[float], None]:
        """Catch what must not pass through compiled code; a load that fails is not a number."""

        def watched(t: float) -> None:
            try:
                # What returns False was not asked, and its last trouble stands.
                if function(t) is not False:
                    self._troubles.pop(function, None)
            except BaseException as error:
                self._troubles[function] = self.latest = error
                if not isinstance(error, InputError):
                    self.stop[0] = 1

        return watched

    def _all_python(self, t: float) -> None:
        state = State.unpack(self._slots.state_from_lanes(self.table.whole_inputs))
        loads = Wrenches(self._slots.bodies)
        kin = Kinematics.of(state)
        for element, rows in self._python:
            element.add_load(t, kin, rows, loads)
        self.table.whole_outputs[:] = self._slots.to_lanes(np.concatenate([loads.force, loads.torque], axis=1)[:-1])


def is_compiled(function: Any) -> bool:
    """Whether a function is one that numba compiles."""
    return hasattr(function, "py_func") and hasattr(function, "get_call_template")


@functools.cache
def compiled_pointer(function: Any, of_joint: bool) -> Any:
    """Return the C function of a user's numba function, compiled once for all runs."""
    return pointer_to_compiled(_of_joint(function) if of_joint else _of_body(function))


def _of_body(function: Any) -> Callable[..., None]:
    def call(t, inputs, outputs):  # type: ignore[no-untyped-def]
        body = numba.carray(inputs, INPUTS)
        load = function(t, body[0:3], body[3:7], body[7:10], body[10:13])
        for c in range(3):
            outputs[c] = load[c]

    return call


def _of_joint(function: Any) -> Callable[..., None]:
    def call(t, inputs, outputs):  # type: ignore[no-untyped-def]
        outputs[0] = function(t, inputs[0], inputs[1])

    return call
