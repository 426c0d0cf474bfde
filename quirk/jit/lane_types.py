"""numba and LLVM types of numbers and vectors in traced functions (see `quirk.jit.tracing`).

Lanes are the eight entries of a vector register. A halved array is a view of an array in which only the first four of
every eight elements are accessed.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import models, register_model

# Number of lanes of a vector.
WIDTH = 8


class LanesType(types.Type):
    """numba type of a vector of eight doubles, or of the first four of eight."""

    def __init__(self, width: int) -> None:
        self.width, self.vector = width, ir.VectorType(ir.DoubleType(), width)
        super().__init__(name=f"Lanes{width}")


class HalvedType(types.Array):
    """numba type of a halved array: a flat array in which only the first four of every eight elements are accessed."""

    def __init__(self) -> None:
        super().__init__(types.float64, 1, "C", name="Halved")


LANES, HALF, HALVED = LanesType(WIDTH), LanesType(WIDTH // 2), HalvedType()
VECTOR, DOUBLE, INT, INDEX = LANES.vector, ir.DoubleType(), ir.IntType(32), ir.IntType(64)


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, fe_type.vector)


register_model(HalvedType)(models.ArrayModel)
