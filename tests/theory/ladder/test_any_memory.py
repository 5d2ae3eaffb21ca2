"""Linear methods of any memory: against the closed forms of the family, and against brute force."""

import numpy as np
import pytest

from ravine import (
    Curvature,
    LinearMethod,
    Method,
    iid_noise_floor,
    iid_rate,
    ladder,
    largest_step,
    noise_floor,
    run,
    second_moment,
    smallest_stable_batch,
    spectral_radius,
)
from ravine.problems import Quadratic
from ravine.theory.ladder.batch_noise import batch_noise

LATE = LinearMethod.multi_step([1.6, -0.8, 0.2], [0.02, 0.01, 0.005])


@pytest.mark.parametrize("seed", range(30))
def test_the_family_is_a_special_case(seed):
    rng = np.random.default_rng(seed)
    Q, share, size = 10.0 ** rng.uniform(0.0, [3.0, 2.0, 4.0])
    beta = rng.uniform(-0.9, 0.95)
    gamma = beta if rng.random() < 0.5 else rng.uniform(-0.4, 1.2)
    limit = float(largest_step(Q, beta=beta, gamma=gamma))
    method = Method(limit * rng.uniform(0.05, 0.95), beta, gamma)
    linear, c, known = LinearMethod.of(method), Curvature(1.0, Q), {"L_max": share * Q}
    close = {"rel": 1e-10}
    assert spectral_radius(c, linear) == pytest.approx(spectral_radius(c, method), **close)
    options = {"batch_size": size, **known}
    assert iid_rate(c, linear, **options) == pytest.approx(iid_rate(c, method, **options), **close)
    critical = smallest_stable_batch(c, method, **known)
    assert smallest_stable_batch(c, linear, **known) == pytest.approx(critical, **close)
    options["batch_size"] = 1.5 * max(1.0, float(critical))
    for quantity in ("distance", "objective"):
        floors = [iid_noise_floor(c, m, quantity=quantity, **options) for m in (method, linear)]
        assert floors[1] == pytest.approx(floors[0], **close)
        floors = [noise_floor([1.0, Q], m, quantity=quantity) for m in (method, linear)]
        assert floors[1] == pytest.approx(floors[0], **close)
    paths = [second_moment([1.0, Q], m, sigma2=0.3, start=2.0, steps=20) for m in (method, linear)]
    np.testing.assert_allclose(paths[1], paths[0], rtol=1e-8)


def lifted(method, lam, variance):
    A, B, C = method.state
    loop = A + lam * np.outer(B, C)
    return np.kron(loop, loop) + variance * np.outer(np.kron(B, B), np.kron(C, C))


def test_the_worst_curvature_may_lie_inside():
    """Every number is that of a fine grid of curvatures, for a memory of three."""
    method, curvature = LinearMethod.multi_step([1.3, -0.4, 0.1], [0.3, 0.1, 0.05]), Curvature(1, 4)
    noise = batch_noise(curvature)
    grid = np.linspace(1.0, 4.0, 2001)
    radii = [np.abs(np.linalg.eigvals(lifted(method, x, 0.0))).max() ** 0.5 for x in grid]
    growths = [
        np.abs(np.linalg.eigvals(lifted(method, x, noise.variance(x)))).max() ** 0.5 for x in grid
    ]
    assert spectral_radius(curvature, method) == pytest.approx(max(radii), rel=1e-6)
    assert iid_rate(curvature, method) == pytest.approx(max(growths), rel=1e-6)
    assert 0 < np.argmax(growths) < 2000
    limit = float(smallest_stable_batch(curvature, method, L_max=40.0))
    for factor, safe in ((0.999, False), (1.001, True)):
        rate = iid_rate(curvature, method, L_max=40.0, batch_size=factor * limit)
        assert (rate < 1.0) == safe


def test_a_run_follows_the_exact_moments():
    problem = Quadratic(np.diag([1.0, 3.0, 8.0]))
    trace = run(problem, LATE, 40, sampling=None, start=[1.0, -2.0, 0.5])
    path = second_moment([1.0, 3.0, 8.0], LATE, sigma2=0.0, start=[1.0, -2.0, 0.5], steps=40)
    np.testing.assert_allclose(trace.y_errors**2, path, rtol=1e-9, atol=1e-14)
    with pytest.raises(ValueError, match="restart must be omitted with a LinearMethod"):
        run(problem, LATE, 4, sampling=None, restart="gradient")


def test_the_ladder_has_the_rungs_of_any_memory():
    rungs = ladder(Curvature(1.0, 50.0), LATE, L_max=90.0, batch_size=100)
    assert list(rungs.rates) == ["spectral_radius", "iid_rate", "worst_case_rate"]
    assert rungs.name == "linear method of memory 3"
    assert "diverges even with exact gradients" in rungs.verdict


def test_arrays_are_refused():
    with pytest.raises(ValueError, match="one curvature and one batch size at a time"):
        iid_rate(Curvature(1.0, [2.0, 3.0]), LATE)
