"""Force elements made ready to be called by kernels: laws in machine code, users' functions in that or in Python."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from quirk.autodiff.jet import BranchingError
from quirk.dynamics.model.applied_loads import Exerted, fill, read, undefined
from quirk.dynamics.model.layout import Slots
from quirk.dynamics.model.model import Model
from quirk.errors import InputError
from quirk.forces import ForceElement
from quirk.forces.calls import ADDRESS as FUNCTION_ADDRESS
from quirk.forces.calls import ARGUMENTS, CHECKED
from quirk.forces.law import REFERENCE, LawLayout
from quirk.forces.value import FAILED, Value
from quirk.jit.compilation import plain_python
from quirk.jit.function_pointers import address_of, pointer_to_python
from quirk.jit.keyboard_interrupt import DeferredInterrupt
from quirk.jit.llvm_functions import Native

from ..kernels.applied import ADDRESS, ELEMENT_SIZE, INPUT, OUTPUT
from ..symbolic.tables_of_forces import flat_forces, motions_of
from .callbacks import compiled_pointer, is_compiled
from .law_code import Made, law_code
from .motion_functions import place_functions

# Of so many laws with functions of their own machine code is written; in further ones they are called.
MOST_WRITTEN = 100


class Applied:
    """The force elements of a model, with the addresses at which kernels call their laws.

    The addresses are valid as long as this object lives.

    Parameters
    ----------
    row_lane : (m,) place of the multiplier of each row among those of all nodes
    refuse : tells of a user's function whether it is to run in Python even if it could be compiled

    Attributes
    ----------
    table : Forces
    layouts : the layout of each law's inputs and outputs
    stop : (1,) set when compiled code is to return soon
    latest : the exception that a user's function raised last, even if it has returned since
    in_python : by title of each function that runs in Python: the number of its calls and the time they took, s
    called : the users' functions that run in Python
    """

    def __init__(
        self,
        model: Model,
        slots: Slots,
        row_lane: np.ndarray,
        refuse: Callable[[Any], bool] = lambda function: False,
    ) -> None:
        self._refuse = refuse
        self.called: list[Any] = []
        self._written: dict[Any, Made] = {}
        self.stop = np.zeros(1, dtype=np.int64)
        self.latest: BaseException | None = None
        self.in_python: dict[str, list[float]] = {}
        self._fatal: BaseException | None = None
        self._calls_python = False
        self._troubles: dict[Callable[[float], None], BaseException] = {}
        self._pointers: list[Any] = []
        self._elements = [element for element, _ in model.forces]
        self.layouts = [element.layout() for element in self._elements]
        self.table = flat_forces(model, slots, row_lane)
        # Angles that go on: the element, which of its angles, and where its reference is.
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
    def trouble(self) -> BaseException | None:
        """An exception that a user's function raised when it was last called; None if all returned."""
        return next(iter(self._troubles.values()), None)

    def undefined(self, t: float) -> InputError | None:
        """Return the error of the first law whose loads were not finite when last run, at time t; None if all were."""
        for e, (element, layout) in enumerate(zip(self._elements, self.layouts, strict=True)):
            found = undefined(element, layout, t, *self._parts(e, layout))
            if found is not None:
                return found
        return None

    def check(self, t: float) -> None:
        """Raise the error of a user's function or law that failed when it was last called, at time t.

        For single states, at which none may fail; in a run a failure may only mean that a step was too long.
        """
        trouble = self.trouble or self.undefined(t)
        if trouble is not None:
            raise trouble

    def exerted(self, outputs: np.ndarray) -> dict[str, Exerted]:
        """Return the loads and energies of each element, by its name, from all outputs at some times (nt, outputs)."""
        found, first = {}, 0
        for element, layout in zip(self._elements, self.layouts, strict=True):
            found[element.name] = read(layout, outputs[:, first : first + layout.outputs])
            first += layout.outputs
        return found

    def refer(self, t: float, angles: np.ndarray, rates: np.ndarray | None = None) -> None:
        """Set where angles in laws are continued from: angles (K, 3), rad, of joints at time t, and rates, rad/s.

        A law then gets the angle, among those that differ by whole turns, that is nearest to the one continued from
        there. Rates are zero unless given.
        """
        if not self._turning:
            return
        by_name = {name: angles[k] for name, k in self._joints.number.items()}
        speeds = {name: np.zeros(3) if rates is None else rates[k] for name, k in self._joints.number.items()}
        for element, k, place in self._turning:
            reference = element.turns_near(by_name)[k], element.turn_rates(speeds)[k], t
            self.table.inputs[place : place + REFERENCE] = reference

    def references(self, times: np.ndarray, angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return which inputs of laws say where angles are continued from, (p,), and what they are at times (nt, p).

        `angles` (nt, K, 3), rad, are those of joints at the times.
        """
        places = np.array([place + k for *_, place in self._turning for k in range(REFERENCE)], dtype=np.int64)
        found = np.zeros((len(times), len(places)))
        for row, t in enumerate(times if len(places) else ()):
            self.refer(float(t), angles[row])
            found[row] = self.table.inputs[places]
        return places, found

    @contextmanager
    def calling(self) -> Iterator[None]:
        """A context for compiled code that calls users' functions.

        At its end the exception that stopped the code is raised, if any: KeyboardInterrupt if Ctrl-C came, and of a
        user's function any but an InputError.
        """
        if not self._calls_python:
            yield
            return
        self._fatal = None
        with DeferredInterrupt(self.stop):
            yield
        if self._fatal is not None:
            raise self._fatal

    def watched(self, function: Callable[[float], Any], who: str = "") -> Callable[[float], None]:
        """Return a function that calls the given one and catches all exceptions, which compiled code cannot pass on.

        An InputError is noted in `trouble`, until a later call of the same function succeeds. Any other exception stops
        the compiled code and is raised at the end of `calling`. The outputs of a call that failed stay not a number.

        Parameters
        ----------
        function : gets the time. It returns False if it was skipped because its inputs were not finite, as where a step
            of a run goes astray: a trouble noted before then stays. Any other return value is ignored.
        who : title of the function, under which its calls are counted; "" to count none
        """
        self._calls_python = True
        function = self._timed(who, function) if who else function

        def watched(t: float) -> None:
            if self._fatal is not None:  # the end has come, and nobody is asked any more
                return
            try:
                if function(t) is not False:
                    self._troubles.pop(function, None)
            except BaseException as error:
                self._troubles[function] = self.latest = error
                if not isinstance(error, InputError):
                    self._fatal = error
                    self.stop[0] = 1

        return watched

    def _keep(self, pointer: Any) -> int:
        self._pointers.append(pointer)
        return pointer.address if isinstance(pointer, Native) else address_of(pointer)

    def _parts(self, e: int, layout: LawLayout) -> tuple[np.ndarray, np.ndarray]:
        """Inputs and outputs of an element."""
        first_in, first_out = (self.table.entries[ELEMENT_SIZE * e + which] for which in (INPUT, OUTPUT))
        return (
            self.table.inputs[first_in : first_in + layout.inputs],
            self.table.outputs[first_out : first_out + layout.outputs],
        )

    def _law(self, e: int, element: ForceElement, layout: LawLayout) -> int:
        """Return the address of machine code for the law of element e, or of a callback that runs it in Python."""
        if not plain_python() and not any(self._refuse(source) for source in element.sources):
            try:
                made, in_python = self._made(element, layout)
                self.called += [v.function for v, out in zip(element.functions, in_python, strict=True) if out]
                return self._keep(made)
            except BranchingError:
                pass  # its way depends on numbers, which machine code for all numbers cannot follow
            except Exception:
                if element.built_in:
                    raise
                # What is wrong with the law of a user is said where it is run on numbers.
        self.called += [value.function for value in element.functions]
        self.called += element.sources
        inputs, outputs = self._parts(e, layout)
        moving = inputs[layout.first_motion :]

        def law(t: float) -> bool:
            if not np.isfinite(moving).all():  # a step went astray; it will be taken again
                return False
            fill(element, layout, t, inputs, outputs)
            return True

        return self._keep(pointer_to_python(self.watched(law, f"{element}")))

    def _made(self, element: ForceElement, layout: LawLayout) -> Made:
        """Return machine code for the law of an element, and which of its functions that code calls in Python.

        Functions are part of the machine code, except those that are refused or that cannot be compiled.
        """
        refused = [self._refuse(value.function) for value in element.functions]
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
                # What a function gave does not fit what follows; called, it is checked.
                self._written[key] = law_code(element, layout, [True for _ in refused])
        return self._written[key]

    def _place_functions(self, e: int, element: ForceElement, layout: LawLayout) -> None:
        """Write the addresses of an element's functions into the inputs of its law, from which it calls them."""
        inputs, outputs = self._parts(e, layout)
        addresses = inputs.view(np.int64)
        first_in, first_out = layout.first_function, layout.function_output
        for value in element.functions:
            arguments = inputs[first_in + ARGUMENTS : first_in + ARGUMENTS + value.count]
            returned = outputs[first_out : first_out + value.returns]
            called = self.watched(_call(value, arguments, returned), f"{value.owner}, {value.argument}")
            checked = self._keep(pointer_to_python(called))
            addresses[first_in + FUNCTION_ADDRESS] = addresses[first_in + CHECKED] = checked
            if is_compiled(value.function) and not plain_python():
                pointer = compiled_pointer(value.function, value.sizes)
                if pointer is not None:
                    addresses[first_in + FUNCTION_ADDRESS] = self._keep(pointer)
            first_in, first_out = first_in + value.room, first_out + value.returns

    def _timed(self, who: str, function: Callable[[float], Any]) -> Callable[[float], Any]:
        """Count the calls of a function and the time that they take."""
        spent = self.in_python.setdefault(who, [0, 0.0])

        def timed(t: float) -> Any:
            began = time.perf_counter()
            try:
                return function(t)
            finally:
                spent[0] += 1
                spent[1] += time.perf_counter() - began

        return timed


def _call(value: Value, arguments: np.ndarray, returned: np.ndarray) -> Callable[[float], None]:
    """Return a function of time that calls a user's function with `arguments` and writes its checked value."""
    size = max(1, int(np.prod(value.shape, dtype=int)))

    def call(t: float) -> None:
        returned[:size] = value(t, *value.arguments(arguments))
        returned[FAILED] = 0.0

    return call
