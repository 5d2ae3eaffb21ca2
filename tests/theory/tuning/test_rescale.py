"""New settings keep what they promise to keep."""

import numpy as np
import pytest

from ravine import Curvature, largest_step, rescale, safe_step


@pytest.mark.parametrize("to_batch", [128, 512, 4096])
def test_without_curvature_the_share_of_every_limit_is_kept(to_batch):
    new = rescale(0.1, momentum=0.9, from_batch=64, to_batch=to_batch)
    lam = np.geomspace(1e-3, 1e3, 50)
    before = 0.1 / largest_step(lam, variance_ratio=5.0 / 64, beta=0.9, gamma=0)
    after = new.lr / largest_step(lam, variance_ratio=5.0 / to_batch, beta=new.momentum, gamma=0)
    np.testing.assert_allclose(after, before, rtol=1e-12)
    progress = [0.1 / (1 - 0.9) / 64, new.lr / (1 - new.momentum) / to_batch]
    assert progress[1] == pytest.approx(progress[0])


def test_a_smaller_batch_falls_back_to_the_linear_rule():
    new = rescale(0.1, momentum=0.0, from_batch=64, to_batch=16)
    assert (new.lr, new.momentum) == (pytest.approx(0.025), 0.0)


def test_there_and_back_again():
    there = rescale(0.1, momentum=0.9, from_batch=64, to_batch=512)
    back = rescale(there.lr, momentum=there.momentum, from_batch=512, to_batch=64)
    assert (back.lr, back.momentum) == pytest.approx((0.1, 0.9))


@pytest.mark.parametrize("nesterov", [False, True])
def test_with_curvature_momentum_is_kept(nesterov):
    known = {"curvature": Curvature(0.01, 1.0), "L_max": 100.0}
    given = {"momentum": 0.9, "nesterov": nesterov, **known}
    new = rescale(0.02, from_batch=8, to_batch=4096, **given)
    gamma = 0.9 if nesterov else 0.0
    limit = float(safe_step(1.0, 0.9, gamma, batch_size=4096, L_max=100.0))
    assert new.momentum == 0.9
    assert new.lr / limit == pytest.approx(new.share)
    # Small batches are limited by their noise: there the rule is the linear one.
    assert rescale(0.02, from_batch=1, to_batch=2, **given).lr == pytest.approx(0.04)
    assert new.lr < new.linear


def test_adam_takes_the_square_root():
    new = rescale(1e-3, momentum=0.9, from_batch=64, to_batch=256, optimizer="adamw")
    assert new.lr == pytest.approx(2e-3)
    assert (1 - new.momentum) / (1 + new.momentum) == pytest.approx(0.1 / 1.9 / 4)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"lr": 0.0}, "lr must be positive"),
        ({"momentum": 1.0}, "momentum must be below 1"),
        ({"to_batch": 0}, "batch_size must be"),
        ({"optimizer": "lion"}, "optimizer must be sgd or adamw"),
        ({"L_max": 3.0}, "L_max must be given for SGD only"),
    ],
)
def test_bad_input_is_refused(options, line):
    given = {"lr": 0.1, "from_batch": 8, "to_batch": 16, **options}
    with pytest.raises(ValueError, match=line):
        rescale(given.pop("lr"), **given)
