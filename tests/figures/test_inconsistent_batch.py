"""Figure 2: traces and growths of the paper's example, and its closed forms."""

from itertools import pairwise, permutations, product

import numpy as np
import pytest

from ravine import Sampling
from ravine.figures import inconsistent_batch as figure


@pytest.fixture(scope="module")
def data():
    return figure.inconsistent_batch(n=(10, 50), trajectories=20_000, epochs=12, steps=200)


def test_closed_forms_lie_within_the_limits(data):
    found = figure.growth_agreement(data)
    assert found["compared"] == 2 * (3 + 3 + 2 + 2)
    assert found["inside"] == found["compared"]


def test_agreement_counts_what_is_outside(data):
    wrong = data.copy(deep=True)
    wrong["almost_sure_exact"][:] += 0.05
    found = figure.growth_agreement(wrong)
    assert found["compared"] - found["inside"] == 6


def test_only_repeats_end_at_the_optimum(data):
    zero = data["zero_measured"]
    assert (zero.sel(sampling="iid") > 0.5).isel(n=0)
    assert np.isnan(zero.sel(sampling="iid-no-repeat")).all()
    assert (data["almost_sure_measured"].sel(sampling="iid-no-repeat") > 1.0).all()


def test_traces_say_where_the_bad_term_was_drawn(data):
    """Reshuffled: once an epoch; momentum and gradient oppose right after it."""
    drawn = data["drawn"].values
    assert drawn[0].reshape(20, 10).sum(axis=1).tolist() == [1.0] * 20
    assert drawn[1].reshape(4, 50).sum(axis=1).tolist() == [1.0] * 4
    hits = np.flatnonzero(drawn[1][:-2])
    assert (data["opposed"].values[1][hits + 1] == 1.0).mean() > 0.7


def test_growth_is_printed_on_each_panel(data):
    drawing = figure.draw_inconsistent_batch(data)
    exact = data["almost_sure_exact"].sel(sampling=figure.DRAWN.value).values
    for axis, value in zip(drawing.axes, exact, strict=True):
        assert f"{value:.5f}" in axis.get_title()


def test_iid_draws_hit_zero_when_the_bad_term_comes_twice():
    n, steps = 3, 6
    orders = np.array(list(product(range(n), repeat=steps)))
    bad = orders == n - 1
    twice = (bad[:, 1:] & bad[:, :-1]).any(axis=1).mean()
    assert figure.hit_zero(n, Sampling.IID, steps) == pytest.approx(twice, rel=1e-12)


@pytest.mark.parametrize(("n", "epochs"), [(2, 3), (3, 3), (4, 2)])
def test_reshuffled_draws_hit_zero_at_the_seams_alone(n, epochs):
    """Against every sequence of orders: an epoch cannot both begin and end with the bad term."""
    ends = [(order[0] == n - 1, order[-1] == n - 1) for order in permutations(range(n))]
    hits = [
        any(before[1] and after[0] for before, after in pairwise(sequence))
        for sequence in product(ends, repeat=epochs)
    ]
    share = figure.hit_zero(n, Sampling.RESHUFFLE, epochs * n)
    assert share == pytest.approx(np.mean(hits), rel=1e-12)
