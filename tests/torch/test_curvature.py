import numpy as np
import pytest
import torch

import ravine
from ravine.torch.borrowed import batch_loss
from ravine.torch.curvature import LocalCurvature, measure

LOSS = batch_loss(torch.nn.functional.mse_loss)


def measured(data, size=8, scales=(1.0,)):
    x, y = (part.double() for part in data)
    batches = [[x[i : i + size], y[i : i + size]] for i in range(0, len(x), size)]
    model = torch.nn.Linear(4, 1, bias=False).double()
    return measure(model, LOSS, batches, list(scales))


@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.9])
def test_the_limit_is_that_of_the_library(data, momentum):
    """At the limit the mean square of iid batches neither grows nor shrinks, by ``growth``."""
    x = data[0].double()[:64]
    y = data[1].double()[:64]
    curvature = measured((x, y), size=1)
    assert curvature.quadratic
    assert curvature.complete
    limit = curvature.limit(momentum)
    hessians = 2 * np.einsum("ni,nj->nij", x.numpy(), x.numpy())
    for factor, grows in ((0.95, False), (1.05, True)):
        rate = ravine.growth(
            hessians, ravine.Method(factor * limit, momentum), sampling="iid", sense="mean-square"
        )
        assert (rate.value > 1.0) == grows


def test_more_samples_a_batch_allow_more(data):
    curvature = measured(data)
    limits = [curvature.limit(0.9, batch_size=b) for b in (1, 8, 64, 10**6)]
    assert limits == sorted(limits)
    edge = 2 * 1.9 / (2.8 * curvature.top)
    assert limits[-1] == pytest.approx(edge, rel=1e-3)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_the_rung_of_independent_batches_is_the_library_s(data, momentum):
    """Of every law with this curvature: at most the limit of the batches that were measured."""
    curvature = measured(data)
    x = data[0].double().numpy()
    most = 2 * float((x**2).sum(axis=1).max())
    assert curvature.largest == pytest.approx(most, rel=1e-9)
    limit = curvature.iid_limit(momentum, batch_size=4)
    assert limit < curvature.limit(momentum, batch_size=4)
    top = ravine.Curvature(1e-9 * curvature.top, curvature.top)
    for factor, safe in ((0.99, True), (1.01, False)):
        method = ravine.Method(factor * limit, momentum)
        need = ravine.critical_batch_size(top, method, L_max=most)
        assert (float(need) < 4.0) == safe


def test_samples_of_a_network_are_looked_at(data):
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    batches = [[data[0][i : i + 32], data[1][i : i + 32]] for i in range(0, 256, 32)]
    curvature = measure(model, LOSS, batches, [1.0] * 4)
    assert curvature.largest > curvature.top
    named = measure(
        model, lambda m, b: LOSS(m, [b["x"], b["y"]]),
        [{"x": x, "y": y, "count": torch.tensor(32)} for x, y in batches], [1.0] * 4,
    )  # fmt: skip
    # What cannot be cut is bounded: the batch size times a batch's curvature.
    assert named.largest > curvature.largest


# Two directions; every sample's curvature deviates by 1 in the first.
KNOWN = LocalCurvature(
    np.array([2.0, 1.0]),
    np.array([np.diag([s, 0.0]) for s in (1.0, -1.0)]),
    np.array([1.0, 0.0]),
    5.0,
    8,
    True,
    True,
)


def test_the_critical_batch_is_where_the_limit_is_reached():
    """One direction alone has variance: there both say V Var_y = 1."""
    lr = KNOWN.limit(0.9, batch_size=3)
    assert lr < 0.99 * KNOWN.limit(0.9, batch_size=10**6)
    assert KNOWN.critical_batch_size(lr, 0.9) == pytest.approx(3, rel=0.02)


def test_batch_sizes_of_a_map_are_around_the_user_s():
    rows = KNOWN.limits((0.0, 0.9))
    assert [(row.momentum, row.batch_size) for row in rows] == [
        (m, b) for m in (0.0, 0.9) for b in (2, 8, 32)
    ]


def test_limits_of_a_map_are_the_curvature_s_and_those_of_any_batches_are_below():
    (row,) = KNOWN.limits((0.5,), (4,), gamma=0.0)
    assert row.limit == KNOWN.limit(0.5, 0.0, 4)
    assert row.iid_limit == KNOWN.iid_limit(0.5, 0.0, 4)
    assert row.iid_limit < row.limit < 2 * 1.5 / 2.0


def test_groups_scale_the_curvature(data):
    assert measured(data, scales=(4.0,)).top == pytest.approx(4 * measured(data).top, rel=1e-9)


def test_a_network_is_local(network, data):
    curvature = measure(network, LOSS, [[data[0][:64], data[1][:64]]] * 2, [1.0] * 6)
    assert not curvature.quadratic
    assert not curvature.complete
    assert curvature.top > 0.0
