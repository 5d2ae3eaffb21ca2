"""The GPU compiles the very source of the CPU, with other constants."""

import numpy as np

from ravine.engine.cuda.source import NUMPY, on_device
from ravine.engine.draws import index_sampling
from ravine.engine.draws.index_sampling import draw_batch, draw_row


def test_a_twin_has_the_code_of_the_original_and_constants_of_its_own():
    twin = on_device(draw_batch, LANES=1)
    source = getattr(twin, "py_func", twin)
    assert source.__code__ is draw_batch.py_func.__code__
    assert source.__globals__["LANES"] == 1
    assert index_sampling.LANES == 128
    assert source.__globals__["np"] is NUMPY
    assert NUMPY.uint32 is np.uint32


def test_what_it_calls_is_a_twin_as_well_and_made_once():
    twin = on_device(draw_batch, LANES=1)
    source = getattr(twin, "py_func", twin)
    assert source.__globals__["draw_row"] is on_device(draw_row, LANES=1)
    assert source.__globals__["draw_row"] is not draw_row
    assert on_device(draw_batch, LANES=1) is twin
    assert on_device(draw_batch, LANES=2) is not twin
