"""Four steps of trajectories that share their noise, in both forms, against a plain loop."""

import numpy as np
import pytest

CODE = """
from ravine.engine.cuda.shared_noise_kernel import (
    each_trajectory, family_four, nesterov_four, new_state
)

nesterov = {nesterov}
begin = new_state(np.float64, nesterov)
go_on = each_trajectory(2, nesterov_four if nesterov else family_four)
alpha, beta, gamma, per_unit, eigenvalue = 0.3, 0.7, {gamma}, 2.0, 1.5
g = gamma / (1 + gamma)

@cuda.jit
def kernel(z, out):
    given = (alpha, beta, gamma, g, 1 + gamma, per_unit)
    first, second = (eigenvalue, 0.5), (eigenvalue, -1.0)
    states = (begin(given, 0, 0, first), begin(given, 0, 0, second))
    sums = ((1.0, 2.0, 3.0, 4.0), (0.0, 0.0, 0.0, 0.0))
    states, sums = go_on(states, sums, (g, g), (z[0], z[1], z[2], z[3]))
    for t in range(2):
        out[t, :4] = sums[t]
        out[t, 4] = states[t][0]

out = np.zeros((2, 5))
kernel[1, 1](np.array([0.1, -0.2, 0.3, 0.4]), out)
result = out.tolist()
"""


@pytest.mark.parametrize(("nesterov", "gamma"), [(True, 0.7), (False, 0.7), (False, 0.2)])
def test_four_steps(in_simulator, nesterov, gamma):
    found = np.array(in_simulator(CODE.format(nesterov=nesterov, gamma=gamma)))
    for row, start, sums in zip(found, (1.0, -2.0), ([1, 2, 3, 4], [0, 0, 0, 0]), strict=True):
        x = before = start
        for z, so_far, square in zip((0.1, -0.2, 0.3, 0.4), sums, row[:4], strict=True):
            y = x + gamma * (x - before)
            x, before = x + 0.7 * (x - before) - 0.3 * 1.5 * y + z, x
            recorded = (x + gamma * (x - before)) / (1 + gamma)
            assert square == pytest.approx(so_far + recorded**2, rel=1e-13)
        assert row[4] == pytest.approx(x, rel=1e-13)
