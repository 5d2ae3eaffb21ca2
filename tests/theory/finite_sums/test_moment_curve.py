"""Curves under schedules: the mean over all sequences of draws, written out."""

from itertools import product

import numpy as np
import pytest

from ravine.methods import Method
from ravine.theory.finite_sums.second_moments import SecondMoments, moment_curve

START = np.array([1.0, -2.0, 0.5])


def constant(method, steps):
    """The curve's method and step sizes, for one that does not change."""
    lr = np.asarray(method.alpha).reshape(-1, 1) * np.ones(steps)
    return Method(*(np.reshape(v, -1) for v in (method.alpha, method.beta, method.gamma))), lr


def two_terms(seed=0, d=3):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((2, d + 1, d))
    H = np.einsum("nri,nrj->nij", rows, rows) / (d + 1) + 0.1 * np.eye(d)
    z = rng.standard_normal((2, d))
    return H, z - z.mean(axis=0)


def as_written(H, z, method, lr, draws):
    """Iterates y of a method with a constant step, as it is written down."""
    x = before = START
    beta, gamma = float(method.beta[0]), float(method.gamma[0])
    for k in range(lr.size + 1):
        y = x + gamma * (x - before)
        yield y
        if k < lr.size:
            slope = H[draws[k]] @ y + z[draws[k]]
            x, before = x + beta * (x - before) - lr[0, k] * slope, x


def as_pytorch(H, z, method, lr, draws):
    """Iterates of torch.optim.SGD(nesterov=True), the learning rate outside the buffer."""
    y, buffer = START, 0.0
    beta = float(method.beta[0])
    yield y
    for k in range(lr.size):
        slope = H[draws[k]] @ y + z[draws[k]]
        buffer = beta * buffer + slope
        y = y - lr[0, k] * (slope + beta * buffer)
        yield y


@pytest.mark.parametrize("iterates", [as_pytorch, as_written])
def test_the_curve_is_the_mean_over_all_sequences(iterates):
    H, z = two_terms()
    K, first = 6, 2
    method, lr = constant(Method(0.2, 0.6, 0.3), K)
    if iterates is as_pytorch:
        method, lr = Method([0.3], [0.6]), np.linspace(0.3, 0.05, K)[None]
    moments = SecondMoments.of(H, z)
    curve = moment_curve(moments, method, lr, moments.basis.T @ START, average_from=first)
    runs = np.array([list(iterates(H, z, method, lr, s)) for s in product(range(2), repeat=K)])
    mean = H.mean(axis=0)
    np.testing.assert_allclose(curve.distance[0], (runs**2).sum(axis=2).mean(axis=0), rtol=1e-12)
    excess = 0.5 * np.einsum("ski,ij,skj->sk", runs, mean, runs).mean(axis=0)
    np.testing.assert_allclose(curve.excess[0], excess, rtol=1e-12)
    for k in range(first, K + 1):
        average = runs[:, first : k + 1].mean(axis=1)
        assert curve.average_distance[0, k] == pytest.approx((average**2).sum(axis=1).mean())
        bent = 0.5 * np.einsum("si,ij,sj->s", average, mean, average).mean()
        assert curve.average_excess[0, k] == pytest.approx(bent)
    assert np.isnan(curve.average_distance[0, :first]).all()


def test_several_methods_at_once_are_each_by_itself():
    moments = SecondMoments.of(*two_terms(seed=2))
    many = Method(np.array([0.05, 0.2, 9.0]), np.array([0.9, 0.5, 0.9]))
    together = moment_curve(moments, *constant(many, 40), START)
    alone = moment_curve(moments, *constant(Method(0.2, 0.5), 40), START)
    np.testing.assert_allclose(together.distance[1], alone.distance[0], rtol=1e-12)
    np.testing.assert_allclose(together.excess[1], alone.excess[0], rtol=1e-12)
    assert np.isinf(together.distance[2, -1])
    assert np.isfinite(together.distance[0]).all()


def test_a_schedule_ends_below_the_floor_of_its_constant_step():
    moments = SecondMoments.of(*two_terms(seed=3))
    method = Method(0.15, 0.5)
    floor = 0.5 * np.diag(moments.stationary(method)) @ moments.eigenvalues
    falling = 0.15 * np.minimum(1.0, np.arange(400, 0, -1) / 201)
    decayed = moment_curve(moments, Method([0.15], [0.5]), falling[None], START)
    kept = moment_curve(moments, *constant(method, 400), START, average_from=200)
    assert kept.excess[0, -1] == pytest.approx(floor, rel=1e-6)
    assert decayed.excess[0, -1] < 0.2 * floor
    assert kept.average_excess[0, -1] < 0.1 * floor
