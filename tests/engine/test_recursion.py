import numpy as np
import pytest

from ravine.engine.recursion import held, iterate

HESSIANS = np.array([[0.5, 2.0], [1.0, 3.0], [0.2, 1.5]])


def torch_sgd(points, hessians, lr, momentum, factors):
    """PyTorch's SGD with nesterov=True, spelled out; its parameter is the look-ahead y."""
    buffer = np.zeros_like(points)
    trace = [points]
    for h, factor in zip(hessians, factors, strict=True):
        g = h * points
        buffer = momentum * buffer + g
        points = points - lr * factor * (g + momentum * buffer)
        trace.append(points)
    return np.array(trace)


@pytest.mark.parametrize("falling", [False, True])
def test_look_aheads_are_those_of_pytorch_for_many_methods_at_once(falling):
    lr, momentum = np.array([[0.1], [0.3]]), np.array([[0.9], [0.5]])
    factors = np.array([1.0, 0.6, 0.2]) if falling else np.ones(3)
    start = np.array([[1.0, -2.0], [0.5, 4.0]])
    states = iterate(
        lambda k, y: HESSIANS[k] * y, start, steps=3, alpha=lr,
        betas=held(momentum, 3), gammas=held(momentum, 4), factors=factors if falling else None,
    )  # fmt: skip
    y = np.array([state.y for state in states])
    np.testing.assert_allclose(y, torch_sgd(start, HESSIANS, lr, momentum, factors), rtol=1e-13)


def test_states_may_be_rescaled_between_steps():
    def linear(k, y):
        return HESSIANS[k] * y

    options = {"steps": 3, "alpha": 0.3, "betas": held(0.8, 3), "gammas": held(0.4, 4)}
    x, v = np.ones((1, 2)), np.full((1, 2), 0.5)
    *_, plain = iterate(linear, x, v, **options)
    for state in iterate(linear, x.copy(), v.copy(), **options):
        for each in (state.x, state.v, state.y):
            each *= 2.0
    np.testing.assert_allclose(state.x, 2.0**4 * plain.x, rtol=1e-13)
    np.testing.assert_allclose(state.v, 2.0**4 * plain.v, rtol=1e-13)


def test_a_restart_stops_the_runs_it_names():
    betas = held(0.9, 4)
    states = iterate(
        lambda k, y: y, np.ones((2, 1)), steps=2, alpha=0.1, betas=betas, gammas=betas,
        restarts=lambda k, x, ahead, g: np.array([[k == 1], [False]]),
    )  # fmt: skip
    *_, last = states
    assert last.v[0] == 0.0
    assert last.v[1] != 0.0
    np.testing.assert_array_equal(last.y[0], last.x[0])
