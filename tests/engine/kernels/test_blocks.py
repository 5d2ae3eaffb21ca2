"""Blocks run on all threads, linear algebra on one."""

import subprocess
import sys

import numba
import numpy as np
import pytest
import scipy.linalg  # noqa: F401 - its BLAS and that of NumPy must be loaded
from threadpoolctl import threadpool_info

from ravine.engine.kernels.blas import one_blas_thread
from ravine.engine.kernels.blocks import on_all_threads, paged


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


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint32])
def test_rooms_begin_on_a_page(dtype):
    for size in (1, 100):
        room = paged(size, dtype)
        assert room.shape == (size,)
        assert room.dtype == dtype
        assert room.ctypes.data % 4096 == 0


def threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_blas_has_one_thread_inside_and_what_it_had_outside():
    before = threads()
    with one_blas_thread():
        assert set(threads()) == {1}
    assert threads() == before


def test_a_blas_that_is_loaded_later_is_held_too():
    code = "from ravine.engine.kernels.blas import one_blas_thread as one\n"
    code += "from threadpoolctl import threadpool_info as info\n"
    code += "with one():\n    import scipy.linalg\n    "
    code += "print({p['num_threads'] for p in info() if p['user_api'] == 'blas'})"
    command = [sys.executable, "-c", code]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    assert shown.stdout == "{1}\n"
