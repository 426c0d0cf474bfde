"""The processor for which machine code is generated, and LLVM's optimization passes for it.

The settings agree with numba's, so that single functions and numba's kernels are compiled for the same processor.
"""

from __future__ import annotations

import functools
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numba
from llvmlite.binding.ffi import ObjectRef
from llvmlite.binding.newpassmanagers import NewPassManager

# Optimization level of LLVM; numba uses the same for kernels.
OPTIMIZATION_LEVEL = 3


@functools.cache
def processor() -> tuple[str, str, str]:
    """Return the platform, the name of the processor and its instruction sets, in the notation of LLVM."""
    config = numba.config
    name = getattr(config, "CPU_NAME", None) or llvm.get_host_cpu_name()
    features = getattr(config, "CPU_FEATURES", None)
    if features is None:
        host = llvm.get_host_cpu_features()
        if not getattr(config, "ENABLE_AVX", True):
            host.update({feature: False for feature in host if feature.startswith("avx")})
        features = host.flatten()
    return llvm.get_process_triple(), name, features


def code_identity() -> tuple[object, ...]:
    """Return a key with all settings that determine the machine code for given LLVM code."""
    return (*processor(), OPTIMIZATION_LEVEL, llvmlite.__version__)


@functools.cache
def _machine() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    triple, name, features = processor()
    return llvm.Target.from_triple(triple).create_target_machine(
        cpu=name,
        features=features,
        opt=OPTIMIZATION_LEVEL,
        reloc="static" if triple.startswith(("x86", "i686")) else "default",
        codemodel="jitdefault",
        jit=True,
    )


def compiled_image(text: str) -> tuple[bytes, list[str]]:
    """Compile LLVM code, given as a string; return its machine code and the names of the functions that it calls."""
    machine = _machine()
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = llvm.get_process_triple(), str(machine.target_data)
    options = llvm.create_pipeline_tuning_options(OPTIMIZATION_LEVEL)
    options.loop_vectorization, options.slp_vectorization = True, False
    builder = llvm.create_pass_builder(machine, options)
    passes = builder.getModulePassManager()
    passes.run(module, builder)
    if type(passes)._dispose is ObjectRef._dispose:  # llvmlite 0.46 then frees nothing, which leaves 60 KB behind
        NewPassManager._dispose(passes)
    outside = [function.name for function in module.functions if function.is_declaration]
    return machine.emit_object(module), outside
