"""Threads of a group add up their parts, step by step."""

import numpy as np
import pytest

CODE = """
from ravine.engine.cuda.group import earliest_of, sum_steps

rng = np.random.default_rng(1)
parts = rng.standard_normal(({lanes}, {steps}))
fold, earliest = sum_steps({steps} // 2, {lanes}), earliest_of(8)

@cuda.jit
def kernel(parts, out, first):
    lane = cuda.threadIdx.x
    row = parts[lane]
    out[lane] = fold(tuple(row[i] for i in range({steps})), lane)
    first[lane] = earliest(np.int32(0 if lane % 8 < 5 else 40 - lane % 8))

out = np.zeros({lanes})
first = np.zeros({lanes}, np.int32)
kernel[1, {lanes}](parts, out, first)
result = parts.tolist(), out.tolist(), first.tolist()
"""


@pytest.mark.parametrize(("lanes", "steps"), [(8, 2), (8, 4), (16, 4), (8, 8)])
def test_each_thread_receives_the_sum_of_one_step(in_simulator, lanes, steps):
    parts, sums, first = in_simulator(CODE.format(lanes=lanes, steps=steps))
    expected = np.array(parts).sum(axis=0)
    np.testing.assert_allclose(sums, [expected[lane % steps] for lane in range(lanes)], 1e-12)
    assert set(first) == {33}  # the smallest of 35, 34 and 33; zeros do not count
