"""The pictures of a diagnosis show its regions, batches and runs."""

import numpy as np
import pytest

from ravine.diagnosis.report import draw_batches, draw_curves, draw_plane, plane


@pytest.fixture(scope="module")
def rates(found):
    return plane(found)


def test_rates_over_the_plane_are_nested(rates):
    exact, square, every = (region.rate for region in rates.regions)
    assert (square >= exact).all()
    assert (every < 1.0).sum() <= (square < 1.0).sum()
    assert (every < 1.0).any()


def test_candidates_lie_where_their_parameters_are(found):
    axes = draw_plane(found).axes[0]
    L = float(found.survey.curvature.L)
    methods = {p.candidate.name: p.candidate.method for p in found.predictions}
    assert axes.lines
    for mark in axes.lines:
        method = methods[mark.get_label()]
        assert mark.get_xdata()[0] == pytest.approx(float(method.alpha) * L)
        assert mark.get_ydata()[0] == pytest.approx(float(method.beta))


def test_batches_are_sorted_and_the_worst_is_named(found):
    axes = draw_batches(found).axes[0]
    largest = axes.lines[0].get_ydata()
    assert (np.diff(largest) >= 0.0).all()
    assert largest[-1] == found.survey.local[:, 1].max()
    assert axes.texts[0].get_text() == f"batch {found.disagreement.batches[0]}"


def test_curves_start_at_one_and_end_where_runs_diverge(found):
    axes = draw_curves(found).axes[0]
    for line in axes.lines:
        values = np.asarray(line.get_ydata(), dtype=float)
        assert np.nanmax(values) <= 1e2
    measured = [line for line in axes.lines if not line.get_label().startswith("_")]
    assert len(measured) == len(found.predictions)
    assert measured[0].get_ydata()[0] == pytest.approx(1.0, rel=1e-6)
