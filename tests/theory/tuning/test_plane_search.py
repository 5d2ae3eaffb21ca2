"""The search over step size and momentum on functions with a known least value."""

import numpy as np
import pytest

from ravine.theory.tuning.plane_search import least, least_along, valleys

ALPHAS, BETAS = np.geomspace(1e-3, 10, 30), np.linspace(-1, 1, 21)


@pytest.mark.parametrize("cheap", [True, False])
def test_a_smooth_bowl(cheap):
    found = least(
        lambda a, b: 1 + np.log(a / 0.3) ** 2 + (b + 0.17) ** 2, ALPHAS, BETAS, cheap=cheap
    )
    # A value known to 1e-10 (1e-6) places the bottom to its root.
    assert (found.alpha, found.beta) == pytest.approx((0.3, -0.17), rel=1e-4 if cheap else 1e-2)
    assert found.value == pytest.approx(1, abs=1e-10 if cheap else 1e-5)


def test_a_slanted_kink_is_followed_to_its_end():
    # The largest of three planes has its least value, 1, where they meet.
    def tent(alpha, beta):
        x, y = np.log(alpha), beta
        return 1 + np.maximum(np.maximum(3 * x + y - 0.3, -3 * x + 2 * y - 0.6), -2 * y - x + 0.5)

    found = least(tent, ALPHAS, BETAS, cheap=True)
    # Meeting point of the planes, by linear algebra, is the least value or better.
    meeting = np.linalg.solve([[3, 1, -1], [-3, 2, -1], [-1, -2, -1]], [0.3, 0.6, -0.5])
    assert found.value == pytest.approx(1 + meeting[2], abs=1e-6)


def test_the_lower_of_two_valleys_wins():
    def two(alpha, beta):
        x = np.log(alpha)
        wide = 0.5 + 0.1 * (x + 3) ** 2 + 0.1 * (beta - 0.5) ** 2
        narrow = 0.4 + 9 * (x - 1) ** 2 + 9 * (beta + 0.5) ** 2
        return np.minimum(wide, narrow)

    assert len(valleys(two, ALPHAS, BETAS)) == 2
    assert least(two, ALPHAS, BETAS, cheap=True).value == pytest.approx(0.4, abs=1e-9)


def test_infinite_values_are_walls():
    def walled(alpha, beta):
        return np.where(beta < 0.3, np.inf, 1 + np.log(alpha) ** 2 + beta)

    found = least(walled, ALPHAS, BETAS, cheap=True)
    assert found.value == pytest.approx(1.3, abs=1e-6)


def test_along_a_line():
    place, value = least_along(lambda a: np.abs(np.log(a / 0.7)), ALPHAS)
    assert place == pytest.approx(0.7, rel=1e-9)
    assert value < 1e-9
