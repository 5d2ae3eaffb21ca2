"""The source of the CPU kernels, compiled for the GPU.

``on_device`` compiles the Python source of a compiled CPU function as a CUDA device function, with
every compiled function that it calls. Constants of its module may be replaced: with ``LANES=1``, a
loop over the lanes of a block becomes the work of one thread.

Compiled kernels are kept on disk, so that the next process need not compile them again. A file
contains one kernel for arguments of certain types, including machine code. Its name is a digest of
everything that it depends on: the sources of the engine, the name of the kernel, the types, the
versions of Numba and numba-cuda, and the architecture of the GPU. A file that cannot be loaded is
ignored and replaced. Numba's own cache does not work here: it distinguishes kernels by the pickled
bytes of their closures, and the functions inside are pickled differently in each process.
"""

from __future__ import annotations

import hashlib
import math
import os
import pickle
import sys
from collections.abc import Callable, Hashable
from functools import cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba.core.caching import NullCache

from ravine.engine.sources import COMPILED, digest
from ravine.files import written_whole

# Their contents depend on the installed packages, so their types are not checked.
cuda: Any = import_module("numba.cuda")
types: Any = import_module("numba.core.types")
Dispatcher: Any = import_module("numba.core.dispatcher").Dispatcher

SIMULATED = bool(getattr(import_module("numba.core.config"), "ENABLE_CUDASIM", False))
"""Whether kernels run in Numba's simulator, as plain Python threads."""

if not SIMULATED:
    cuda_config: Any = import_module("numba.cuda.core.config")
    cuda_config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # a small sweep is no reason for a warning

_made: dict[tuple[Any, ...], Any] = {}

_SOURCES = (*COMPILED, "engine/cuda", "engine/repeats.py")


def kernel_folder() -> Path:
    """Return the folder of kernels: in ``NUMBA_CACHE_DIR`` if set, else in the user's cache.

    Examples
    --------
    >>> kernel_folder().name
    'gpu_kernels'
    """
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        return Path(chosen) / "gpu_kernels"

    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "ravine" / "gpu_kernels"


@cache
def _made_with() -> bytes:
    """Versions that all kernels of this process depend on."""
    versions = [version(name) for name in ("numba", "numba-cuda", "llvmlite", "numpy")]
    return digest(_SOURCES) + repr((versions, sys.version_info[:2])).encode()


class KernelCache(NullCache):  # type: ignore[misc]
    """The cache of one kernel, with the interface of Numba's dispatcher."""

    def __init__(self, name: str) -> None:
        self._name = name

    def path_for(self, signature: Any, architecture: Any) -> Path:
        """Return the file of the kernel for a signature on an architecture."""
        what = repr((self._name, str(signature), architecture)).encode()
        return kernel_folder() / f"{hashlib.sha256(_made_with() + what).hexdigest()[:40]}.kernel"

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return the kernel for a signature, or None if it must be compiled."""
        path = self.path_for(signature, context.codegen().magic_tuple())
        try:
            kernel: Any = import_module("numba.cuda.dispatcher")._Kernel
            return kernel._rebuild(**pickle.loads(path.read_bytes()))
        except Exception:  # missing or damaged file: compile
            return None

    def save_overload(self, signature: Any, kernel: Any) -> None:
        """Store a compiled kernel, if the folder can be written to."""
        serialize: Any = import_module("numba.cuda.serialize")
        path = self.path_for(signature, kernel.codegen.magic_tuple())
        try:
            with written_whole(path) as part:
                part.write_bytes(serialize.dumps(kernel._reduce_states()))
        except OSError:
            return


def gpu_name() -> str:
    """Return the name of the GPU that runs the kernels."""
    if SIMULATED:
        return "simulated"

    name = cuda.get_current_device().name
    return name.decode() if isinstance(name, bytes) else str(name)


def device_function(function: Callable[..., Any]) -> Any:
    """Compile a Python function for use inside kernels."""
    return cuda.jit(device=True, **({} if SIMULATED else {"forceinline": True}))(function)


def kernel_function(
    name: Hashable, registers: int | None = None
) -> Callable[[Callable[..., Any]], Any]:
    """Compile a Python function as a kernel, with at most this many registers per thread.

    ``name`` and the sources of the engine identify the kernel in the cache on disk, so ``name``
    must include everything that the function takes from an enclosing function.
    """
    if SIMULATED:
        simulated: Callable[[Callable[..., Any]], Any] = cuda.jit()
        return simulated

    limit = {} if registers is None else {"max_registers": registers}

    def compile_later(function: Callable[..., Any]) -> Any:
        kernel = cuda.jit(**limit)(function)
        kernel._cache = KernelCache(repr(name))
        return kernel

    return compile_later


def on_device(function: Any, **constants: Any) -> Any:
    """Compile the source of a compiled CPU function, and of the functions it calls, for the GPU."""
    constants.setdefault("np", NUMPY)
    key = (function, *sorted(constants.items(), key=lambda item: item[0]))
    if key not in _made:
        source = function.py_func
        known = dict(source.__globals__)
        known.update({name: constants[name] for name in constants if name in known})
        for name in _names(source.__code__):
            if isinstance(known.get(name), Dispatcher):
                known[name] = on_device(known[name], **constants)
        closed_over = tuple(
            CellType(on_device(held, **constants) if isinstance(held, Dispatcher) else held)
            for held in (cell.cell_contents for cell in source.__closure__ or ())
        )
        twin = FunctionType(
            source.__code__, known, source.__name__, source.__defaults__, closed_over
        )
        twin.__module__ = source.__module__
        _made[key] = twin if SIMULATED else device_function(twin)

    return _made[key]


def _names(code: CodeType) -> set[str]:
    inside = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*(_names(part) for part in inside))


def _numpy_with(**others: Any) -> ModuleType:
    """The part of NumPy that kernels use, with functions of CUDA."""
    module = ModuleType("numpy_on_device")
    module.__dict__.update({n: value for n, value in vars(np).items() if not n.startswith("__")})
    module.__dict__.update(others)
    return module


if SIMULATED:

    def root(x: np.float32) -> np.float32:
        """Return the square root in single precision."""
        return np.float32(math.sqrt(x))

    def piece_of(array: Any, at: int) -> tuple[Any, ...]:
        """Return the numbers in the 16 bytes of an array from entry ``at`` on."""
        return tuple(array[at : at + 16 // array.dtype.itemsize])

    _FUNCTIONS: dict[str, Any] = {}

else:
    ir: Any = import_module("llvmlite.ir")
    intrinsic: Callable[[Callable[..., Any]], Any] = import_module("numba.cuda.extending").intrinsic

    _GLOBAL = 1  # number of the address space of arrays in device memory

    @intrinsic
    def root(context: Any, x: Any) -> Any:
        """Return the square root in single precision, to one unit in the last place."""

        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = ir.FunctionType(ir.FloatType(), [ir.FloatType()])
            code = ir.InlineAsm(kind, "sqrt.approx.ftz.f32 $0, $1;", "=f,f")
            return builder.call(code, arguments)

        return types.float32(types.float32), build

    @intrinsic
    def piece_of(context: Any, array: Any, at: Any) -> Any:
        """Return the numbers in the 16 bytes of an array from entry ``at`` on.

        A single load that may be reordered with stores; no kernel writes to an array that it reads
        this way.
        """
        wide = 4 if array.dtype == types.float32 else 2
        result = types.UniTuple(array.dtype, wide)

        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = context.get_value_type(array.dtype)
            # The data of an array are its fifth field.
            first = builder.gep(builder.extract_value(arguments[0], 4), [arguments[1]])
            place = builder.addrspacecast(first, ir.VectorType(kind, wide).as_pointer(_GLOBAL))
            vector = builder.load(place, align=16)
            vector.set_metadata("invariant.load", builder.module.add_metadata([]))
            piece = ir.Constant(context.get_value_type(result), ir.Undefined)
            for e in range(wide):
                number = builder.extract_element(vector, ir.Constant(ir.IntType(32), e))
                piece = builder.insert_value(piece, number, e)

            return piece

        return result(array, types.int64), build

    _NAMES = ("exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "tanh", "floor")
    _FUNCTIONS = {name: getattr(math, name) for name in (*_NAMES, "isnan", "isinf", "isfinite")}

NUMPY = _numpy_with(**_FUNCTIONS)
"""Functions of NumPy that kernels use."""
FAST_NUMPY = _numpy_with(**(_FUNCTIONS | {"sqrt": root}))
"""The same, with the GPU's square root for single precision."""
