"""Compiled functions that Numba caches on disk, if it finds a folder that it can write to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def cached_njit(function: Function, **options: Any) -> Function:
    """Compile a function with ``numba.njit`` and these options; later runs load it from disk.

    Numba writes to ``NUMBA_CACHE_DIR`` if it is set, else beside the source, else to the user's
    cache. If it can write to none of them, each process compiles the function again.

    Examples
    --------
    >>> cached_njit(lambda x: x + x)(2)
    4
    """
    from numba import njit

    compiled: Function = _cached(njit, function, **options)
    return compiled


def cached_ufunc(function: Callable[..., float]) -> Any:
    """Compile a function of floats to one of arrays that broadcast, with the same cache.

    Examples
    --------
    >>> cached_ufunc(lambda x, y: x + y)([1.0, 2.0], 3.0).tolist()
    [4.0, 5.0]
    """
    from numba import vectorize

    count = function.__code__.co_argcount
    return _cached(vectorize, function, [f"f8({', '.join(['f8'] * count)})"])


def _cached(decorator: Callable[..., Any], function: Any, *given: Any, **options: Any) -> Any:
    try:
        return decorator(*given, cache=True, **options)(function)
    except RuntimeError:
        return decorator(*given, **options)(function)
