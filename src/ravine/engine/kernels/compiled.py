"""Compilation, caching and announcement of the engine's kernels."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar, cast

from numba import njit
from numba.core import event
from numba.core.caching import FunctionCache

from ravine.compilation import cached_njit
from ravine.engine.sources import COMPILED, digest

Function = TypeVar("Function", bound=Callable[..., Any])


# "contract" lets the compiler fuse a*b + c; it reassociates nothing, and infinities and NaNs keep
# their meaning. Division by zero gives infinity instead of an exception.
OPTIONS: dict[str, Any] = {
    "fastmath": {"contract"},
    "error_model": "numpy",
    "nogil": True,
}


_SOURCES = digest(COMPILED).hex()[:14]


def compiled(function: Function) -> Function:
    """Compile a function that Python also calls, and cache it on disk.

    Numba names the cache of a function after its qualified name, and checks only the function's own
    file. So the name includes a digest of all sources of compiled code and of the function's
    closure, and two processes never write different code under one name.
    """
    function.__qualname__ = f"{_full_name(function)}-{_SOURCES}"
    made: Any = cached_njit(function, **OPTIONS)
    if function.__closure__ is not None and isinstance(made._cache, FunctionCache):
        made._cache = _ByName(function)
    return cast("Function", made)


class _ByName(FunctionCache):  # type: ignore[misc]
    """Numba's cache for a function that closes over compiled functions.

    Numba distinguishes such functions by pickling the inner ones, which differ in each process, so
    it never finds an existing cache. Here the name of the function distinguishes them.
    """

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return sig, codegen.magic_tuple()


def _full_name(function: Callable[..., Any]) -> str:
    """The qualified name of a function, with its closure."""
    contents = [cell.cell_contents for cell in function.__closure__ or ()]
    inside = [_full_name(c.py_func) if hasattr(c, "py_func") else str(c) for c in contents]
    return "-".join([function.__qualname__, *inside])


def inner(function: Function) -> Function:
    """Compile a part of a kernel that only compiled code calls, in half the time.

    Python must not call it, except its ``py_func``: it has no entry point for Python.
    """
    made = njit(**OPTIONS, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)
    return cast("Function", made)


@cache
def _announce() -> None:
    line = "ravine: compiling the kernels, a few seconds; later runs load them from disk"
    print(line, file=sys.stderr, flush=True)


class _Announcement(event.Listener):  # type: ignore[misc]
    def on_start(self, event: Any) -> None:
        _announce()

    def on_end(self, event: Any) -> None:
        pass


@contextmanager
def announced_compilation() -> Iterator[None]:
    """Announce once, in one line on standard error, that a call must compile first."""
    with event.install_listener("numba:compile", _Announcement()):
        yield
