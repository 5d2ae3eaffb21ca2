"""Machine code that Numba caches on disk, where it finds a folder to write to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def cached_njit(function: Function, **options: Any) -> Function:
    """Compile a function with ``numba.njit`` and these options; later runs load it from disk.

    Numba writes beside the source, else to the user's cache, or to ``NUMBA_CACHE_DIR``. Where it
    can write to none of them, the function is compiled again in each process.

    Examples
    --------
    >>> cached_njit(lambda x: x + x)(2)
    4
    """
    from numba import njit

    compiled: Function
    try:
        compiled = njit(cache=True, **options)(function)
    except RuntimeError:
        compiled = njit(**options)(function)

    return compiled
