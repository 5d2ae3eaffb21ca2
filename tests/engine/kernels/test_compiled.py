"""Compilation is announced once, in one line, and reassociates nothing."""

import numpy as np
from numba import njit

from ravine.engine.kernels import compiled as module
from ravine.engine.kernels.compiled import announced_compilation, compiled


def test_a_first_compilation_says_so_once(capsys):
    module._announce.cache_clear()
    with announced_compilation():
        njit(lambda x: x + 1)(1)
        njit(lambda x: x + 2)(1)
    error = capsys.readouterr().err
    assert error.count("ravine: compiling the kernels") == 1
    assert error.count("\n") == 1
    njit(lambda x: x + 3)(1)
    assert capsys.readouterr().err == ""


@compiled
def compensated(values):
    total = lost = 0.0
    for value in values:
        part = value - lost
        ahead = total + part
        lost = (ahead - total) - part
        total = ahead
    return total


def test_sums_keep_their_order_and_infinities_their_meaning():
    # Kahan's sum would be compiled away by a compiler that may reassociate.
    values = np.array([1.0, *[1e-16] * 10_000])
    assert compensated(values) == 1.0 + 1e-12
    assert np.isnan(compensated(np.array([np.inf, -np.inf])))
