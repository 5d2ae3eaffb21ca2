import pytest

from ravine.diagnosis.candidates import (
    LINEAR,
    Recipe,
    momentum_digits,
    parameters,
    rounded,
)
from ravine.methods import Method


def test_a_step_that_falls_ends_near_zero():
    assert Recipe(Method(0.1), LINEAR).factors(4).tolist() == [1.0, 0.75, 0.5, 0.25]
    assert Recipe(Method(0.1), 0.5).factors(8)[:4].tolist() == [1.0] * 4
    assert Recipe(Method(0.1)).constant


@pytest.mark.parametrize("beta", [0.99999, 1.0 - 1e-7, 0.9996])
def test_a_momentum_never_rounds_or_prints_as_one(beta):
    assert float(rounded(Method(0.1, beta)).beta) < 1.0
    assert float(momentum_digits(beta)) < 1.0


def test_steps_are_rounded_down_to_three_digits():
    method = rounded(Method(0.00123956, 0.912345))
    assert float(method.alpha) == 0.00123
    assert float(method.beta) == pytest.approx(0.912, abs=1e-9)


def test_words_say_all_that_a_script_needs():
    recipe = Recipe(Method(0.01, 0.9), LINEAR, averaged=True)
    assert recipe.words == (
        "lr = 0.01, momentum = 0.9, decaying linearly to 0, averaging the second half"
    )
    assert "look-ahead = 0" in parameters(Method(0.01, 0.9, 0.0))
    assert float(recipe.scaled(0.5).method.alpha) == 0.005
