"""Linear algebra on one thread, so that its last digits do not depend on the number of cores.

NumPy's BLAS splits sums into as many pieces as it has threads: a decomposition on two cores differs
in its last bits from one on four, and so does everything computed from it.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any


@cache
def _controller() -> Any:
    """The BLAS libraries of this process, looked up once because that takes milliseconds."""
    # Loaded first, because a BLAS that is loaded later would not be limited. SciPy has its own.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[Any]:
    """Limit BLAS to one thread inside a ``with`` statement."""
    limits: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limits
