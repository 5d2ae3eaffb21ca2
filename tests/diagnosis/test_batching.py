from itertools import islice

import numpy as np
import pytest

from ravine.diagnosis.batching import BatchRule, make_batching
from ravine.sampling import Sampling


def test_batches_are_cut_anew_by_default_and_visit_every_row_once_an_epoch():
    cut = make_batching(10, 4, None, Sampling.RESHUFFLE, 0)
    assert cut.recut
    assert cut.sizes.tolist() == [4, 4, 2]
    epochs = list(islice(cut.draws(3, np.random.default_rng(1)), 6))
    for first in (0, 3):
        rows = np.concatenate([d.rows for d in epochs[first : first + 3]], axis=1)
        assert (np.sort(rows, axis=1) == np.arange(10)).all()
    assert (epochs[0].rows != epochs[3].rows).any()


def test_a_fixed_cut_keeps_its_batches_and_pads_the_short_one():
    cut = make_batching(10, 4, "fixed", Sampling.RESHUFFLE, 0)
    kept = {tuple(sorted(cut.batch(b))) for b in range(3)}
    for drawn in islice(cut.draws(2, np.random.default_rng(0)), 6):
        for rows, parts in zip(drawn.rows, drawn.parts, strict=True):
            assert tuple(sorted(rows[parts > 0.0])) in kept
            assert parts.sum() == pytest.approx(1.0)


def test_other_orders_need_a_fixed_cut():
    assert make_batching(10, 4, None, Sampling.CYCLIC, 0).batches is BatchRule.FIXED
    with pytest.raises(ValueError, match="batches must be fixed for cyclic order"):
        make_batching(10, 4, "recut", Sampling.CYCLIC, 0)


def test_variance_of_a_batch_mean_is_that_of_a_row_times_the_factor():
    """All draws of 4 of 12 rows: (n - m)/(m (n - 1)) of the variance of one row."""
    values = np.random.default_rng(0).standard_normal(12)
    cut = make_batching(12, 4, None, Sampling.RESHUFFLE, 0)
    draws = cut.draws(4000, np.random.default_rng(2))
    means = np.concatenate([values[next(draws).rows].mean(axis=1) for _ in range(3)])
    # 12000 means, correlated in threes: a relative standard error below 3 %.
    assert means.var() == pytest.approx(cut.variance_factor * values.var(), rel=0.1)


def test_one_batch_of_all_rows_is_the_whole():
    cut = make_batching(6, 6, None, Sampling.RESHUFFLE, 0)
    assert cut.steps_per_epoch == 1
    assert cut.sampling is Sampling.CYCLIC
