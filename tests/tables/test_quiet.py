import warnings

import numpy as np
import pytest

from ravine.tables.quiet import quietly


@quietly
def loud(case):
    """Warns, overflows or runs out of memory."""
    if case == "memory":
        raise MemoryError
    warnings.warn("a word", stacklevel=1)
    return np.float64(1e308) * 10.0


def test_warnings_stay_inside():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert loud("warning") == np.inf
    assert caught == []
    assert loud.__name__ == "loud"


def test_what_memory_lacks_is_refused():
    with pytest.raises(ValueError, match="DATA must be within the memory"):
        loud("memory")
