"""Batches without replacement, and numbers that cannot be."""

from itertools import combinations

import numpy as np
import pytest

from ravine import Curvature
from ravine.theory.ladder.batch_noise import batch_noise


def test_batches_without_replacement_by_enumeration():
    terms = np.array([1.0, 1.0, 1.0, 5.0, 5.0, 1.0])
    mean = terms.mean()
    for size in range(1, 7):
        batches = [np.mean(batch) for batch in combinations(terms, size)]
        noise = batch_noise(Curvature(mean, mean), L_max=5.0, mu_min=1.0, batch_size=size, rows=6)
        variance = noise.share * (mean - noise.least) * (noise.most - mean)
        assert variance == pytest.approx(np.var(batches), abs=1e-14)


def test_arrays_broadcast():
    noise = batch_noise(Curvature(1.0, [2.0, 3.0]), L_max=4.0, batch_size=np.ones((3, 1)))
    assert noise.shape_with() == (3, 1)
    with pytest.raises(ValueError, match="batch_size must be a real number"):
        batch_noise(Curvature(1.0, 2.0), batch_size="many")
