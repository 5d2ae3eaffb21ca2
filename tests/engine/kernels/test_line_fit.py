"""A line through bins of a geometric sequence has its rate, whatever the widths of the bins."""

import numpy as np
import pytest

from ravine.engine.kernels import line_fit
from ravine.engine.measures import bin_edges


@pytest.fixture(autouse=True)
def in_python(monkeypatch):
    """Compiled functions of the module, run as plain Python."""
    monkeypatch.setattr(line_fit, "bulge", line_fit.bulge.py_func)


def means(rate, steps):
    edges = bin_edges(steps)
    squares = rate ** (2.0 * np.arange(1, steps + 1))
    return np.add.reduceat(squares, edges[:-1]) / np.diff(edges), edges


@pytest.mark.parametrize("rate", [0.5, 0.99, 0.99999, 1.01])
def test_slope_of_a_geometric_sequence_is_exact(rate):
    mean, edges = means(rate, 300)
    slope, _ = line_fit.fit.py_func(mean, edges, 40, len(mean), 1, True)
    assert slope == pytest.approx(np.log(rate), rel=1e-9, abs=1e-11)


def test_without_refinement_the_widths_show():
    mean, edges = means(0.9, 300)
    plain, _ = line_fit.fit.py_func(mean, edges, 40, len(mean), 1, False)
    assert abs(plain - np.log(0.9)) > 1e-5


def test_deviation_is_that_of_the_levels():
    edges = np.arange(101)
    levels = np.where(np.arange(100) % 2 == 0, 0.2, -0.2)
    slope, deviation = line_fit.fit.py_func(np.exp(2 * levels), edges, 0, 100, 1, False)
    assert abs(slope) < 2e-4  # 0.2 · 6 / 100², of the two ends
    assert deviation == pytest.approx(0.2, rel=1e-3)


def test_bulge_of_a_bin():
    """½ ln of the mean of r^(2t) over seven steps, against the middle one."""
    t = np.arange(-3, 4)
    expected = 0.5 * np.log(np.mean(np.exp(2 * 0.3 * t)))
    assert line_fit.bulge(0.3, 7.0) == pytest.approx(expected, rel=1e-12)
    assert line_fit.bulge(1e-5, 7.0) == pytest.approx(1e-10 * 48 / 12, rel=1e-6)
    assert line_fit.bulge(0.3, 1.0) == pytest.approx(0.0, abs=1e-15)
