"""What is known of single terms becomes their curvature and the noise of a batch."""

import numpy as np

from ravine import Curvature
from ravine.theory.ladder.batch_noise import SINGLE_TERMS, Batches, batch_noise


def test_nothing_said_means_the_given_curvature():
    terms = SINGLE_TERMS.terms(Curvature(2, 8))
    assert (terms.mu, terms.L) == (2.0, 8.0)
    assert not SINGLE_TERMS.flat_terms


def test_samples_may_be_flat_unless_told_otherwise():
    terms = Batches(L_max=80.0).terms(Curvature(2, 8))
    assert terms.L == 80.0
    assert 0.0 < terms.mu < 1e-200
    assert Batches(L_max=80.0).flat_terms
    kept = Batches(L_max=80.0, mu_min=1.0)
    assert not kept.flat_terms
    assert kept.terms(Curvature(2, 8)).mu == 1.0


def test_the_largest_variance_is_that_of_the_two_ends():
    """A share p of terms L_max, the rest mu_min: variance p (1-p)(L_max - mu_min)², over b."""
    for share in (0.1, 0.5, 0.8):
        mean = 1.0 + share * 9.0
        noise = batch_noise(Curvature(mean, mean), L_max=10.0, mu_min=1.0, batch_size=4)
        variance = noise.share * (mean - noise.least) * (noise.most - mean)
        assert np.isclose(variance, share * (1.0 - share) * 81.0 / 4.0, rtol=1e-14)
