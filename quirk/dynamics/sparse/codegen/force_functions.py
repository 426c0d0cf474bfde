"""Force laws (load functions of force elements) that compiled code calls by address.

The force law of an element computes its load from time, motion and internal variables. Laws are compiled to machine
code; user functions are compiled too, or called in Python.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from quirk.autodiff.condition import BranchingError
from quirk.dynamics.model.applied_loads import Exerted, fill, read, undefined
from quirk.dynamics.model.layout import Slots
from quirk.dynamics.model.model import Model
from quirk.errors import InputError
from quirk.forces import ForceElement
from quirk.forces.calls import ADDRESS as FUNCTION_ADDRESS
from quirk.forces.calls import ARGUMENTS, CHECKED
from quirk.forces.law_layout import REFERENCE, LawLayout
from quirk.forces.value import FAILED, Value
from quirk.jit.compilation import plain_python
from quirk.jit.function_pointers import address_of, pointer_to_python
from quirk.jit.keyboard_interrupt import DeferredInterrupt
from quirk.jit.llvm_functions import Native
from quirk.jit.record import copies, restore

from ..kernels.applied import ADDRESS, COUPLED, ELEMENT_SIZE, INPUT, OUTPUT
from ..symbolic.tables_of_forces import flat_forces, motions_of
from .callbacks import compiled_pointer, is_compiled
from .law_code import Made, law_code
from .motion_functions import place_functions

# Maximum number of different laws whose machine code inlines user functions. Machine code of further laws calls the
# user functions instead.
MOST_WRITTEN = 100


class Applied:
    """Force elements of a model, with the addresses of the compiled functions of their laws.

    The addresses are valid as long as this object exists.

    Parameters
    ----------
    model : the model of the system
    slots : positions of the bodies in arrays of compiled code
    row_lane : (m,) position of the multiplier of each of m constraint rows in the array of multipliers
    refuse : predicate for user functions that must run in Python even if they could be compiled
    unit_loads : further laws, with the indices of their bodies, whose loads are evaluated but do not act

    Attributes
    ----------
    table : force elements as arrays for compiled code
    layouts : layout of the inputs and outputs of each law
    stop : (1,) flag; compiled code returns early if it is 1
    latest : most recent exception of a user function, not reset by later successful calls
    in_python : for each function that runs in Python, by title, the number of calls and their total time, s
    called : user functions that run in Python or are called by address
    laws_in_python : force elements whose laws run in Python
    """

    def __init__(
        self,
        model: Model,
        slots: Slots,
        row_lane: np.ndarray,
        refuse: Callable[[Any], bool] = lambda function: False,
        unit_loads: Sequence[tuple[ForceElement, tuple[int, ...]]] = (),
    ) -> None:
        self._refuse = refuse
        self.called: list[Any] = []
        self.laws_in_python: list[ForceElement] = []
        self._written: dict[Any, Made] = {}
        self.stop = np.zeros(1, dtype=np.int64)
        self.latest: BaseException | None = None
        self._failed_at = -np.inf
        self.in_python: dict[str, list[float]] = {}
        self._fatal: BaseException | None = None
        self._calls_python = False
        self._troubles: dict[Callable[[float], None], BaseException] = {}
        self._pointers: list[Any] = []
        self._addresses: list[int] = []
        self._elements = [element for element, _ in (*model.forces, *unit_loads)]
        self._acting = len(model.forces)
        self.layouts = [element.layout() for element in self._elements]
        self.table = flat_forces(model, slots, row_lane, unit_loads)
        # For each angle with counted turns: index of the element, of the angle, and of its reference.
        self._turning = [
            (element, k, int(self.table.entries[ELEMENT_SIZE * e + INPUT]) + layout.parameters + REFERENCE * k)
            for e, (element, layout) in enumerate(zip(self._elements, self.layouts, strict=True))
            for k in range(layout.turning)
        ]
        self._joints = model.joints
        for e, (element, layout) in enumerate(zip(self._elements, self.layouts, strict=True)):
            self._place_functions(e, element, layout)
            self.table.entries[ELEMENT_SIZE * e + ADDRESS] = self._law(e, element, layout)
        kept, called = place_functions(self.table.motions, motions_of(model), 1, self.watched, refuse)
        self._pointers += kept
        self.called += called

    @property
    def calls_python(self) -> bool:
        """Whether compiled code may call functions in Python."""
        return self._calls_python

    @property
    def trouble(self) -> BaseException | None:
        """Exception of a user function whose last call failed; None if the last calls of all functions succeeded."""
        return next(iter(self._troubles.values()), None)

    def undefined(self, t: float) -> InputError | None:
        """Return an InputError for the first law whose last evaluation gave non-finite loads; None if there is none.

        `t` is the time of the last evaluation, s.
        """
        for e, (element, layout) in enumerate(zip(self._elements, self.layouts, strict=True)):
            found = undefined(element, layout, t, *self._parts(e, layout))
            if found is not None:
                return found
        return None

    def failed_since(self, t: float) -> InputError | None:
        """Return the latest InputError of a user function if it occurred at time t (s) or later, otherwise None.

        The error is returned even if the function has succeeded since at other times.
        """
        return self.latest if isinstance(self.latest, InputError) and self._failed_at >= t else None

    def changed_since(self, outputs: np.ndarray) -> ForceElement | None:
        """Return the first force element whose outputs differ from `outputs`, or None if there is none.

        `outputs` must be a copy of all outputs of an evaluation at the same time and state. A difference shows that the
        load of the element is not a function of time and state only. Friction in proportion to constraint loads is not
        compared: its magnitude has the round-off of these loads.
        """
        for e, (element, layout) in enumerate(zip(self._elements, self.layouts, strict=True)):
            if self.table.entries[ELEMENT_SIZE * e + COUPLED] != 0:
                continue
            first = int(self.table.entries[ELEMENT_SIZE * e + OUTPUT])
            if not np.array_equal(self._parts(e, layout)[1], outputs[first : first + layout.outputs], equal_nan=True):
                return element
        return None

    def check(self, t: float) -> None:
        """Raise the exception of a user function or force law that failed in its last evaluation, at time t (s).

        The method is not used in runs, where a failure within a step may only mean that the step was too long.
        """
        trouble = self.trouble or self.undefined(t)
        if trouble is not None:
            raise trouble

    def exerted(self, outputs: np.ndarray) -> dict[str, Exerted]:
        """Return the loads, energies and coordinates of each force element, by its name.

        `outputs` (nt, outputs) are the outputs of all laws at nt times.
        """
        found, first, acting = {}, 0, slice(self._acting)
        for element, layout in zip(self._elements[acting], self.layouts[acting], strict=True):
            found[element.name] = read(layout, outputs[:, first : first + layout.outputs])
            first += layout.outputs
        return found

    def refer(self, t: float, angles: np.ndarray, rates: np.ndarray | None = None) -> None:
        """Set the reference angles for counting full turns in force laws.

        `angles` (K, 3) are the angles of K joints at time t (s), rad, and `rates` their rates, rad/s, by default zero.
        Angles in a law are shifted by full turns to the values nearest to the reference, extrapolated with its rate.
        """
        if not self._turning:
            return
        by_name = {name: angles[k] for name, k in self._joints.number.items()}
        speeds = {name: np.zeros(3) if rates is None else rates[k] for name, k in self._joints.number.items()}
        for element, k, place in self._turning:
            reference = element.turns_near(by_name)[k], element.turn_rates(speeds)[k], t
            self.table.inputs[place : place + REFERENCE] = reference

    def references(self, times: np.ndarray, angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the indices (p,) of reference angles among the inputs of force laws, and their values (nt, p).

        Reference angles are used for counting full turns; each is stored with its rate and its time. `angles` (nt, K,
        3), rad, are the angles of K joints at the nt times.
        """
        places = np.array([place + k for *_, place in self._turning for k in range(REFERENCE)], dtype=np.int64)
        found = np.zeros((len(times), len(places)))
        for row, t in enumerate(times if len(places) else ()):
            self.refer(float(t), angles[row])
            found[row] = self.table.inputs[places]
        return places, found

    def snapshot(self) -> list[np.ndarray]:
        """Return copies of the inputs and outputs of all laws."""
        return copies([self.table.inputs, self.table.outputs])

    def recall(self, saved: Sequence[np.ndarray]) -> None:
        """Restore the inputs and outputs of all laws from a `snapshot` of this object, or of one for the same elements.

        Addresses of functions are not changed.
        """
        own = self.table.inputs[self._addresses]
        restore([self.table.inputs, self.table.outputs], saved)
        self.table.inputs[self._addresses] = own

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Context manager for calls of compiled code that may call user functions in Python.

        On exit the exception that stopped the code is raised, if any: KeyboardInterrupt after Ctrl-C, or any exception
        of a user function other than InputError.
        """
        if not self._calls_python:
            yield
            return
        self._fatal = None
        with DeferredInterrupt(self.stop):
            yield
        if self._fatal is not None:
            raise self._fatal

    def watched(self, function: Callable[[float], Any], title: str = "") -> Callable[[float], None]:
        """Return a wrapper of a function that catches all exceptions, as they must not pass through compiled code.

        An InputError is stored in `trouble`, until a later call of the same function succeeds. Any other exception
        stops the compiled code and is raised at the end of `calling`. The outputs of a failed call stay NaN.

        Parameters
        ----------
        function : function of the time, s
            The return value False means that the call was skipped, because the inputs were not finite, as in a step
            that will be rejected. A stored error is then kept. Any other return value is ignored.
        title : title of the function, under which its calls are counted; "" for no count
        """
        self._calls_python = True
        function = self._counted(title, function) if title else function

        def watched(t: float) -> None:
            if self._fatal is not None:  # stopped: no further calls are made
                return
            try:
                if function(t) is not False:
                    self._troubles.pop(function, None)
            except BaseException as error:
                self._troubles[function] = self.latest = error
                self._failed_at = t
                if not isinstance(error, InputError):
                    self._fatal = error
                    self.stop[0] = 1

        return watched

    def _keep(self, pointer: Any) -> int:
        self._pointers.append(pointer)
        return pointer.address if isinstance(pointer, Native) else address_of(pointer)

    def _parts(self, e: int, layout: LawLayout) -> tuple[np.ndarray, np.ndarray]:
        """Return views of the inputs and outputs of the law of force element e."""
        first_in, first_out = (self.table.entries[ELEMENT_SIZE * e + which] for which in (INPUT, OUTPUT))
        return (
            self.table.inputs[first_in : first_in + layout.inputs],
            self.table.outputs[first_out : first_out + layout.outputs],
        )

    def _law(self, e: int, element: ForceElement, layout: LawLayout) -> int:
        """Return the address of machine code for the law of force element e, or of a callback to Python."""
        if not plain_python() and not any(self._refuse(source) for source in element.sources):
            try:
                made, in_python = self._machine_code(element, layout)
                self.called += [v.source for v, out in zip(element.functions, in_python, strict=True) if out]
                return self._keep(made)
            except BranchingError:
                pass  # the law branches on values, which machine code does not support
            except Exception:
                if element.built_in:
                    raise
                # Errors of a user's law are reported when it is evaluated in Python.
        self.called += [value.source for value in element.functions]
        self.called += element.sources
        self.laws_in_python.append(element)
        inputs, outputs = self._parts(e, layout)
        moving = inputs[layout.first_motion :]

        def law(t: float) -> bool:
            if not np.isfinite(moving).all():  # non-finite state in a step that will be rejected
                return False
            fill(element, layout, t, inputs, outputs)
            return True

        return self._keep(pointer_to_python(self.watched(law, f"{element}")))

    def _machine_code(self, element: ForceElement, layout: LawLayout) -> Made:
        """Return machine code for a force law, and for each of its user functions whether it runs in Python.

        User functions are inlined in the machine code, except those that are refused or cannot be compiled.
        """
        refused = [self._refuse(value.source) for value in element.functions]
        if len(self._written) >= MOST_WRITTEN:
            refused = [True for _ in refused]
        key = (*element.structure, layout, *refused, *(id(value.function) for value in element.functions))
        if key not in self._written:
            try:
                self._written[key] = law_code(element, layout, refused)
            except BranchingError:
                raise
            except Exception:
                if not refused or all(refused):
                    raise
                # A returned value has the wrong shape; the function is called instead, with a check of its value.
                self._written[key] = law_code(element, layout, [True for _ in refused])
        return self._written[key]

    def _place_functions(self, e: int, element: ForceElement, layout: LawLayout) -> None:
        """Write the addresses of the user functions of force element e into the inputs of its law."""
        inputs, outputs = self._parts(e, layout)
        addresses = inputs.view(np.int64)
        first_in, first_out = layout.first_function, layout.function_output
        for value in element.functions:
            arguments = inputs[first_in + ARGUMENTS : first_in + ARGUMENTS + value.count]
            returned = outputs[first_out : first_out + value.returns]
            called = self.watched(_call(value, arguments, returned), f"{value.owner}, {value.argument}")
            checked = self._keep(pointer_to_python(called))
            addresses[first_in + FUNCTION_ADDRESS] = addresses[first_in + CHECKED] = checked
            start = int(self.table.entries[ELEMENT_SIZE * e + INPUT]) + first_in
            self._addresses += [start + FUNCTION_ADDRESS, start + CHECKED]
            if is_compiled(value.function) and not plain_python():
                pointer = compiled_pointer(value.function, value.sizes)
                if pointer is not None:
                    addresses[first_in + FUNCTION_ADDRESS] = self._keep(pointer)
            first_in, first_out = first_in + value.entries, first_out + value.returns

    def _counted(self, title: str, function: Callable[[float], Any]) -> Callable[[float], Any]:
        """Return a wrapper of `function` that adds its calls and their time to the statistics under `title`."""
        spent = self.in_python.setdefault(title, [0, 0.0])

        def timed(t: float) -> Any:
            began = time.perf_counter()
            try:
                return function(t)
            finally:
                spent[0] += 1
                spent[1] += time.perf_counter() - began

        return timed


def _call(value: Value, arguments: np.ndarray, returned: np.ndarray) -> Callable[[float], None]:
    """Return a function of time that calls a user function with stored arguments, checks its result and stores it.

    The arguments of the user function are read from `arguments`, and its result is written to `returned`.
    """
    size = max(1, int(np.prod(value.shape, dtype=int)))

    def call(t: float) -> None:
        returned[:size] = value(t, *value.arguments(arguments))
        returned[FAILED] = 0.0

    return call
