import subprocess
import sys

import scipy.linalg  # noqa: F401 - its BLAS and that of NumPy must be loaded
from threadpoolctl import threadpool_info

from ravine.engine.kernels.blas import one_blas_thread


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
