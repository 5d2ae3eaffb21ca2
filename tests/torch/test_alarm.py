import math

import pytest

from ravine.torch.alarm import (
    WARNING,
    at_rest,
    curvature_words,
    danger,
    growth_words,
    loss_words,
    lowered,
    remedy_words,
    warns,
)
from ravine.torch.reading import Reading
from ravine.torch.trend import LossTrend


def trend_of(growth, steps=14, calm=40):
    """A loss that fell to a tenth, then grows by a factor a step."""
    trend = LossTrend()
    for _ in range(5):
        trend.add(10.0)
    for _ in range(calm):
        trend.add(1.0)
    for k in range(steps):
        trend.add(growth**k)
    return trend


@pytest.mark.parametrize(
    ("growth", "margin", "lrs", "warned"),
    [
        (1.0, 3.0, (1.0, 1.0), False),  # beyond the limit, loss at rest
        (1.35, 1.0, (1.0, 1.0), True),  # rising fast
        (1.2, 0.8, (1.0, 1.0), False),  # within the limit
        (1.15, 2.0, (1.0, 1.0), True),  # slowly, beyond it
        (1.2, 0.8, (1.2, 1.05), True),  # within the limit, and lr grows
        (1.0, 2.0, (1.5, 1.5), True),  # lr jumped beyond the limit
        (1.0, 2.0, (1.1, 1.1), False),
        (1.0, 1.5, (1.5, 1.5), False),
        (1.0, 1.0, (1.02**20, 1.02**5), True),  # lr grows on, to 1.49 times the limit
        (1.0, 0.9, (1.02**20, 1.02**5), False),  # to 1.34 times
        (1.0, 1.0, (1.5, 60 / 55), False),  # a warm-up of 60 steps
        (1.0, 1.2, (1.01**20, 1.01**5), False),  # too slow to tell
    ],
)  # fmt: skip
def test_when_it_warns(growth, margin, lrs, warned):
    trend = trend_of(growth)
    assert warns(trend, danger(trend, margin, *lrs)) == warned


def test_danger_is_the_formula():
    trend = trend_of(1.05)
    rise = math.log(trend.rise)
    assert 0.0 < rise < 1.0
    expected = math.log((rise + 0.1) / (0.5 * trend.noise + 0.1)) + 1.2 * math.log(1.5)
    expected += 0.5 * (math.log(trend.over_start) + 2.0)
    assert danger(trend, 1.5) == pytest.approx(expected)
    assert danger(trend, 1.5, growth_of_lr=1.1) == pytest.approx(expected + 0.5)
    assert danger(trend, 1.5, momentum=0.9) == pytest.approx(expected + 0.2 * math.log(10.0))
    assert danger(trend, 1.5, momentum=-0.9) == pytest.approx(expected)


class Trend:
    """What danger looks at, as given."""

    count = 50
    noise = 0.0
    over_start = 1e9

    def __init__(self, rise):
        self.rise = rise


@pytest.mark.parametrize("momentum", [0.0, 0.9, 0.99, -0.5])
def test_a_loss_at_rest_cannot_warn_while_lr_stays(momentum):
    rise = at_rest(momentum)
    above = Trend(max(1.001 * rise, 1.001))
    assert warns(above, danger(above, 1e9, momentum=momentum))
    if rise > 1.0:
        below = Trend(0.999 * rise)
        assert not warns(below, danger(below, 1e9, momentum=momentum))


def test_noise_excuses_a_rise():
    noisy = LossTrend()
    for _ in range(5):
        noisy.add(10.0)
    for k in range(40):
        noisy.add(1.5 ** (-1) ** k)
    for k in range(14):
        noisy.add(1.1**k)
    calm = trend_of(1.1)
    # Against batches that differ by ln 1.5² = 0.8 the same rise counts for a fifth.
    assert danger(noisy, 2.0) < danger(calm, 2.0) - 1.0


def test_what_is_not_a_number_is_danger_and_the_first_losses_are_not():
    assert danger(trend_of(1.0), math.nan) == math.inf
    lost = trend_of(1.0)
    lost.add(math.inf)
    assert warns(lost, danger(lost, 1.0))
    young = LossTrend()
    for k in range(9):
        young.add(3.0**k)
    assert danger(young, 4.0) > WARNING
    assert not warns(young, danger(young, 4.0))


def test_lr_goes_back_to_a_safe_margin():
    assert lowered(2.8) == pytest.approx(0.25)
    assert lowered(0.5) == 0.5
    assert lowered(float("inf")) == 0.1


def test_words_name_cause_and_remedy():
    words = loss_words(trend_of(1.35))
    assert "times its least and at its pace ten times its start in" in words
    assert loss_words(trend_of(1.0)) == ""
    assert growth_words(1.49) == ", and will be 1.5 times it in 20 steps"
    assert growth_words(1.3) == ""
    before = [Reading(40, 0.1, 0.9, 2.0, 1.0, 0.1, 1.0, 1.0, 0.0, 0.0, "calm", "", "")]
    assert curvature_words(60, 8.0, before) == ", whose curvature grew 4 times in 20 steps"
    assert curvature_words(60, 2.0, before) == ""
    # Curvature 2, Nesterov: stable below 0.75 with momentum 0.5, below 1 with momentum 0.
    assert remedy_words(0.7, 1.03, 2.0, 4.0, 0.9, 0.9) == "; lower lr to 0.35 or set momentum 0"
    assert remedy_words(0.58, 0.85, 2.0, 4.0, 0.9, 0.9) == "; lower lr to 0.29 or set momentum 0.5"
