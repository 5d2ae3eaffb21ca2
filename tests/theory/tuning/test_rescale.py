"""New settings keep what they promise to keep."""

import numpy as np
import pytest

from ravine import Curvature, largest_step, rescale, safe_step


def progress(lr, momentum, batch):
    return lr / (1 - momentum) / batch


@pytest.mark.parametrize("to_batch", [32, 128, 512])
def test_a_larger_batch_keeps_the_progress_and_the_share_of_every_limit(to_batch):
    new = rescale(0.1, momentum=0.2, from_batch=64, to_batch=to_batch)
    assert progress(new.lr, new.momentum, to_batch) == pytest.approx(progress(0.1, 0.2, 64))
    if to_batch < 64:
        assert new.momentum == 0.2
        return

    lam = np.geomspace(1e-3, 1e3, 50)
    before = 0.1 / largest_step(lam, variance_ratio=5.0 / 64, beta=0.2, gamma=0)
    after = new.lr / largest_step(lam, variance_ratio=5.0 / to_batch, beta=new.momentum, gamma=0)
    np.testing.assert_allclose(after, before, rtol=1e-12)


@pytest.mark.parametrize(
    ("momentum", "steps", "later"),
    [(0.0, None, 0.9), (0.0, 40, 0.75), (0.0, 8, 0.0), (0.95, 10_000, 0.95), (0.9, None, 0.9)],
)
def test_momentum_is_raised_no_further_than_the_run_is_long(momentum, steps, later):
    new = rescale(0.1, momentum=momentum, from_batch=4, to_batch=4096, steps=steps)
    assert new.momentum == pytest.approx(later)
    assert progress(new.lr, later, 4096) == pytest.approx(progress(0.1, momentum, 4))


@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize(("lr", "share"), [(0.001, 0.5), (0.0128, 0.8)])
def test_with_curvature_lr_stays_below_the_stable_one(nesterov, lr, share):
    known = {"curvature": Curvature(0.01, 1.0), "L_max": 100.0}
    given = {"momentum": 0.9, "nesterov": nesterov, **known}
    new = rescale(lr, from_batch=8, to_batch=65536, **given)
    limit = float(safe_step(1.0, 0.9, 0.9 * nesterov, batch_size=65536, L_max=100.0))
    assert new.momentum == 0.9
    assert new.share == pytest.approx(new.lr / limit)
    assert new.share == pytest.approx(share, rel=0.02)
    assert new.lr < new.linear
    # Small batches are limited by their noise: there the rule is the linear one.
    assert rescale(lr, from_batch=1, to_batch=2, **given).lr == pytest.approx(2 * lr)


def run_on(X, y, lr, momentum, batch, steps, seeds=200):
    rng = np.random.default_rng(0)
    w = np.zeros((seeds, X.shape[1]))
    v = np.zeros_like(w)
    for _ in range(steps):
        rows = rng.integers(len(X), size=(seeds, batch))
        error = (X[rows] @ w[:, :, None])[..., 0] - y[rows]
        v = momentum * v + (X[rows] * error[..., None]).mean(axis=1)
        w = w - lr * v
    return 0.5 * np.mean((w @ X.T - y) ** 2)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_on_a_table_the_new_lr_is_the_best_one(momentum):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((400, 5)) * [3.0, 1.0, 1.0, 0.5, 0.3]
    y = X @ [1.0, -1.0, 0.5, 1.0, 2.0] + 0.7 * rng.standard_normal(400)
    given = {"momentum": momentum, "from_batch": 4, "to_batch": 32, "steps": 60}
    new = rescale(0.01, data=(X, y), **given)
    losses = {
        factor: run_on(X, y, factor * new.lr, momentum, 32, 60)
        for factor in (0.25, 0.5, 0.7, 1.0, 1.4, 2.0)
    }
    assert losses[1.0] < 1.02 * min(losses.values())


def test_adam_takes_the_square_root():
    new = rescale(1e-3, momentum=0.9, from_batch=64, to_batch=256, optimizer="adamw")
    assert (new.lr, new.momentum) == (pytest.approx(2e-3), 0.9)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"lr": 0.0}, "lr must be positive"),
        ({"momentum": 1.0}, "momentum must be below 1"),
        ({"to_batch": 0}, "batch_size must be"),
        ({"to_batch": [8, 16]}, "to_batch must be a single number"),
        ({"curvature": Curvature([1, 2], 8)}, "mu must be a single number"),
        ({"curvature": Curvature(1, 8), "L_max": [10, 20]}, "L_max must be a single number"),
        ({"data": ([[0.0], [0.0]], [1.0, 2.0]), "steps": 5}, "X, y must be related"),
        ({"optimizer": "lion"}, "optimizer must be sgd or adamw"),
        ({"L_max": 3.0}, "L_max must be given with a curvature"),
        ({"data": ([[1.0]], [1.0])}, "steps must be given with data"),
        ({"data": ([[1.0]], [1.0, 2.0]), "steps": 5}, "X, y must be of shapes"),
        ({"optimizer": "adamw", "curvature": Curvature(1, 2)}, "curvature must be omitted for"),
    ],
)
def test_bad_input_is_refused(options, line):
    given = {"lr": 0.1, "from_batch": 8, "to_batch": 16, **options}
    with pytest.raises(ValueError, match=line):
        rescale(given.pop("lr"), **given)
