"""A fingerprint of everything that the numbers of a sweep depend on."""

from __future__ import annotations

import dataclasses
import hashlib
import platform
from functools import cache, cached_property
from importlib.metadata import version
from typing import Any

import numpy as np

from ravine.engine.kernels.blas import one_blas_thread
from ravine.engine.sources import DECIDING, digest
from ravine.engine.spec import Spec
from ravine.problems import Problem


@cache
def numerics() -> dict[str, str]:
    """Everything except the arguments that a tile's bits depend on, by name.

    Two machines agree on a sweep to the last bit if these agree: the compiler fuses a*b + c only if
    the processor has that instruction, and it reassociates nothing, so no other property of the
    processor matters.
    """
    from llvmlite.binding import get_host_cpu_features

    machine = platform.machine()
    fused = machine != "x86_64" or get_host_cpu_features().get("fma", False)

    return {
        "ravine": f"{version('ravine')} ({digest(DECIDING).hex()[:14]})",
        "numpy": version("numpy"),
        "numba": version("numba"),
        "processor": machine if fused else f"{machine} without FMA",
    }


def fingerprint(spec: Spec) -> dict[str, str]:
    """Describe every field of ``spec`` and the numerics, each in one comparable line."""
    with one_blas_thread():
        fields = {
            field.name: _described(getattr(spec, field.name)) for field in dataclasses.fields(spec)
        }

    return fields | numerics()


def _described(value: Any) -> str:
    """Describe a value for readers, and add a digest if the description is incomplete."""
    if isinstance(value, Problem):
        made = ", ".join(f"{name}={item}" for name, item in value.parameters.items())
        return f"{value.name}({made:.200}) [{_digest(value)}]"
    if isinstance(value, np.ndarray):
        ends = f"{value.min():g} to {value.max():g}" if value.size else "nothing"
        return f"{'x'.join(map(str, value.shape))} numbers, {ends} [{_digest(value)}]"
    if callable(value):
        return f"{getattr(value, '__name__', type(value).__name__)} [{_digest(value)}]"

    return repr(value)


def _digest(value: Any) -> str:
    state = hashlib.sha256()
    _feed(state, value)
    return state.hexdigest()[:16]


def _feed(state: Any, value: Any) -> None:
    """Add the content of a value of any kind to a hash."""
    state.update(f"<{type(value).__module__}.{type(value).__qualname__}".encode())
    if isinstance(value, np.ndarray) and value.dtype != object:
        state.update(f"{value.dtype.str}{value.shape}".encode())
        state.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, dict):
        for key in sorted(value, key=repr):
            state.update(repr(key).encode())
            _feed(state, value[key])
    elif isinstance(value, (list, tuple)):
        for item in value:
            _feed(state, item)
    elif isinstance(value, Problem):
        _feed(state, _parts(value))
    elif hasattr(value, "indptr"):
        _feed(state, (value.shape, value.data, value.indices, value.indptr))
    elif callable(value):
        _feed_function(state, getattr(value, "py_func", value))
    elif hasattr(value, "__dict__"):
        _feed(state, vars(value))
    else:
        state.update(repr(value).encode())

    state.update(b">")


def _parts(problem: Problem) -> dict[str, Any]:
    """The data of a problem, and the values that it computes from them once.

    Computed values are included, because their last bits depend on the linear algebra library.
    """
    own: dict[str, Any] = {}
    for kind in type(problem).__mro__:
        for name, thing in vars(kind).items():
            if isinstance(thing, cached_property):
                own[name] = getattr(problem, name) if kind is not Problem else None

    return vars(problem) | own


def _feed_function(state: Any, function: Any) -> None:
    """Add a Python function to a hash: its code, constants, defaults and closure."""
    code = getattr(function, "__code__", None)
    state.update(getattr(function, "__qualname__", type(function).__qualname__).encode())
    if code is None:
        return

    state.update(code.co_code + repr(code.co_names).encode())

    for constant in code.co_consts:
        state.update(constant.co_code if hasattr(constant, "co_code") else repr(constant).encode())

    cells = function.__closure__ or ()
    _feed(state, [function.__defaults__, [cell.cell_contents for cell in cells]])
