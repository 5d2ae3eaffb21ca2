import numpy as np

from ravine.torch.curvature import LocalCurvature
from ravine.torch.lr_map import lr_limits

# Two directions; every sample's curvature deviates by 1 in the first.
CURVATURE = LocalCurvature(
    np.array([2.0, 1.0]), np.diag([1.0, 0.0, 0.0, 0.0]), np.array([1.0, 0.0]), 5.0, 8, True, True
)


def test_batch_sizes_are_around_the_user_s():
    rows = lr_limits(CURVATURE, None, (0.0, 0.9))
    assert [(row.momentum, row.batch_size) for row in rows] == [
        (m, b) for m in (0.0, 0.9) for b in (2, 8, 32)
    ]


def test_limits_are_the_curvature_s_and_those_of_any_batches_are_below():
    (row,) = lr_limits(CURVATURE, 0.0, (0.5,), (4,))
    assert row.limit == CURVATURE.limit(0.5, 0.0, 4)
    assert row.iid_limit == CURVATURE.iid_limit(0.5, 0.0, 4)
    assert row.iid_limit < row.limit < 2 * 1.5 / 2.0
