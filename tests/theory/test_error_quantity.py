import pytest

from ravine.theory.error_quantity import ErrorQuantity


def test_each_quantity_says_what_it_is():
    assert [q.sentence for q in ErrorQuantity] == ["E‖y - x*‖²", "E f(y) - f*"]
    assert ErrorQuantity.parse("objective", "quantity") is ErrorQuantity.OBJECTIVE


def test_another_word_is_refused():
    with pytest.raises(ValueError, match="quantity must be one of distance, objective, got 'loss'"):
        ErrorQuantity.parse("loss", "quantity")
