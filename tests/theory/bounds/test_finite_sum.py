import numpy as np
import pytest

from ravine.curvature import Curvature
from ravine.methods import Method, sgd
from ravine.theory import bounds
from ravine.theory.ladder.rates import contraction
from ravine.theory.ladder.worst_case import certificate, worst_case_rate

ROUNDING = 1 + 1e-9


def _finite_sum(rng, curvature, n, d, *, interpolating):
    """Hessians with spectra in [mu, L] and gradients at x* = 0 that sum to zero."""
    hessians = []
    for _ in range(n):
        U, _ = np.linalg.qr(rng.standard_normal((d, d)))
        lam = rng.uniform(float(curvature.mu), float(curvature.L), d)
        lam[:2] = curvature.mu, curvature.L
        hessians.append(U @ np.diag(lam) @ U.T)
    slopes = np.zeros((n, d)) if interpolating else rng.standard_normal((n, d))
    return np.array(hessians), slopes - slopes.mean(axis=0)


def _distances(hessians, slopes, order, method, x):
    """‖y_{k+1} - x*‖ along one order of visits."""
    a, b, c = float(method.alpha), float(method.beta), float(method.gamma)
    before, y, out = x, x, [np.linalg.norm(x)]
    for i in order:
        x, before = x + b * (x - before) - a * (hessians[i] @ y + slopes[i]), x
        y = x + c * (x - before)
        out.append(np.linalg.norm(y))
    return np.array(out)


def _mean_distances(rng, hessians, slopes, method, x, steps):
    """Exact expectations over samplings with uniform marginals: a shuffled cycle, and one term.

    A cycle from a uniformly random offset and a term drawn once and kept are uniform at each step.
    """
    n = len(hessians)
    cycle = rng.permutation(n)
    for visit in (lambda k, i: cycle[(k + i) % n], lambda k, i: i):
        runs = [
            _distances(hessians, slopes, [visit(k, i) for k in range(steps)], method, x)
            for i in range(n)
        ]
        yield np.mean(runs, axis=0)


def _greedy(hessians, method, x, steps):
    """‖y_{k+1} - x*‖ when each visit picks the term that leaves the largest next state."""
    a, b, c = float(method.alpha), float(method.beta), float(method.gamma)
    before, y, out = x, x, [np.linalg.norm(x)]
    for _ in range(steps):
        news = [x + b * (x - before) - a * (H @ y) for H in hessians]
        sizes = [np.linalg.norm(new + c * (new - x)) + np.linalg.norm(new - x) for new in news]
        x, before = news[int(np.argmax(sizes))], x
        y = x + c * (x - before)
        out.append(np.linalg.norm(y))
    return np.array(out)


CONTRACTIVE = [
    (Curvature(1.0, 2.0), Method(0.3, 0.1)),
    (Curvature(1.0, 2.0), Method(0.4, -0.1)),
    (Curvature(1.0, 3.0), Method(0.2, 0.05, 0.15)),
]


@pytest.mark.parametrize(("curvature", "method"), CONTRACTIVE)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_theorem_4_bounds_the_expected_distance(curvature, method, seed):
    rng = np.random.default_rng(seed)
    x = 3 * rng.standard_normal(3)
    hessians, slopes = _finite_sum(rng, curvature, 5, 3, interpolating=False)
    sigma = np.mean(np.linalg.norm(slopes, axis=1))
    envelope = bounds.contraction(curvature, method).envelope(
        steps=60, distance=np.linalg.norm(x), sigma=sigma
    )
    R = contraction(curvature, method)
    gain = method.alpha * np.sqrt((1 + method.gamma) ** 2 + 1)
    assert envelope.rate == R < 1
    assert envelope.floor == pytest.approx(gain * sigma / (1 - R), rel=1e-12)
    assert envelope.bounds == "E ‖y_{k+1} - x*‖"
    for found in _mean_distances(rng, hessians, slopes, method, x, 60):
        assert np.all(found <= envelope.values * ROUNDING)


@pytest.mark.parametrize(("curvature", "method"), CONTRACTIVE)
def test_theorem_4_holds_for_an_adversarial_order_when_interpolating(curvature, method):
    rng = np.random.default_rng(4)
    x = rng.standard_normal(3)
    hessians, _ = _finite_sum(rng, curvature, 8, 3, interpolating=True)
    envelope = bounds.contraction(curvature, method).envelope(steps=50, distance=np.linalg.norm(x))
    assert np.all(_greedy(hessians, method, x, 50) <= envelope.values * ROUNDING)
    assert envelope.floor == 0.0


def test_theorem_4_is_silent_where_R_is_1_or_more():
    envelope = bounds.contraction(Curvature(1.0, 32.0), Method(1 / 32, 0.7)).envelope(steps=3)
    assert envelope.values.tolist() == [np.inf] * 4
    assert envelope.floor == np.inf
    assert envelope.rate > 1


@pytest.mark.parametrize("alpha", [0.05, 0.2, 2 / 11, 0.199])
@pytest.mark.parametrize("seed", [0, 1])
def test_sgd_corollary_bounds_the_expected_distance(alpha, seed):
    curvature, rng = Curvature(1.0, 10.0), np.random.default_rng(seed)
    method = Method(alpha)
    x = 2 * rng.standard_normal(3)
    hessians, slopes = _finite_sum(rng, curvature, 6, 3, interpolating=False)
    sigma = np.mean(np.linalg.norm(slopes, axis=1))
    options = {"steps": 80, "distance": np.linalg.norm(x), "sigma": sigma}
    envelope = bounds.sgd_finite_sum(curvature, method).envelope(**options)
    if alpha < 0.2:
        for found in _mean_distances(rng, hessians, slopes, method, x, 80):
            assert np.all(found <= envelope.values * ROUNDING)
        order = np.zeros(80, dtype=int)
        single = _distances(hessians, 0 * slopes, order, method, x)
        quiet = bounds.sgd_finite_sum(curvature, method).envelope(**{**options, "sigma": 0.0})
        assert np.all(single <= quiet.values * ROUNDING)
    else:
        assert np.all(envelope.values == np.inf)


def test_second_sgd_corollary_is_the_first_at_its_best_step():
    curvature = Curvature(0.3, 7.0)
    options = {"steps": 40, "distance": 2.0, "sigma": 0.9}
    best = bounds.best_sgd_finite_sum(curvature).envelope(**options)
    general = bounds.sgd_finite_sum(curvature, sgd(curvature)).envelope(**options)
    np.testing.assert_allclose(best.values, general.values, rtol=1e-12)
    assert best.floor == pytest.approx(0.9 / 0.3)
    for alpha in np.linspace(0.01, 0.28, 28):
        assert (
            bounds.sgd_finite_sum(curvature, Method(alpha)).envelope(**options).rate
            >= best.rate - 1e-15
        )


@pytest.mark.parametrize("end", ["mu", "L"])
def test_sgd_corollary_is_attained_when_interpolating(end):
    """Terms of curvature mu alone, or L alone, shrink the distance by exactly (Q-1)/(Q+1)."""
    curvature = Curvature(1.0, 10.0)
    hessians = np.array([[[float(getattr(curvature, end))]]])
    found = _distances(hessians, np.zeros((1, 1)), [0] * 40, sgd(curvature), np.array([1.7]))
    envelope = bounds.best_sgd_finite_sum(curvature).envelope(steps=40, distance=1.7)
    np.testing.assert_allclose(found, envelope.values, rtol=1e-12)


def test_sgd_corollary_is_attained_in_the_limit_with_noise():
    """Two parabolas of curvature mu with minimisers ±1; one is drawn at the start and kept."""
    curvature, mu = Curvature(0.5, 4.0), 0.5
    hessians, slopes = np.full((2, 1, 1), mu), np.array([[mu], [-mu]])
    runs = [
        _distances(hessians, slopes, [i] * 200, sgd(curvature), np.array([0.0])) for i in (0, 1)
    ]
    envelope = bounds.best_sgd_finite_sum(curvature).envelope(steps=200, distance=0.0, sigma=mu)
    assert np.mean(runs, axis=0)[-1] == pytest.approx(envelope.values[-1], rel=1e-12)
    assert np.all(np.mean(runs, axis=0) <= envelope.values * ROUNDING)


CERTIFIABLE = [
    (Curvature(1.0, 8.0), Method(1 / 8, 0.4)),
    (Curvature(1.0, 30.0), Method(0.015, 0.5)),
    (Curvature(1.0, 4.0), Method(0.3, -0.3)),
    (Curvature(1.0, 6.0), Method(0.1, 0.3, 0.0)),
]


@pytest.mark.parametrize(("curvature", "method"), CERTIFIABLE)
def test_the_worst_case_bounds_every_sum_and_order(curvature, method):
    assert worst_case_rate(curvature, method) < 1
    rng = np.random.default_rng(6)
    x = rng.standard_normal(2)
    hessians, slopes = _finite_sum(rng, curvature, 7, 2, interpolating=False)
    sigma = np.mean(np.linalg.norm(slopes, axis=1))
    options = {"steps": 120, "distance": np.linalg.norm(x)}
    envelope = bounds.worst_case(curvature, method).envelope(sigma=sigma, **options)
    for found in _mean_distances(rng, hessians, slopes, method, x, 120):
        assert np.all(found <= envelope.values * ROUNDING)
    quiet = bounds.worst_case(curvature, method).envelope(**options)
    assert np.all(_greedy(hessians, method, x, 120) <= quiet.values * ROUNDING)
    np.testing.assert_allclose(quiet.values + envelope.floor, envelope.values, rtol=1e-12)


@pytest.mark.parametrize(("curvature", "method"), CERTIFIABLE)
def test_the_worst_case_bound_is_that_of_its_certificate(curvature, method):
    proof = certificate(curvature, method)
    bound = bounds.worst_case(curvature, method)
    assert bound.rate == proof.rate
    assert bound.rate == pytest.approx(worst_case_rate(curvature, method), rel=1e-6)
    assert bound.envelope(steps=0, distance=2.0).values[0] == 2.0 * proof.transient_gain
    assert bound.floor(sigma=3.0) == pytest.approx(3.0 * proof.noise_gain, rel=1e-12)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda c, m: bounds.sgd_finite_sum(c, m).envelope(steps=2),
            "method must be without momentum",
        ),
        (
            lambda c, m: bounds.contraction(c, m).envelope(steps=2, sigma=-1.0),
            "sigma must be zero or more",
        ),
    ],
)
def test_bad_input_is_refused_in_one_line(call, said):
    with pytest.raises(ValueError, match=said) as error:
        call(Curvature(1.0, 2.0), Method(0.3, 0.1))
    assert "\n" not in str(error.value)
