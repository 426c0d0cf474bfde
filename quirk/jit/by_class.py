"""Functions that select a kernel by the class of one of their arguments, when the calling kernel is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types
from numba.core.imputils import lower_constant
from numba.extending import models, register_model, typeof_impl

Kernel = Callable[..., Any]


class ByClass:
    """Function that calls a different kernel for each record class of one of its arguments.

    Kernels call the function like a kernel. The kernel that it calls is selected when the calling kernel is compiled.

    Parameters
    ----------
    position : index of the argument whose class selects the kernel
    default : kernel for classes without a registered kernel, or None
    """

    def __init__(self, position: int, default: Kernel | None = None) -> None:
        self._position, self._default = position, default
        self._kernels: dict[type, Kernel] = {}

    def add(self, of: type, kernel: Kernel) -> None:
        """Register `kernel` for arguments that are records of the class `of`."""
        self._kernels[of] = kernel

    def kernel_for(self, of: type) -> Any:
        """Return the kernel registered for a record class, or the default kernel."""
        return self._kernels.get(of, self._default)

    def of_types(self, arguments: tuple[Any, ...]) -> Any:
        """Return the kernel to call for arguments of the numba types `arguments`."""
        return self.kernel_for(arguments[self._position].record_class)

    def __call__(self, *arguments: Any) -> Any:
        """Call the kernel for the class of the selecting argument as plain Python."""
        return self.kernel_for(type(arguments[self._position]))(*arguments)


class ByClassType(types.Callable, types.Opaque):
    """numba type of one `ByClass` function."""

    def __init__(self, function: ByClass) -> None:
        self.function = function
        super().__init__(f"ByClass({id(function)})")

    @property
    def key(self) -> Any:
        """Key by which numba compares types: the function."""
        return self.function

    def get_call_type(self, context: Any, arguments: Any, named: Any) -> Any:
        """Return the signature of the kernel that is called for arguments of the numba types `arguments`."""
        return types.Dispatcher(self.function.of_types(arguments)).get_call_type(context, arguments, named)

    def get_call_signatures(self) -> tuple[list[Any], bool]:
        """Return no signatures, because each call determines its kernel and the signature of this kernel."""
        return [], True

    def get_impl_key(self, signature: Any) -> Any:
        """Return the key by which numba finds the compiled kernel for the argument types in `signature`."""
        return types.Dispatcher(self.function.of_types(signature.args)).get_impl_key(signature)


register_model(ByClassType)(models.OpaqueModel)


@typeof_impl.register(ByClass)
def _typed(value: ByClass, context: Any) -> ByClassType:
    return ByClassType(value)


@lower_constant(ByClassType)
def _constant(context: Any, builder: Any, kind: ByClassType, value: ByClass) -> Any:
    """Emit a placeholder for a `ByClass` object, which machine code does not use after its kernel is selected."""
    return context.get_dummy_value()
