"""Every refusal is one line with the parameter, the rule, the value and the remedy."""

import numpy as np
import pytest

from ravine import arguments
from ravine.arguments import (
    Refusal,
    broadcast,
    in_words,
    memory_available,
    one_number,
    real,
    refuse_too_large,
    seed_number,
    whole,
)


def test_scalars_stay_scalars_and_arrays_arrays():
    assert isinstance(real("mu", 3, remedy="r"), np.float64)
    assert real("mu", [1, 2], remedy="r").shape == (2,)


@pytest.mark.parametrize(
    ("value", "rule", "message"),
    [
        (-1.0, "positive", "mu must be positive and finite, got -1: do this"),
        (0.0, "positive", "mu must be positive and finite, got 0: do this"),
        (np.nan, "finite", "mu must be finite, got nan: do this"),
        (np.inf, "positive", "mu must be positive and finite, got inf: do this"),
        (-0.5, "nonnegative", "mu must be zero or more, and finite, got -0.5: do this"),
        (1.0, "inside (-1, 1)", "mu must be between -1 and 1, got 1: do this"),
        ([], "finite", "mu must be non-empty, got an array of shape (0,): do this"),
        (
            [[1.0, -2.0]],
            "positive",
            "mu must be positive and finite, got -2 at index (0, 1): do this",
        ),
    ],
)
def test_values_outside_the_rule(value, rule, message):
    with pytest.raises(ValueError, match="mu must") as caught:
        real("mu", value, rule, remedy="do this")
    assert str(caught.value) == message


@pytest.mark.parametrize("value", ["3", None, 1j, object(), [[1, 2], [3]]])
def test_what_is_no_number(value):
    with pytest.raises(TypeError, match=r"mu must be a real number or an array of them, got \w+ "):
        real("mu", value, remedy="do this")


def test_whole_numbers():
    assert whole("n", np.int64(3), 1, remedy="r") == 3
    with pytest.raises(ValueError, match="n must be at least 3, got 2: r"):
        whole("n", 2, 3, remedy="r")
    for wrong in (2.0, "2", True):
        with pytest.raises(TypeError, match="n must be a whole number"):
            whole("n", wrong, 1, remedy="r")


def test_one_number_refuses_arrays():
    with pytest.raises(
        ValueError, match=r"Q must be a single number, got an array of shape \(2,\)"
    ):
        one_number("Q", [1.0, 2.0], remedy="r")


def test_shapes_that_do_not_fit():
    assert broadcast(a=np.ones((3, 1)), b=np.ones(4), c=np.float64(1.0)) == (3, 4)
    with pytest.raises(ValueError, match=r"a and b must be of shapes .* got a \(3,\), b \(4,\)"):
        broadcast(a=np.ones(3), b=np.ones(4), c=np.float64(1.0))


def test_masked_entries_are_refused_and_unmasked_ones_kept():
    values = np.ma.masked_array([1.0, 2.0], [False, True])
    with pytest.raises(ValueError, match=r"L must be free of masked entries.*L\.filled"):
        real("L", values, remedy="none")
    whole = np.ma.masked_array([1.0, 2.0], [False, False])
    assert real("L", whole, remedy="none").tolist() == [1.0, 2.0]


def test_numbers_keep_to_the_range_in_which_theory_is_total():
    for value, rule in ((1e51, "positive"), (1e-51, "positive"), (1e51, "nonnegative")):
        with pytest.raises(Refusal, match=r"a must be .*1e\+50, got 1e.51: rescale"):
            real("a", value, rule, remedy="r")
    with pytest.raises(Refusal, match=r"a must be between -1e\+50 and 1e\+50, got -1e\+51"):
        real("a", -1e51, remedy="r")
    assert real("a", 1e300, "of any size", remedy="r") == 1e300
    assert real("a", 1e-300, "nonnegative", remedy="r") == 1e-300


def test_seeds_have_up_to_128_bits():
    assert seed_number("seed", 2**128 - 1) == 2**128 - 1
    for wrong in (2**128, -1, 0.5, None, True, "1"):
        with pytest.raises(Refusal, match="seed must be"):
            seed_number("seed", wrong)


def test_any_value_has_short_words():
    assert in_words("a\nb") == r"'a\nb'"
    assert len(in_words("a" * 1000)) == 60
    assert len(in_words(list(range(1000)))) < 60
    assert "\n" not in in_words(np.eye(30))


def test_a_refusal_is_one_line_whatever_was_given():
    line = str(Refusal("a", "b", "two\nlines " + "x" * 1000, "d"))
    assert "\n" not in line
    assert len(line) < 300


def test_what_is_too_large_is_refused_with_its_size():
    refuse_too_large("n", 1.0, 1, "take fewer")
    with pytest.raises(Refusal, match=r"n must be small enough .* got 7, .* 1.2 EB of memory"):
        refuse_too_large("n", 2.0**60, 7, "take fewer")
    with pytest.raises(Refusal, match=r"a and b must be small enough .* \(1000000, 1000000\)"):
        broadcast(a=np.ones((10**6, 1)), b=np.ones((1, 10**6)))


def test_a_container_may_have_less_memory_than_the_machine(monkeypatch, tmp_path):
    monkeypatch.setattr(arguments, "_CONTAINER", tmp_path)
    machine = memory_available()
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("400\n")
    assert memory_available() == 600.0
    (tmp_path / "memory.max").write_text("max\n")
    assert memory_available() == pytest.approx(machine, rel=0.5)
