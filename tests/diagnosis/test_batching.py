from itertools import islice

import numpy as np
import pytest

from ravine.diagnosis.setup import make_setup
from ravine.sampling import Sampling
from ravine.tables import as_table


def batching_of(rows, batch_size, batches=None, sampling="reshuffle"):
    table = as_table(np.ones((rows, 1)), np.arange(float(rows)))
    return make_setup(table, batch_size=batch_size, batches=batches, sampling=sampling)[0].batching


def test_every_epoch_has_new_batches_by_default_and_visit_every_row_once_an_epoch():
    batching = batching_of(10, 4)
    assert not batching.fixed
    assert batching.sizes.tolist() == [4, 4, 2]
    epochs = list(islice(batching.draws(3, np.random.default_rng(1)), 6))
    for first in (0, 3):
        rows = np.concatenate([d.rows for d in epochs[first : first + 3]], axis=1)
        assert (np.sort(rows, axis=1) == np.arange(10)).all()
    assert (epochs[0].rows != epochs[3].rows).any()


def test_fixed_batches_stay_the_same_and_the_short_one_is_padded():
    batching = batching_of(10, 4, "fixed")
    kept = {tuple(sorted(batching.batch(b))) for b in range(3)}
    for drawn in islice(batching.draws(2, np.random.default_rng(0)), 6):
        for rows, weights in zip(drawn.rows, drawn.weights, strict=True):
            assert tuple(sorted(rows[weights > 0.0])) in kept
            assert weights.sum() == pytest.approx(1.0)


def test_other_orders_need_fixed_batches():
    assert batching_of(10, 4, sampling="cyclic").fixed
    with pytest.raises(ValueError, match="batches must be fixed for cyclic order"):
        batching_of(10, 4, "new", "cyclic")


def test_variance_of_a_batch_mean_is_that_of_a_row_times_the_factor():
    """All draws of 4 of 12 rows: (n - m)/(m (n - 1)) of the variance of one row."""
    values = np.random.default_rng(0).standard_normal(12)
    batching = batching_of(12, 4)
    draws = batching.draws(4000, np.random.default_rng(2))
    means = np.concatenate([values[next(draws).rows].mean(axis=1) for _ in range(3)])
    # 12000 means, correlated in threes: a relative standard error below 3 %.
    assert means.var() == pytest.approx(batching.variance_factor * values.var(), rel=0.1)


def test_one_batch_of_all_rows_is_the_whole():
    batching = batching_of(6, 6)
    assert batching.steps_per_epoch == 1
    assert batching.sampling is Sampling.CYCLIC
