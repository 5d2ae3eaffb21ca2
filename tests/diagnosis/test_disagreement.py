import numpy as np
import pytest

from ravine.diagnosis.disagreement import disagreement
from ravine.methods import nesterov

COLUMNS = ("a", "b", "c", "d")


@pytest.fixture
def heavy(data):
    X, y = data()
    X[37] *= 12.0
    return X, y


def test_the_heavy_row_drives_batches_that_are_cut_anew(heavy, survey_of):
    seen = survey_of(*heavy)
    why = disagreement(seen, nesterov(seen.curvature), COLUMNS, None)
    assert why.batches == ()
    assert why.rows[0] == 37
    assert why.shares[0] > 0.8
    assert why.ratios[0] > 10.0
    along = heavy[0][37] / np.linalg.norm(heavy[0][37])
    assert abs(along @ why.direction) > 0.8


def test_its_batch_drives_a_fixed_cut(heavy, setup_of, survey_of):
    setup = setup_of(*heavy, batches="fixed", batch_size=4)
    _, _, order = setup.problem()
    seen = survey_of(*heavy, batches="fixed", batch_size=4)
    why = disagreement(seen, nesterov(seen.curvature), COLUMNS, order)
    assert 37 in order[4 * why.batches[0] : 4 * why.batches[0] + 4]
    assert why.rows[0] == 37
    assert why.row_shares[0] > 0.9
    assert np.linalg.norm(why.direction) == pytest.approx(1.0)


def test_calm_batches_have_shares_all_the_same(data, survey_of):
    seen = survey_of(*data(), l2=1.0, batch_size=48)
    why = disagreement(seen, nesterov(seen.curvature), COLUMNS, None)
    assert 0.0 < why.spread < 0.5
    assert {name for name, _ in why.columns} <= set(COLUMNS)
