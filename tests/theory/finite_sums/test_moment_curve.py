"""Curves under schedules: the mean over all sequences of draws, written out."""

from itertools import product

import numpy as np
import pytest

from ravine.methods import Method
from ravine.theory.finite_sums.moment_curve import Schedule, moment_curve
from ravine.theory.finite_sums.second_moments import SecondMoments

START = np.array([1.0, -2.0, 0.5])


def constant(method, steps):
    """The parameters of a method, or of several, at every step."""
    parameters = (method.alpha, method.beta, method.gamma)
    return Schedule(*(np.asarray(value)[..., None] * np.ones(steps) for value in parameters))


def two_terms(seed=0, d=3):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((2, d + 1, d))
    H = np.einsum("nri,nrj->nij", rows, rows) / (d + 1) + 0.1 * np.eye(d)
    z = rng.standard_normal((2, d))
    return H, z - z.mean(axis=0)


def as_written(H, z, schedule, draws):
    """Iterates y of the method as it is written down."""
    x = before = START
    alpha, beta, gamma = (values[0] for values in schedule.parameters)
    last = len(alpha) - 1
    for k in range(len(alpha) + 1):
        y = x + gamma[min(k, last)] * (x - before)
        yield y
        if k <= last:
            slope = H[draws[k]] @ y + z[draws[k]]
            x, before = x + beta[k] * (x - before) - alpha[k] * slope, x


def as_pytorch(H, z, schedule, draws):
    """Iterates of torch.optim.SGD(nesterov=True), the learning rate outside the buffer."""
    y, buffer = START, 0.0
    alpha, beta, _ = (values[0] for values in schedule.parameters)
    yield y
    for k in range(len(alpha)):
        slope = H[draws[k]] @ y + z[draws[k]]
        buffer = beta[k] * buffer + slope
        y = y - alpha[k] * (slope + beta[k] * buffer)
        yield y


@pytest.mark.parametrize("lr_outside", [False, True])
def test_the_curve_is_the_mean_over_all_sequences(lr_outside):
    H, z = two_terms()
    K, first = 6, 2
    falling = np.linspace(0.3, 0.05, K)
    schedule = (
        Schedule(falling, 0.6, lr_outside=True)
        if lr_outside
        else Schedule(falling, np.linspace(0.6, 0.2, K), np.linspace(0.5, 0.1, K))
    )
    moments = SecondMoments.of(H, z)
    found = moment_curve(moments, schedule, moments.basis.T @ START, average_from=first)
    iterates = as_pytorch if lr_outside else as_written
    runs = np.array([list(iterates(H, z, schedule, s)) for s in product(range(2), repeat=K)])
    mean = H.mean(axis=0)
    np.testing.assert_allclose(found.distance, (runs**2).sum(axis=2).mean(axis=0), rtol=1e-12)
    excess = 0.5 * np.einsum("ski,ij,skj->sk", runs, mean, runs).mean(axis=0)
    np.testing.assert_allclose(found.excess, excess, rtol=1e-12)
    for k in range(first, K + 1):
        average = runs[:, first : k + 1].mean(axis=1)
        assert found.average_distance[k] == pytest.approx((average**2).sum(axis=1).mean())
        bent = 0.5 * np.einsum("si,ij,sj->s", average, mean, average).mean()
        assert found.average_excess[k] == pytest.approx(bent)
    assert np.isnan(found.average_distance[:first]).all()


def test_several_methods_at_once_are_each_by_itself():
    moments = SecondMoments.of(*two_terms(seed=2))
    many = Method(np.array([0.05, 0.2, 9.0]), np.array([0.9, 0.5, 0.9]))
    together = moment_curve(moments, constant(many, 40), START)
    alone = moment_curve(moments, constant(Method(0.2, 0.5), 40), START)
    np.testing.assert_allclose(together.distance[1], alone.distance, rtol=1e-12)
    np.testing.assert_allclose(together.excess[1], alone.excess, rtol=1e-12)
    assert np.isinf(together.distance[2, -1])
    assert np.isfinite(together.distance[0]).all()


def test_a_schedule_ends_below_the_floor_of_its_constant_step():
    moments = SecondMoments.of(*two_terms(seed=3))
    method = Method(0.15, 0.5)
    floor = 0.5 * np.diag(moments.stationary(method)) @ moments.eigenvalues
    falling = 0.15 * np.minimum(1.0, np.arange(400, 0, -1) / 201)
    decayed = moment_curve(moments, Schedule(falling, 0.5, lr_outside=True), START)
    kept = moment_curve(moments, constant(method, 400), START, average_from=200)
    assert kept.excess[-1] == pytest.approx(floor, rel=1e-6)
    assert decayed.excess[-1] < 0.2 * floor
    assert kept.average_excess[-1] < 0.1 * floor


def test_computation_ends_where_told():
    moments = SecondMoments.of(*two_terms())
    cut = moment_curve(moments, constant(Method(0.1), 30), START, products=20)
    assert np.isfinite(cut.distance[20])
    assert np.isnan(cut.distance[21:]).all()
