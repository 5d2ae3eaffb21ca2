import math

import pytest

from ravine.torch.trend import LossTrend


def trend_of(losses):
    trend = LossTrend()
    for loss in losses:
        trend.add(loss)
    return trend


def test_steps_left_are_those_of_a_straight_line_in_the_logarithm():
    """Growth by 1.1 a step from 1: after 12 steps ln(10 / 1.1¹¹) / ln 1.1 = 13.2 are left."""
    trend = trend_of([1.0] * 20 + [1.1**k for k in range(12)])
    # The last losses are averaged over two steps, which lags behind by about one.
    assert trend.steps_left == pytest.approx(math.log(10) / math.log(1.1) - 11, abs=1.1)
    assert trend.rising
    assert trend.rise > 1.3


def test_noise_and_falling_losses_have_no_end():
    noise = [1.0 + 0.3 * (-1) ** k for k in range(40)]
    assert trend_of(noise).steps_left == math.inf
    falling = trend_of([0.95**k for k in range(40)])
    assert falling.steps_left == math.inf
    assert falling.rise == 1.0
    assert not falling.rising


def test_the_least_is_remembered():
    trend = trend_of([4.0] * 30 + [1.0] * 60 + [3.0] * 60)
    # The smoothed loss comes to within 0.9⁶⁰ = 0.2 % of both.
    assert trend.rise == pytest.approx(3.0, rel=0.01)


def test_what_is_not_a_number_has_blown_up():
    trend = trend_of([1.0] * 20 + [math.nan])
    assert trend.steps_left == 0.0
    assert trend.rise == math.inf
    assert trend.rising


def test_losses_that_are_not_positive_have_no_trend():
    trend = trend_of([-1.0 * k for k in range(1, 30)])
    assert trend.rise == 1.0
    assert trend.steps_left == math.inf
    assert LossTrend().rise == 1.0


def test_noise_is_that_before_the_rise():
    """Batches that differ by a factor 1.5: |ln 1.5| from one to the next, until 8 steps ago."""
    noise = [1.5 ** (k % 2) for k in range(60)]
    assert trend_of(noise).noise == pytest.approx(math.log(1.5))
    assert trend_of(noise + [50.0] * 6).noise == pytest.approx(math.log(1.5))
    assert trend_of([1.0] * 60).noise == 0.0
    assert trend_of([1.0] * 4).noise == 0.3
    assert trend_of([1e300, 1e-300] * 20).noise == pytest.approx(1.0)


def test_height_over_the_start():
    assert trend_of([2.0, 3.0, 4.0] + [6.0] * 40).over_start == pytest.approx(2.0)
    assert trend_of([-1.0] * 9).over_start == 0.0
    assert trend_of([1.0] * 9 + [math.nan]).over_start == math.inf
    assert LossTrend().over_start == 0.0
