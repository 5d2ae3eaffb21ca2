"""The largest ratio of cubics is the global one."""

import numpy as np

from ravine.theory.ladder.iid import largest_ratio, polynomial_product


def test_against_a_dense_grid():
    rng = np.random.default_rng(0)
    n = 500
    numerator = tuple(rng.standard_normal((4, n)))
    low, high = rng.uniform(0.1, 1.0, n), rng.uniform(1.0, 3.0, n)
    # A positive cubic: roots below the interval, the constant first.
    a, b, c = rng.uniform(0.0, 0.09, (3, n))
    denominator = (-a * b * c, a * b + b * c + c * a, -(a + b + c), np.ones(n))
    best = largest_ratio(numerator, denominator, low, high)
    h = low + (high - low) * np.linspace(0.0, 1.0, 4001)[:, None]
    values = sum(c * h**k for k, c in enumerate(numerator))
    values = values / sum(c * h**k for k, c in enumerate(denominator))
    grid = values.max(axis=0)
    scale = np.abs(values).max(axis=0)
    assert np.all(grid <= best + 1e-12 * scale)
    assert np.all(grid >= best - 1e-5 * scale)
    assert np.mean(values.argmax(axis=0) % 4000 != 0) > 0.05  # some maxima lie inside


def test_products_of_polynomials():
    assert polynomial_product((1.0, 2.0), (3.0, 4.0, 5.0)) == (3.0, 10.0, 13.0, 10.0)
