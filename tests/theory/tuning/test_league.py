"""The league table: complete, ranked, and every number that of its own function."""

import numpy as np
import pytest

from ravine import Curvature, Method, iid_rate, league, smallest_stable_batch
from ravine.catalogue import CATALOGUE
from ravine.figures.batch_curves import draw_league, league_curves

KNOWN = {"L_max": 400.0, "batch_size": 20.0}
CURVATURE = Curvature(1.0, 40.0)


@pytest.fixture(scope="module")
def table():
    return {entry.name: entry for entry in league(CURVATURE, **KNOWN)}


def test_every_method_is_ranked_by_its_best_rate(table):
    assert set(table) == set(CATALOGUE)
    rates = [entry.tuned.iid for entry in table.values()]
    assert rates == sorted(rates)
    for entry in table.values():
        assert entry.tuned.iid <= entry.published.iid * (1 + 1e-6)
        assert entry.published.exact <= entry.published.iid * (1 + 1e-9)


def test_numbers_are_those_of_their_functions(table):
    published = table["nesterov"].published
    assert published.iid == float(iid_rate(CURVATURE, published.method, **KNOWN))
    limit = smallest_stable_batch(CURVATURE, published.method, L_max=400.0)
    assert published.stable_batch == float(limit)


def test_no_neighbour_of_the_best_heavy_ball_is_faster(table):
    best = table["heavy-ball"].tuned
    alpha, beta = float(best.method.alpha), float(best.method.beta)
    around = Method(
        alpha * np.geomspace(0.5, 2.0, 61)[:, None], beta + np.linspace(-0.2, 0.1, 61), 0.0
    )
    assert iid_rate(CURVATURE, around, **KNOWN).min() >= best.iid * (1 - 1e-6)


def test_the_figure_shows_every_curve():
    curves = league_curves(Curvature(1.0, 8.0), L_max=16.0)
    assert np.all(np.diff(curves.tuned["nesterov"]) < 1e-6)
    assert np.all(curves.tuned["nesterov"] <= curves.tuned["sgd"] * (1 + 1e-9))
    axis = draw_league(curves, batch_size=8).axes[0]
    assert axis.get_xlabel() == "batch size"
    words = [text.get_text() for text in axis.texts]
    assert "MaSS" in words
