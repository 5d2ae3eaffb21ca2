import numpy as np
import pytest

from ravine.web.ticks import at, even, powers, written


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (0, 3), (0, 7), (0, 200), (0, 5000), (-1, 1), (0.94, 1.0), (0.1, 99)]
)
def test_round_numbers_inside_the_range(low, high):
    places = np.array(even(low, high, 6)["tickvals"])
    assert 2 <= len(places) <= 6
    assert (places >= low - 1e-9).all()
    assert (places <= high + 1e-9).all()
    assert np.ptp(np.diff(places)) < 1e-9
    assert [float(word.replace("−", "-")) for word in even(low, high, 6)["ticktext"]] == [
        pytest.approx(place, rel=1e-5) for place in places
    ]


@pytest.mark.parametrize(("low", "high"), [(-3.2, 1.0), (-16, 12), (0.1, 2.2), (-2.5, -0.4)])
def test_powers_of_ten_inside_the_range(low, high):
    exponents = np.log10(powers(low, high, 7)["tickvals"])
    assert 1 <= len(exponents) <= 7
    assert (exponents >= low - 1e-9).all()
    assert (exponents <= high + 1e-9).all()
    if low <= 0.0 <= high:
        assert 0.0 in exponents
    assert powers(low, high, 7, logarithms=True)["tickvals"] == pytest.approx(list(exponents))


def test_words_have_a_true_minus():
    assert written(-3) == "−3"
    assert at([0.001, 0.3])["ticktext"] == ["0.001", "0.3"]
    assert powers(-2, 1, 7)["ticktext"] == ["10<sup>−2</sup>", "10<sup>−1</sup>", "1", "10"]
