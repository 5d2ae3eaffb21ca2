"""Three batch sizes, against the laws for large Q and against the rates themselves."""

import numpy as np
import pytest

from ravine import Curvature, Method, batch_gain, batch_sizes, iid_rate, useful_batch_size
from ravine.theory.ladder.batch_noise import Batches
from ravine.theory.tuning.batch_gain import fastest_pair, fastest_sgd
from ravine.theory.tuning.table_moments import TableMoments


@pytest.mark.parametrize("efficiency", [0.25, 0.5, 0.9])
def test_the_efficiency_of_sgd_is_the_one_asked_for(efficiency):
    curvature = Curvature(1, 1e5)
    best = useful_batch_size(curvature, L_max=3e6, method="sgd", efficiency=efficiency)
    samples = [
        size * fastest_sgd(curvature, Batches(3e6, size)).steps_per_digit
        for size in (1.0, best.size)
    ]
    assert samples[0] / samples[1] == pytest.approx(efficiency, rel=5e-3)
    assert best.size == pytest.approx(best.law, rel=5e-3)


def test_tuned_nesterov_follows_its_law_at_large_Q():
    curvature = Curvature(1, 1e5)
    best = useful_batch_size(curvature, L_max=1e6)
    assert best.law == pytest.approx(2.4997 * 10 * np.sqrt(1e5), rel=1e-4)
    assert float(best) == pytest.approx(best.law, rel=0.02)
    steps = [
        fastest_pair(curvature, Batches(1e6, size))[1].steps_per_digit for size in (best.size, 1e12)
    ]
    assert steps[0] / steps[1] == pytest.approx(1.848, rel=0.02)


def test_the_three_sizes_scale_differently():
    sizes = batch_sizes(Curvature(1, 1000), L_max=10_000)
    assert sizes.stable == pytest.approx(80.4906, rel=1e-5)
    assert 10 < sizes.momentum_pays < 25
    assert sizes.useful.size == pytest.approx(sizes.useful.law, rel=0.05)
    assert sizes.useful_sgd.size == pytest.approx(1 + (3 + 2 * np.sqrt(2)) * 10, rel=0.01)


@pytest.mark.parametrize("momenta", [(0.0,), (0.8,)])
def test_steps_on_a_table_are_those_of_runs(momenta):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 3)) * [2.0, 1.0, 0.7]
    y = X @ [1.0, 1.0, 1.0] + 0.3 * rng.standard_normal(300)
    table = TableMoments(X, y)
    best = table.fewest_steps(momenta, 0.05, 8.0)
    alphas = np.geomspace(0.01, 1.0, 25)
    runs = min(run_until(X, y, alpha, momenta[0], 8, 0.05) for alpha in alphas)
    assert best == pytest.approx(runs, rel=0.25)


def run_until(X, y, lr, beta, batch, share, most=200, seeds=400):
    """Steps of Nesterov's method until the mean excess over many runs is this share."""
    rng = np.random.default_rng(0)
    minimiser = np.linalg.lstsq(X, y)[0]
    H = X.T @ X / len(X)
    first = minimiser @ H @ minimiser
    w = np.zeros((seeds, X.shape[1]))
    v = np.zeros_like(w)
    for k in range(most):
        rows = rng.integers(len(X), size=(seeds, batch))
        error = (X[rows] @ w[:, :, None])[..., 0] - y[rows]
        g = (X[rows] * error[..., None]).mean(axis=1)
        v = beta * v + g
        w = w - lr * (g + beta * v)
        if np.einsum("si,ij,sj->s", w - minimiser, H, w - minimiser).mean() < share * first:
            return k + 1
    return np.inf


def test_on_a_table_noise_makes_larger_batches_useful():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((500, 4))
    sizes = [
        useful_batch_size(data=(X, X.sum(axis=1) + noise * rng.standard_normal(500)), method="sgd")
        for noise in (0.0, 0.3, 3.0)
    ]
    assert 3 < sizes[0].size < 15  # 1 + 5.8 K with K about 2.2, and exact at once
    assert sizes[0].size < sizes[1].size < sizes[2].size <= 500
    assert sizes[0].law is None


def test_equal_terms_of_one_curvature_are_solved_by_a_single_sample():
    sizes = batch_sizes(Curvature(3, 3))
    assert (sizes.stable, sizes.momentum_pays) == (0.0, np.inf)
    assert sizes.useful.size == sizes.useful_sgd.size == 1.0
    assert batch_gain(Curvature(3, 3), batch_sizes=[1, 10]).gain.tolist() == [1.0, 1.0]


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="efficiency must be below 1"):
        useful_batch_size(Curvature(1, 8), efficiency=1.0)
    with pytest.raises(ValueError, match="accuracy must be below 1"):
        useful_batch_size(data=([[1.0], [2.0]], [1.0, 3.0]), accuracy=2.0)
    with pytest.raises(ValueError, match="X, y must be related"):
        useful_batch_size(data=([[1.0], [2.0]], [0.0, 0.0]))
    with pytest.raises(ValueError, match="L_max must be a single number"):
        useful_batch_size(Curvature(1, 8), L_max=[10, 20])
    with pytest.raises(ValueError, match="mu must be a single number"):
        batch_sizes(Curvature([1, 2], 8))
    with pytest.raises(ValueError, match="method must be sgd or nesterov"):
        useful_batch_size(Curvature(1, 8), method="adam")
    with pytest.raises(ValueError, match="curvature must be given, or data"):
        useful_batch_size()


def test_at_the_size_where_momentum_is_stable_it_is_far_from_exact_gradients():
    curvature, K = Curvature(1, 1000), 10.0
    steps = [fastest_pair(curvature, Batches(K * 1000, b))[1] for b in (K * np.sqrt(1000), 1e12)]
    assert 2.5 < steps[0].steps_per_digit / steps[1].steps_per_digit < 3.5


def test_with_the_steepest_sample_given_samples_may_be_flat():
    curvature, method, known = Curvature(1, 20), Method(0.02, 0.5), {"L_max": 90.0}
    rates = [iid_rate(curvature, method, **known, mu_min=least) for least in (None, 0.0, 1.0)]
    assert rates[0] == rates[1] > rates[2]
    alone = [iid_rate(curvature, method, mu_min=least) for least in (None, 1.0, 0.0)]
    assert alone[0] == alone[1] < alone[2]
