"""Senses of growth, and the power of the norm that each averages."""

import pytest

from ravine.arguments import Refusal
from ravine.theory.finite_sums.sense import Sense


@pytest.mark.parametrize(
    ("word", "power", "norm"),
    [
        ("almost-sure", 1, "‖y - x*‖ changes"),
        ("mean", 1, "E‖y - x*‖ "),
        ("mean-square", 2, "E‖y - x*‖² "),
    ],
)
def test_every_sense_has_its_power_and_names_its_norm(word, power, norm):
    sense = Sense.parse(word)
    assert sense.power == power
    assert norm in sense.sentence


def test_an_unknown_sense_is_refused_with_the_words_that_are_known():
    with pytest.raises(Refusal, match="sense must be one of almost-sure, mean, mean-square"):
        Sense.parse("median")
