"""How every kernel of the engine is compiled."""

from __future__ import annotations

from typing import Any

from numba import njit

# "contract" lets the compiler fuse a*b + c; nothing is reassociated, and infinities and NaNs keep
# their meaning. Division by zero gives an infinity instead of an exception.
OPTIONS: dict[str, Any] = {
    "cache": True,
    "fastmath": {"contract"},
    "error_model": "numpy",
    "nogil": True,
}

compiled = njit(**OPTIONS)
"""For a function of scalars or of one block of lanes."""

compiled_driver = njit(parallel=True, **OPTIONS)
"""For a trivial ``prange`` over blocks, whose body is one call of a ``compiled`` function."""
