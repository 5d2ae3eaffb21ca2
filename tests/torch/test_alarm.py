import pytest

from ravine.torch.alarm import curvature_words, loss_words, lowered, remedy_words, warns
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
    ("growth", "margin", "ratio", "warned"),
    [
        (1.0, 2.0, 1.0, False),  # at the edge, loss at rest
        (1.35, 0.5, 1.0, True),  # ten times its start in a few steps, whatever the margin
        (1.2, 0.9, 1.0, False),  # slower
        (1.2, 1.7, 1.0, True),  # and beyond the limit
        (1.0, 3.0, 1.5, True),  # lr jumped far beyond the limit
        (1.0, 3.0, 1.1, False),
    ],
)  # fmt: skip
def test_when_it_warns(growth, margin, ratio, warned):
    assert warns(trend_of(growth), margin, ratio) == warned


def test_a_loss_far_above_its_least_warns_beyond_the_limit_alone():
    slow = trend_of(1.04, steps=64)
    assert slow.rise > 7.5
    assert not warns(slow, 0.9, 1.0)
    assert warns(slow, 1.1, 1.0)


def test_lr_goes_back_to_a_safe_margin():
    assert lowered(2.8) == pytest.approx(0.25)
    assert lowered(0.5) == 0.5
    assert lowered(float("inf")) == 0.1


def test_words_name_cause_and_remedy():
    words = loss_words(trend_of(1.35))
    assert "times its least and at its pace ten times its start in" in words
    assert loss_words(trend_of(1.0)) == ""
    before = [Reading(40, 0.1, 0.9, 2.0, 1.0, 0.1, 1.0, 1.0, 0.0, "calm", "", "")]
    assert curvature_words(60, 8.0, before) == ", whose curvature grew 4 times in 20 steps"
    assert curvature_words(60, 2.0, before) == ""
    # Curvature 2, Nesterov: stable below 0.75 with momentum 0.5, below 1 with momentum 0.
    assert remedy_words(0.7, 1.03, 2.0, 4.0, 0.9, 0.9) == "; lower lr to 0.35 or set momentum 0"
    assert remedy_words(0.58, 0.85, 2.0, 4.0, 0.9, 0.9) == "; lower lr to 0.29 or set momentum 0.5"
