"""Two steps of a coordinate draw the CPU's noise, and shared noise is laid out in pieces."""

import numpy as np
import pytest

from ravine.engine.kernels.quadratic_kernel import normals_of

CODE = """
from ravine.engine.cuda.quadratic_kernel import draw_shared, no_noise, own_noise, gpu_stream
from ravine.engine.draws.random import NOISE

@cuda.jit
def kernel(out):
    words = gpu_stream(np.uint64(3), np.uint64(5), np.uint32(0), NOISE)
    state, sums = own_noise((1.0, 0.5, 0.9, -0.2) + words, (0.0, 0.0), 0.4, np.float32(2.0))
    out[0, :4] = state[0], state[1], sums[0], sums[1]
    state, sums = no_noise((1.0, 0.5, 0.9, -0.2), (1.0, 2.0), 0.4, 0.0)
    out[1, :4] = state[0], state[1], sums[0], sums[1]

out = np.zeros((2, 4))
kernel[1, 1](out)
noise = np.zeros(2 * 8 * 8)
draw_shared[1, 2](np.uint64(3), np.uint64(5), 2, 8, noise)
result = out.tolist(), noise.tolist()
"""


def test_noise_is_that_of_a_run(in_simulator):
    found, noise = in_simulator(CODE)
    z = normals_of(3, 5, 2, 16)

    def two(z1, z2, sums):
        x1 = 0.9 * 1.0 - 0.2 * 0.5 + z1
        x2 = 0.9 * x1 - 0.2 * 1.0 + z2
        return x2, x1, sums[0] + (x1 - 0.4) ** 2, sums[1] + (x2 - 0.4 * x1) ** 2

    # Normals are single-precision numbers of order one: their last digits are 1e-7.
    assert found[0] == pytest.approx(two(2 * z[0, 0], 2 * z[1, 0], (0.0, 0.0)), abs=5e-7)
    assert found[1] == pytest.approx(two(0.0, 0.0, (1.0, 2.0)), rel=1e-14)
    laid_out = np.array(noise).reshape(8, 8, 2).transpose(0, 2, 1).reshape(16, 8)
    np.testing.assert_allclose(laid_out[:, :2], z, 1e-6, 1e-7)
    assert not laid_out[:, 2:].any()
