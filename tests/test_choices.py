"""A choice is a word that people type, with a sentence."""

import pytest

from ravine.arguments import Choice, Refusal


class Colour(Choice):
    RED = "red", "like a tomato", 1
    BLUE = "deep-blue", "like the sea", 2


def test_a_member_is_its_word_with_a_sentence_and_traits():
    assert Colour.BLUE == "deep-blue"
    assert Colour.BLUE.sentence == "like the sea"
    assert [colour.traits for colour in Colour] == [1, 2]


def test_members_and_words_are_parsed():
    assert Colour.parse("deep-blue") is Colour.BLUE
    assert Colour.parse(Colour.RED) is Colour.RED


@pytest.mark.parametrize(("name", "shown"), [(None, "colour"), ("paint", "paint")])
def test_a_refusal_names_the_parameter_and_the_words(name, shown):
    with pytest.raises(Refusal, match=rf"{shown} must be one of red, deep-blue, got 'green'"):
        Colour.parse("green", name)
