"""One thread for linear algebra, so that its last digits do not depend on the number of cores.

NumPy's BLAS cuts sums into as many pieces as it has threads: a decomposition made on two cores
differs in its last bits from one made on four, and so would everything computed from it.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any


def one_blas_thread() -> AbstractContextManager[Any]:
    """Hold BLAS to one thread inside a ``with`` statement."""
    # Loaded first, for a BLAS that is loaded inside would not be held. SciPy brings its own.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_limits

    return threadpool_limits(limits=1, user_api="blas")  # type: ignore[no-any-return]
