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
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[Any]:
    """Hold BLAS to one thread inside a ``with`` statement."""
    return _controller().limit(limits=1, user_api="blas")  # type: ignore[no-any-return]
