"""Second moments with random curvature, against enumeration and against additive noise alone."""

from itertools import product

import numpy as np
import pytest

from ravine import Curvature, Method, second_moment
from ravine.theory.ladder.batch_noise import batch_noise
from ravine.theory.tuning.batch_budget import batch_moment, fastest_batch_budget


def test_two_point_curvature_by_enumeration():
    """Terms of curvature 1 or 5, one of them in four: all paths of six steps, without noise."""
    method, steps, mean = Method(0.2, 0.5, 0.3), 6, 2.0
    total = 0.0
    for path in product((1.0, 5.0), repeat=steps):
        x = before = 2.0
        for curvature in path:
            y = x + 0.3 * (x - before)
            x, before = x + 0.5 * (x - before) - 0.2 * curvature * y, x
        chance = np.prod([0.75 if c == 1.0 else 0.25 for c in path])
        total += chance * (x + 0.3 * (x - before)) ** 2
    noise = batch_noise(Curvature(mean, mean), L_max=5.0, mu_min=1.0)
    found = batch_moment(np.array([mean]), method, noise, sigma2=0.0, distance=2.0, steps=steps)
    assert found[0] == pytest.approx(total, rel=1e-12)


def test_without_random_curvature_it_is_additive_noise():
    lam = np.array([0.5, 1.0, 3.0])
    noise = batch_noise(Curvature(0.5, 3.0), variance=0.0)
    method = Method(0.3, 0.6)
    for steps in (1, 2, 13, 100):
        found = batch_moment(lam, method, noise, sigma2=0.7, distance=1.5, steps=steps)
        exact = second_moment(lam, method, sigma2=0.7, start=1.5, steps=steps)[-1]
        np.testing.assert_allclose(found, exact, rtol=1e-11)


def test_the_budget_grows_less_than_it_was():
    method, value = fastest_batch_budget(
        Curvature(1, 10), batch_size=5, L_max=50, sigma2=0.0, distance=2.0, steps=40
    )
    assert 0.0 < value < 4.0
    assert 0.0 < method.alpha < 0.4


@pytest.mark.parametrize(
    ("options", "line"),
    [({"steps": 0}, "steps must be at least 1"), ({"sigma2": -1.0}, "sigma2 must be zero or more")],
)
def test_bad_input_is_refused(options, line):
    given = {"batch_size": 2, "sigma2": 1.0, "distance": 1.0, "steps": 5, **options}
    with pytest.raises(ValueError, match=line):
        fastest_batch_budget(Curvature(1, 10), **given)
