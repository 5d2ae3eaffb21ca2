"""One thread for linear algebra, so that its last digits do not depend on the number of cores.

NumPy's BLAS cuts sums into as many pieces as it has threads: a decomposition made on two cores
differs in its last bits from one made on four, and so would everything computed from it.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any


@cache
def _controller() -> Any:
    """The BLAS libraries of this process, looked up once: a look takes milliseconds."""
    # Loaded first, for a BLAS that is loaded later would not be held. SciPy brings its own.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[Any]:
    """Hold BLAS to one thread inside a ``with`` statement."""
    limits: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limits
