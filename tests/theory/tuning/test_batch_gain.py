"""What a larger batch buys, against published gains and the ladder's own rates."""

import numpy as np
import pytest

from ravine import Curvature, Method, batch_gain, iid_rate, sgd
from ravine.theory.ladder.batch_noise import Batches
from ravine.theory.tuning.batch_gain import fastest_pair, fastest_sgd


def test_published_gains():
    """Q = 1000, L_max/L = 10: nothing to b = 10, 1.3 times at 30, 3 at 100, 11 at 1000."""
    result = batch_gain(Curvature(1, 1000), L_max=1e4, batch_sizes=[1, 10, 30, 100, 1000])
    assert result.gain == pytest.approx([1.0, 1.0, 1.3, 3.0, 11.0], rel=0.04)
    assert result.critical == pytest.approx(80.4906, rel=1e-5)
    assert "nothing up to batches of 10, 1.3 times at 30 and 11 times at 1000" in result.sentence


def test_large_batches_recover_exact_gradients():
    """Nesterov's best rate on quadratics is 1 - 2/√(3Q + 1); SGD's is (Q - 1)/(Q + 1)."""
    Q = 100.0
    exact = Batches(batch_size=1e12)
    best = fastest_pair(Curvature(1, Q), exact)[1]
    assert best.rate == pytest.approx(1.0 - 2.0 / np.sqrt(3.0 * Q + 1.0), rel=1e-4)
    plain = fastest_sgd(Curvature(1, Q), exact)
    assert plain.rate == pytest.approx((Q - 1.0) / (Q + 1.0), rel=1e-9)
    assert plain.method.alpha == pytest.approx(sgd(Curvature(1, Q)).alpha, rel=1e-6)


@pytest.mark.parametrize("size", [1, 20, 300])
def test_nothing_nearby_is_faster(size):
    curvature, known = Curvature(1, 50), {"L_max": 400.0, "batch_size": size}
    best = fastest_pair(curvature, Batches(**known))[1]
    assert best.rate == pytest.approx(float(iid_rate(curvature, best.method, **known)), rel=1e-14)
    alpha, beta = float(best.method.alpha), float(best.method.beta)
    plane = Method(alpha * np.geomspace(0.1, 4.0, 200)[:, None], np.linspace(-0.9, 0.99, 200))
    assert iid_rate(curvature, plane, **known).min() >= best.rate * (1.0 - 1e-9)
    near = Method(alpha * np.linspace(0.99, 1.01, 41)[:, None], beta + np.linspace(-0.01, 0.01, 41))
    assert iid_rate(curvature, near, **known).min() >= best.rate * (1.0 - 1e-10)


def test_a_larger_batch_never_hurts():
    result = batch_gain(Curvature(1, 50), L_max=400, batch_sizes=[300, 1, 20])
    assert result.batch_sizes == (1.0, 20.0, 300.0)
    for tuned in (result.sgd, result.momentum):
        rates = [one.rate for one in tuned]
        assert rates == sorted(rates, reverse=True)
    assert np.all(np.diff(result.gain) >= 0.0)
    assert result.gain[0] == 1.0


def test_one_batch_size_is_named_once():
    result = batch_gain(Curvature(1, 1000), L_max=10_000, batch_sizes=[64])
    assert result.sentence.count("times at 64") == 1


def test_no_step_of_sgd_is_faster():
    rng = np.random.default_rng(0)
    for _ in range(20):
        Q, share, size = 10.0 ** rng.uniform([0.01, 0.0, 0.0], [4.0, 3.0, 5.0])
        known = {"L_max": share * Q, "batch_size": size, "mu_min": rng.uniform(0.0, 1.0)}
        best = fastest_sgd(Curvature(1, Q), Batches(**known))
        line = Method(float(best.method.alpha) * np.geomspace(0.5, 2.0, 101))
        assert iid_rate(Curvature(1, Q), line, **known).min() >= best.rate * (1.0 - 1e-13)


@pytest.mark.parametrize(
    ("Q", "share", "size"), [(1.20636, 5.438, 11302.0), (1.08625, 20.81, 183289.0)]
)
def test_of_two_valleys_as_close_as_the_rate_the_lower_is_found(Q, share, size):
    known = {"L_max": share * Q, "batch_size": size}
    curvature = Curvature(1, Q)
    best = fastest_pair(curvature, Batches(**known))[1]
    log_step, s = np.log(float(best.method.alpha)), np.arctanh(float(best.method.beta))
    near = 3.0 * best.rate * np.linspace(-1.0, 1.0, 301)
    rates = iid_rate(
        curvature, Method(np.exp(log_step + near[:, None]), np.tanh(s + near)), **known
    )
    assert np.log(best.rate) <= np.log(rates.min()) * (1.0 - 1e-6)


@pytest.mark.parametrize("Q", [1e7, 1e9, 1e11])
def test_a_gain_is_seen_where_rates_are_next_to_1(Q):
    """Efficiency 1 per sample up to b of about K √Q, where SGD has lost half at 5.8 K."""
    plain, fast = fastest_pair(Curvature(1, Q), Batches(10 * Q, 58.0))
    assert np.log(fast.rate) / np.log(plain.rate) == pytest.approx(2.0, rel=0.02)


def test_curvatures_beyond_the_digits_of_a_rate_are_refused():
    with pytest.raises(ValueError, match="mu must be large enough against L for float64"):
        batch_gain(Curvature(1e-15, 1), L_max=10)


def test_no_gain_is_said_so():
    result = batch_gain(Curvature(1, 50), L_max=4000, batch_sizes=[1, 4])
    assert "momentum gains nothing over SGD up to batches of 4." in result.sentence


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="batch_sizes must be positive"):
        batch_gain(Curvature(1, 50), batch_sizes=[0])
    with pytest.raises(ValueError, match="L_max must be a single number"):
        batch_gain(Curvature(1, 4), L_max=[8, 16])
    with pytest.raises(ValueError, match="L must be a single number"):
        batch_gain(Curvature(1, [2, 3]))
