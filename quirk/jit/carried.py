"""Use of machine code distributed in a wheel, for all processors with certain instruction sets.

A wheel built with ``-C machine-code=true`` contains the machine code of all kernels beside their sources, and a record
of the versions with which it was compiled. If the record matches this installation, the whole process generates code
for the same instruction sets, because functions compiled for other instruction sets might expect vectors in other
registers. If NUMBA_CPU_NAME or NUMBA_CPU_FEATURES is set, for example to the name of this processor, the machine code
of the wheel is not used, and kernels are compiled for the given processor.
"""

from __future__ import annotations

import json
import platform
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite
import llvmlite.binding as llvm
import numba

RECORD = Path(__file__).with_name("machine_code.json")


class Target(NamedTuple):
    """Processors that can run the machine code of a wheel.

    Attributes
    ----------
    name, features : processor and instruction sets for which the code was compiled, in the notation of LLVM
    needed : instruction sets that a processor must have to run the code, in the notation of LLVM
    """

    name: str
    features: str
    needed: tuple[str, ...]


# Targets of distributed machine code, by `platform.machine()`.
TARGETS = {
    "x86_64": Target("x86-64-v3", "", ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "sse4.2")),
    "aarch64": Target("generic", "", ("neon",)),
}


def target_of(record: Mapping[str, Any], host: Mapping[str, bool]) -> Target | None:
    """Return the target of the machine code in the wheel if this process can use the code, otherwise None.

    `record` contains the machine and the versions of Python, numba and llvmlite for which the code was compiled. `host`
    contains whether this processor has an instruction set, by name.
    """
    target = TARGETS.get(record["machine"])
    here = {
        "machine": platform.machine(), "python": sysconfig.get_python_version(), "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
    }  # fmt: skip
    if target is None or record != here or not all(host.get(name, False) for name in target.needed):
        return None
    return target


def use_carried() -> None:
    """Compile for the target of the machine code in the wheel, if this process can use that machine code."""
    config: Any = numba.config
    if config.CPU_NAME is not None or config.CPU_FEATURES is not None or not RECORD.is_file():
        return
    target = target_of(json.loads(RECORD.read_text(encoding="utf-8")), llvm.get_host_cpu_features())
    if target is not None:
        config.CPU_NAME, config.CPU_FEATURES = target.name, target.features
