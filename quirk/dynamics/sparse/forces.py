"""Force elements as kernels see them, and the pointers through which users' functions are called."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from quirk.compiled import plain_python
from quirk.errors import InputError
from quirk.forces import JointTorque
from quirk.forces.element import Wrenches
from quirk.forces.law import Law
from quirk.forces.value import Value
from quirk.interruption import Held
from quirk.pointers import address_of, pointer_to_python
from quirk.state import STATE_SIZE, Kinematics, State

from ..model import Model
from .functions import compiled_pointer, is_compiled
from .layout import KINEMATICS_SIZE, WRENCH_SIZE, Slots
from .loads import FAILED, INPUT_ROOM, INPUTS, OUTPUTS, PYTHON, Forces


class Applied:
    """The force table of a model, with all it needs to stay alive.

    Attributes
    ----------
    table : Forces
    stop : (1,) set when compiled code is to return soon
    latest : what a function raised last, even if it returned since
    """

    def __init__(self, model: Model, slots: Slots) -> None:
        self.stop = np.zeros(1, dtype=np.int64)
        self.latest: BaseException | None = None
        self._fatal: BaseException | None = None
        self._calls_python = False
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
            checked=np.zeros(count, dtype=np.int64),
            inputs=np.zeros(INPUT_ROOM * count),
            outputs=np.zeros(OUTPUTS * count),
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
                self._point(e, law)
        if self._python:
            table.address[-1] = self._keep(pointer_to_python(self.watched(self._all_python)))

    @property
    def trouble(self) -> BaseException | None:
        """What a user's function raised when it was last called, None if all returned."""
        return next(iter(self._troubles.values()), None)

    def check(self) -> None:
        """Raise what a user's function raised when it was last called: at a given state none may fail."""
        if self.trouble is not None:
            raise self.trouble

    def refer(self, t: float, angles: np.ndarray, rates: np.ndarray | None = None) -> None:
        """Let the angles (K, 3) of joints go on from these, at time t, with rates (K, 3) or at rest."""
        for e, k, axis in self._angles:
            rate = 0.0 if rates is None else rates[k, axis]
            self.table.reference[3 * e : 3 * e + 3] = angles[k, axis], rate, t

    @contextmanager
    def calling(self) -> Iterator[None]:
        """A block in which compiled code calls functions of a user.

        At its end what one of them raised to end it all is raised, or else KeyboardInterrupt if Ctrl-C came.
        """
        if not self._calls_python:
            yield
            return
        self._fatal = None
        with Held(self.stop):
            yield
        if self._fatal is not None:
            raise self._fatal

    def _keep(self, pointer: Any) -> int:
        self._pointers.append(pointer)
        return address_of(pointer)

    def _point(self, e: int, law: Law) -> None:
        """Let element e call its function."""
        value: Value = law.function
        address = self._keep(pointer_to_python(self.watched(self._checked(e, law))))
        self.table.address[e] = address
        if is_compiled(value.function) and not plain_python():
            pointer = compiled_pointer(value.function, law.of_joint)
            if pointer is not None:
                self.table.address[e], self.table.checked[e] = self._keep(pointer), address

    def _checked(self, e: int, law: Law) -> Callable[[float], None]:
        """Return what calls the function of element e from Python, with checks."""
        value: Value = law.function
        inputs = self.table.inputs[INPUT_ROOM * e : INPUT_ROOM * e + INPUTS]
        outputs = self.table.outputs[OUTPUTS * e : OUTPUTS * (e + 1)]

        def call_joint(t: float) -> None:
            outputs[0] = value(t, float(inputs[0]), float(inputs[1]))
            outputs[FAILED] = 0.0

        def call_body(t: float) -> None:
            # Copies, so that a function may keep what it gets.
            outputs[:3] = value(t, *(part.copy() for part in np.split(inputs, (3, 7, 10))))
            outputs[FAILED] = 0.0

        return call_joint if law.of_joint else call_body

    def watched(self, function: Callable[[float], Any]) -> Callable[[float], None]:
        """Catch what must not pass through compiled code; a load that fails is not a number."""
        self._calls_python = True

        def watched(t: float) -> None:
            if self._fatal is not None:  # the end has come, and nobody is asked any more
                return
            try:
                # What returns False was not asked, and its last trouble stands.
                if function(t) is not False:
                    self._troubles.pop(function, None)
            except BaseException as error:
                self._troubles[function] = self.latest = error
                if not isinstance(error, InputError):
                    self._fatal = error
                    self.stop[0] = 1

        return watched

    def _all_python(self, t: float) -> bool:
        if not np.isfinite(self.table.whole_inputs).all():  # a step went astray; it will be taken again
            return False
        state = State.unpack(self._slots.state_from_lanes(self.table.whole_inputs))
        loads = Wrenches(self._slots.bodies)
        kin = Kinematics.of(state)
        for element, rows in self._python:
            element.add_load(t, kin, rows, loads)
        self.table.whole_outputs[:] = self._slots.to_lanes(np.concatenate([loads.force, loads.torque], axis=1)[:-1])
        return True
