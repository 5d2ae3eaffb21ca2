"""How every kernel of the engine is compiled, cached and announced."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from numba import njit
from numba.core import event

from ravine.compilation import is_kept, kept
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


def compiled(function: Function) -> Function:
    """Compile a function that Python calls too, and keep it on disk."""
    machine_code: Function = njit(**OPTIONS)(function)
    return kept(machine_code)


_INNER = OPTIONS | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

inner: Decorator = njit(**_INNER)
"""For a part of a kernel that only compiled code calls: half the time to compile.

Python must not call it, except its ``py_func``: there is nothing behind it to call.
"""


FINGERPRINT = int.from_bytes(digest(COMPILED)[:7], "little")
"""A digest of the sources of compiled code; 7 bytes, so that it fits a 64-bit number with a sign.

Numba's disk cache looks only at the file of the function that is called. A driver that is made in
a closure over this number is compiled anew when any of these sources has changed.
"""

_announced = False


class _Announcement(event.Listener):  # type: ignore[misc]
    def on_start(self, event: Any) -> None:
        global _announced
        if not _announced:
            _announced = True
            remedy = "set NUMBA_CACHE_DIR to a folder to keep them in"
            end = "later runs take them from disk" if is_kept(event.data["dispatcher"]) else remedy
            line = f"ravine: compiling the kernels, a few seconds; {end}"
            print(line, file=sys.stderr, flush=True)

    def on_end(self, event: Any) -> None:
        pass


@contextmanager
def announced_compilation() -> Iterator[None]:
    """Say once, in one line on standard error, that a call has to compile first."""
    with event.install_listener("numba:compile", _Announcement()):
        yield
