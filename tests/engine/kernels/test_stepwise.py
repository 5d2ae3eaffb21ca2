import numpy as np
import pytest

from ravine import Curvature
from ravine.engine.kernels.stepwise import check, run_tile
from ravine.problems import from_functions


def test_a_user_s_gradient_can_be_swept(spec):
    problem = from_functions(
        lambda x: x + 0.3 * np.sin(x), dimension=1, curvature=Curvature(0.7, 1.3), start=[2.0]
    )
    plane = spec(problem, steps=300, repeats=1)
    check(plane)
    found = run_tile(plane, 0, 30)
    assert found["rate"].shape == (30, 1)
    # At the minimiser the curvature is 1.3: the rate is the radius of its two-by-two block.
    a, b, _ = plane.parameters(8)
    block = [[(1 + b) * (1 - 1.3 * a), -b * (1 - 1.3 * a)], [1.0, 0.0]]
    rho = np.abs(np.linalg.eigvals(np.array(block))).max()
    assert found["rate"][8, 0] == pytest.approx(rho, abs=0.02)
    with pytest.raises(ValueError, match="dtype must be float64 for this problem, got 'float32'"):
        check(spec(problem, dtype="float32"))
