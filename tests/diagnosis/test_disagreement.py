import numpy as np
import pytest
from scipy.sparse import random as random_sparse

from ravine.diagnosis.causes import disagreement
from ravine.diagnosis.survey import survey
from ravine.methods import nesterov


@pytest.fixture
def heavy(data):
    X, y = data()
    X[37] *= 12.0
    return X, y


def test_the_heavy_row_drives_new_batches(heavy, survey_of):
    seen = survey_of(*heavy)
    why = disagreement(seen, nesterov(seen.curvature))
    assert why.batches == ()
    assert why.rows[0] == 37
    assert why.shares[0] > 0.8
    # Five rows are listed, of which one matters: it alone is dropped first.
    assert len(why.rows) == 5
    assert tuple(why.leading) == (37,)
    assert why.ratios[0] > 10.0
    along = heavy[0][37] / np.linalg.norm(heavy[0][37])
    assert abs(along @ why.direction) > 0.8


def test_its_batch_drives_fixed_batches(heavy, setup_of):
    setup = setup_of(*heavy, batches="fixed", batch_size=4)
    seen = survey(setup)
    why = disagreement(seen, nesterov(seen.curvature))
    first = 4 * why.batches[0]
    assert 37 in setup.source_rows[first : first + 4]
    assert setup.in_source(why.rows)[0] == 37
    assert why.row_shares[0] > 0.9
    assert np.linalg.norm(why.direction) == pytest.approx(1.0)


def test_calm_batches_have_shares_all_the_same(data, survey_of):
    seen = survey_of(*data(), l2=1.0, batch_size=48)
    why = disagreement(seen, nesterov(seen.curvature))
    assert 0.0 < why.size < 0.5
    assert {name for name, _ in why.columns} <= set(seen.setup.columns)


def test_shares_are_those_of_the_moments_that_grow(survey_of):
    """Two rows drive the growth in close directions, which a rough search does not tell apart."""
    X = random_sparse(150, 40, density=0.05, random_state=1, format="csr")
    y = np.asarray(X @ np.ones(40)) + 0.1 * np.random.default_rng(1).standard_normal(150)
    seen = survey_of(X, y, standardise=True, intercept=True, batch_size=32)
    method = nesterov(seen.curvature)
    why = disagreement(seen, method)
    grown = seen.moments.perron(method, tolerance=1e-10)
    assert grown.value > 1.0
    shares = np.sort(seen.moments.shares(grown) * seen.moments.weights)[::-1]
    np.testing.assert_allclose(why.shares, shares[:5] / shares.sum(), rtol=1e-3)
