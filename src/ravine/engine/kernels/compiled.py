"""How every kernel of the engine is compiled, cached and announced."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar, cast

from numba import njit
from numba.core import event
from numba.core.caching import FunctionCache

from ravine.compilation import cached_njit
from ravine.engine.sources import COMPILED, digest

Function = TypeVar("Function", bound=Callable[..., Any])


class Decorator(Protocol):
    """What ``njit`` is to the type checker: a function stays what it was."""

    def __call__(self, function: Function, /) -> Function:
        """Return the compiled function."""


# "contract" lets the compiler fuse a*b + c; nothing is reassociated, and infinities and NaNs keep
# their meaning. Division by zero gives an infinity instead of an exception.
OPTIONS: dict[str, Any] = {
    "fastmath": {"contract"},
    "error_model": "numpy",
    "nogil": True,
}


_SOURCES = digest(COMPILED).hex()[:14]


def compiled(function: Function) -> Function:
    """Compile a function that Python calls too, and cache it on disk.

    Numba names the cache of a function after its qualified name, and looks at no other file than
    the function's own. So a digest of all sources of compiled code is part of that name, and what
    the function closes over: two processes then never write different code under one name.
    """
    function.__qualname__ = f"{_full_name(function)}-{_SOURCES}"
    made: Any = cached_njit(function, **OPTIONS)
    if function.__closure__ is not None and isinstance(made._cache, FunctionCache):
        made._cache = _ByName(function)
    return cast("Function", made)


class _ByName(FunctionCache):  # type: ignore[misc]
    """Numba's cache for a function that closes over compiled ones.

    Numba tells such functions apart by the pickled ones inside, which differ in each process, and
    so never finds what another one has written. Here the name of the function tells them apart.
    """

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return sig, codegen.magic_tuple()


def _full_name(function: Callable[..., Any]) -> str:
    """The qualified name of a function, and what it closes over."""
    contents = [cell.cell_contents for cell in function.__closure__ or ()]
    inside = [_full_name(c.py_func) if hasattr(c, "py_func") else str(c) for c in contents]
    return "-".join([function.__qualname__, *inside])


_INNER = OPTIONS | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

inner: Decorator = njit(**_INNER)
"""For a part of a kernel that only compiled code calls: half the time to compile.

Python must not call it, except its ``py_func``: there is nothing behind it to call.
"""


_announced = False


class _Announcement(event.Listener):  # type: ignore[misc]
    def on_start(self, event: Any) -> None:
        global _announced
        if not _announced:
            _announced = True
            line = "ravine: compiling the kernels, a few seconds; later runs load them from disk"
            print(line, file=sys.stderr, flush=True)

    def on_end(self, event: Any) -> None:
        pass


@contextmanager
def announced_compilation() -> Iterator[None]:
    """Say once, in one line on standard error, that a call has to compile first."""
    with event.install_listener("numba:compile", _Announcement()):
        yield
