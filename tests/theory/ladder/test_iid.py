"""The iid rung: attained in one dimension, above every sum tried, between its neighbours."""

import numpy as np
import pytest

from ravine import (
    Curvature,
    Method,
    growth,
    iid_noise_floor,
    nesterov,
    sgd,
    spectral_radius,
    stationary_variance,
    worst_case_rate,
)
from ravine.engine.kernels.finite_sum import ensemble
from ravine.problems import QuadraticSum
from ravine.theory.ladder.iid import critical_batch_size, iid_rate


def _parameters(rng, n):
    """Curvatures with L = 1, L_max, batch sizes and methods of the whole family."""
    mu = 10.0 ** -rng.uniform(0.0, 5.0, n)
    L_max = 10.0 ** rng.uniform(0.0, 2.0, n)
    size = np.floor(10.0 ** rng.uniform(0.0, 3.0, n))
    beta = rng.uniform(-1.1, 1.1, n)
    gamma = np.where(rng.random(n) < 0.5, beta, rng.uniform(-1.0, 1.5, n))
    alpha = 3.0 * 10.0 ** rng.uniform(-3.0, 0.0, n)
    return mu, L_max, size, Method(alpha, beta, gamma)


def _operator(h, w, beta, gamma):
    """E[B⊗B] on the second moments (E r², E rv, E v²), for h of variance w."""
    a, b, c, d = 1.0 - h * (1.0 + gamma), beta * (1.0 + gamma) - gamma, -h, beta
    matrix = np.array(
        [[a * a, 2 * a * b, b * b], [a * c, a * d + b * c, b * d], [c * c, 2 * c * d, d * d]]
    )
    matrix[:, 0] += w * np.array([(1.0 + gamma) ** 2, 1.0 + gamma, 1.0])
    return matrix


def test_published_critical_batch_sizes():
    for Q, share, expected in ((1e4, 10, 251.30937284762), (1e3, 10, 80.4906), (1e3, 100, 804.98)):
        curvature = Curvature(1.0, Q)
        found = critical_batch_size(curvature, nesterov(curvature), L_max=share * Q)
        assert found == pytest.approx(expected, rel=1e-5)
    curvature = Curvature(1.0, 1e4)
    assert critical_batch_size(curvature, nesterov(curvature), L_max=1e5) == pytest.approx(
        251.30937284762, rel=1e-12
    )


def test_the_rung_is_the_largest_radius_of_the_operator():
    """Against eigenvalues of the 3x3 matrix on a grid, whose best point may lie beside the true."""
    rng = np.random.default_rng(0)
    mu, L_max, size, method = _parameters(rng, 60)
    for least in (mu, np.zeros(60)):
        rates = iid_rate(Curvature(mu, 1.0), method, L_max=L_max, batch_size=size, mu_min=least)
        for i in range(60):
            alpha, beta, gamma = method.alpha[i], method.beta[i], method.gamma[i]
            lam = np.union1d(np.linspace(mu[i], 1.0, 300), np.geomspace(mu[i], 1.0, 300))
            lam = np.clip(lam, mu[i], 1.0)
            w = alpha**2 * (lam - least[i]) * (L_max[i] - lam) / size[i]
            radii = [
                np.abs(np.linalg.eigvals(_operator(alpha * x, v, beta, gamma))).max()
                for x, v in zip(lam, w, strict=True)
            ]
            best = np.sqrt(max(radii))
            # A threefold eigenvalue is known to the cube root of rounding.
            assert best <= rates[i] * (1.0 + 1e-5)
            assert best >= rates[i] * (1.0 - 1e-3)


def test_it_is_attained_in_one_dimension():
    """Terms of curvature mu_min or L_max in one dimension, in the share that is the worst."""
    rng = np.random.default_rng(3)
    for _ in range(30):
        mu, L_max = rng.uniform(0.01, 0.5), rng.uniform(1.0, 5.0)
        share = rng.integers(1, 10) / 10.0
        mean = mu + share * (L_max - mu)
        method = Method(rng.uniform(0.05, 1.0), rng.uniform(-0.5, 0.9))
        terms = np.array([[mu]] * round(10 * (1 - share)) + [[L_max]] * round(10 * share))
        seen = growth(terms, method, sampling="iid", sense="mean-square").value
        # A mean curvature known exactly: the interval [mean, mean].
        rung = iid_rate(Curvature(mean, mean), method, L_max=L_max, mu_min=mu)
        assert rung**2 == pytest.approx(float(seen), rel=1e-12)


def _random_sum(rng, d, mu, L_max):
    """Hessians of any directions, some of them at the ends of the allowed spectrum."""
    hessians = []
    for _ in range(rng.integers(2, 6)):
        U, _ = np.linalg.qr(rng.standard_normal((d, d)))
        ends = rng.random(d) < 0.7
        spectrum = np.where(ends, rng.choice([mu, L_max], d), rng.uniform(mu, L_max, d))
        hessians.append(U @ np.diag(spectrum) @ U.T)
    return np.array(hessians)


def test_no_sum_exceeds_the_rung():
    """Random sums that do not commute, drawn iid; the large search is in the benchmarks."""
    rng = np.random.default_rng(4)
    closest = 0.0
    for _ in range(150):
        mu, L_max = 10.0 ** rng.uniform(-2, -0.5), 1.0
        hessians = _random_sum(rng, int(rng.integers(1, 4)), mu, L_max)
        spectrum = np.linalg.eigvalsh(hessians.mean(axis=0))
        curvature = Curvature(max(spectrum[0], mu), min(spectrum[-1], L_max))
        method = Method(10.0 ** rng.uniform(-1.5, 0.3), rng.uniform(-0.5, 0.95))
        seen = np.sqrt(growth(hessians, method, sampling="iid", sense="mean-square").value)
        rung = iid_rate(curvature, method, L_max=L_max, mu_min=mu)
        assert seen <= rung * (1.0 + 1e-9)
        closest = max(closest, float(seen / rung))
    assert closest > 0.999


def test_it_lies_between_its_neighbours():
    rng = np.random.default_rng(5)
    mu, L_max, size, method = _parameters(rng, 5000)
    rate = iid_rate(Curvature(mu, 1.0), method, L_max=L_max, batch_size=size, mu_min=mu)
    assert np.all(spectral_radius(Curvature(mu, 1.0), method) <= rate)
    assert np.all(rate <= worst_case_rate(Curvature(mu, L_max), method) * (1.0 + 1e-12))


def test_it_crosses_one_at_the_critical_batch_size():
    rng = np.random.default_rng(6)
    mu, L_max, size, method = _parameters(rng, 5000)
    curvature = Curvature(mu, 1.0)
    rate = iid_rate(curvature, method, L_max=L_max, batch_size=size)
    limit = critical_batch_size(curvature, method, L_max=L_max)
    clear = np.abs(rate - 1.0) > 1e-9
    np.testing.assert_array_equal((limit < size)[clear], (rate < 1.0)[clear])
    assert clear.mean() > 0.98


def test_interpreted_and_compiled_agree():
    rng = np.random.default_rng(7)
    mu, L_max, size, method = _parameters(rng, 200)
    many = iid_rate(Curvature(mu, 1.0), method, L_max=L_max, batch_size=size)
    for i in range(0, 200, 10):
        one = Method(method.alpha[i], method.beta[i], method.gamma[i])
        few = iid_rate(Curvature(mu[i], 1.0), one, L_max=L_max[i], batch_size=size[i])
        assert few == pytest.approx(many[i], rel=1e-13)


def test_scaling_the_problem_changes_nothing():
    curvature, method = Curvature(1.0, 50.0), Method(0.01, 0.8)
    for unit in (1e-6, 1e6):
        scaled = Curvature(unit, 50.0 * unit), Method(0.01 / unit, 0.8)
        for batch_size in (1, 20):
            options = {"batch_size": batch_size}
            assert iid_rate(*scaled, L_max=300.0 * unit, **options) == pytest.approx(
                iid_rate(curvature, method, L_max=300.0, **options), rel=1e-12
            )


def test_a_huge_step_is_no_exception():
    rate = iid_rate(Curvature(1e-3, 1.0), Method(1e50, 0.5))
    assert 1e50 < rate < 1e52


def test_a_known_variance_and_a_finite_population():
    curvature, method = Curvature(1.0, 10.0), Method(0.05, 0.6)
    batches = iid_rate(curvature, method, variance=80.0, batch_size=4)
    assert batches == iid_rate(curvature, method, variance=20.0)
    # Without replacement: (n - b)/(n - 1) of it; a batch of all terms has none.
    some = iid_rate(curvature, method, L_max=40.0, batch_size=4, rows=13)
    assert some == pytest.approx(iid_rate(curvature, method, L_max=40.0, batch_size=16 / 3))
    whole = iid_rate(curvature, method, L_max=40.0, batch_size=13, rows=13)
    assert whole == pytest.approx(spectral_radius(curvature, method), rel=1e-15)


def test_the_critical_batch_of_a_finite_population_is_where_it_crosses():
    curvature = Curvature(1.0, 1000.0)
    method = nesterov(curvature)
    limit = float(critical_batch_size(curvature, method, L_max=1e4, rows=200))
    below, above = iid_rate(
        curvature, method, L_max=1e4, rows=200, batch_size=limit * np.array([0.999, 1.001])
    )
    assert below > 1.0 > above


def test_terms_that_do_not_differ_need_no_batch():
    equal = Curvature(0.3, 0.3)
    assert (critical_batch_size(equal, Method(0.3, 0.5), rows=[2, 7]) < 1e-15).all()
    assert critical_batch_size(equal, Method(1 / 3, 0.5, 0.2)) == 0.0
    # A single term is the whole objective, whatever L_max says of others.
    assert critical_batch_size(Curvature(1, 9), Method(0.1, 0.5), L_max=90, rows=1) == 0.0


@pytest.mark.parametrize("quantity", ["distance", "objective"])
def test_the_noise_floor_against_a_grid(quantity):
    rng = np.random.default_rng(8)
    mu, L_max, size, method = _parameters(rng, 400)
    curvature = Curvature(mu, 1.0)
    floor = iid_noise_floor(
        curvature, method, sigma2=2.0, quantity=quantity, L_max=L_max, batch_size=size
    )
    safe = critical_batch_size(curvature, method, L_max=L_max) < size
    np.testing.assert_array_equal(np.isfinite(floor), safe)
    grid = np.linspace(0.0, 1.0, 2001)[:, None]
    lam = mu ** (1.0 - grid)  # from mu to 1
    variance = np.where(safe, stationary_variance(lam, method).y, 0.0)
    amplified = 2.0 * variance / (1.0 - lam * (L_max - lam) / size * variance)
    best = (0.5 * lam * amplified if quantity == "objective" else amplified).max(axis=0)
    assert np.all(best[safe] <= floor[safe] * (1.0 + 1e-9))
    assert np.all(best[safe] >= floor[safe] * (1.0 - 1e-2))


def test_the_noise_floor_of_one_dimension_is_exact():
    """E y² of SGD on terms mu or L_max with a gradient that is independent of the term."""
    alpha, mu, L_max, share = 0.1, 1.0, 4.0, 0.25
    mean = mu + share * (L_max - mu)
    second = (1 - share) * (1 - alpha * mu) ** 2 + share * (1 - alpha * L_max) ** 2
    floor = iid_noise_floor(
        Curvature(mean, mean), Method(alpha), sigma2=0.3, L_max=L_max, mu_min=mu
    )
    assert floor == pytest.approx(alpha**2 * 0.3 / (1.0 - second), rel=1e-12)


def test_single_terms_of_equal_curvature_need_no_batch():
    curvature = Curvature(2.0, 2.0)
    assert critical_batch_size(curvature, sgd(curvature)) == 0.0
    assert iid_rate(curvature, Method(0.3, 0.5)) == spectral_radius(curvature, Method(0.3, 0.5))


def test_divergence_with_exact_gradients_cannot_be_bought():
    assert critical_batch_size(Curvature(1, 10), Method(1.0, 0.5), L_max=20) == np.inf


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"L_max": 5.0}, "L_max must be at least L, got L_max=5 with L=10"),
        ({"batch_size": 0.5}, "batch_size must be at least 1, got 0.5"),
        ({"variance": 1.0, "L_max": 20.0}, "L_max must be omitted with a known variance"),
        ({"variance": -1.0}, "variance must be zero or more"),
        ({"mu_min": 2.0}, "mu_min must be at most mu, got mu_min=2 with mu=1"),
        ({"batch_size": 8, "rows": 5}, "rows must be at least batch_size"),
        ({"batch_size": np.ma.masked_array([1.0, 2.0], [False, True])}, "free of masked entries"),
    ],
)
def test_bad_input_is_refused(options, line):
    with pytest.raises(ValueError, match=line):
        iid_rate(Curvature(1, 10), Method(0.1), **options)


@pytest.mark.parametrize(("size", "converges"), [(1, False), (2, False), (4, True), (8, True)])
def test_runs_of_the_engine_diverge_below_the_critical_batch_size(size, converges):
    """One sample in 50 has curvature 2 L, the others none to speak of; the mean is mu = 1.

    The growth of E y² from step 30 to step 70 over 20,000 runs, its standard error by a jackknife
    over 50 groups of them; five standard errors are allowed.
    """
    curvature = Curvature(1.0, 25.0)
    method = nesterov(curvature)
    flat = 1e-9
    steep = 50.0 - 49.0 * flat
    problem = QuadraticSum(np.array([steep] + [flat] * 49)[:, None, None])
    runs = ensemble(
        problem, method, [30, 70], trajectories=20_000, sampling="iid", batch=size, seed=size,
        start=problem.minimiser + 1.0,
    )  # fmt: skip
    groups = (runs.norms**2).reshape(2, 50, -1).mean(axis=2)

    def growth_without(i):
        left = np.delete(groups, i, axis=1).mean(axis=1)
        return np.log(left[1] / left[0]) / 40.0

    without = np.array([growth_without(i) for i in range(50)])
    measured = np.log(groups[1].mean() / groups[0].mean()) / 40.0
    error = np.sqrt(49.0 * without.var())
    # The engine's batches hold no sample twice: rows=50.
    rung = iid_rate(curvature, method, L_max=50.0, batch_size=size, rows=50)
    one = iid_rate(Curvature(1, 1), method, L_max=steep, mu_min=flat, batch_size=size, rows=50)
    assert abs(measured - 2.0 * np.log(one)) < 5.0 * error + 1e-4
    assert measured < 2.0 * np.log(rung) + 5.0 * error
    limit = critical_batch_size(curvature, method, L_max=50.0, rows=50)
    assert (size > limit) == converges == (measured < 0.0)


def test_it_lies_between_the_spectral_radius_and_the_worst_case_of_the_terms():
    """With L_max the terms have curvature in [mu_min, L_max]; mu itself is no lower end."""
    curvature, method = Curvature(1, 10), Method(0.05, 0.0)
    rate = iid_rate(curvature, method, L_max=20)
    assert rate > worst_case_rate(Curvature(1, 20), method)
    for least in (0.05, 0.5, 1.0):
        rate = iid_rate(curvature, method, L_max=20, mu_min=least)
        assert spectral_radius(curvature, method) <= rate
        assert rate <= worst_case_rate(Curvature(least, 20), method)
    assert "terms with curvature in [mu_min, L_max]" in iid_rate.__doc__
