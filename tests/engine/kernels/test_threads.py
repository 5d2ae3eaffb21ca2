import numba
import numpy as np
import pytest

from ravine.engine.kernels.threads import on_all_threads


def test_on_all_threads_visits_every_block_once():
    for threads in (1, numba.config.NUMBA_NUM_THREADS):
        before = numba.get_num_threads()
        numba.set_num_threads(threads)
        try:
            for blocks in (1, 2, 15, 16, 17, 100):
                seen = np.zeros(blocks, int)

                def visit(first, last, seen=seen):
                    seen[first:last] += 1

                on_all_threads(visit, blocks)
                assert np.all(seen == 1)
        finally:
            numba.set_num_threads(before)


def test_on_all_threads_hands_errors_on():
    def fail(first, last):
        raise RuntimeError("lost")

    with pytest.raises(RuntimeError, match="lost"):
        on_all_threads(fail, 100)
