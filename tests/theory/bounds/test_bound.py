"""A bound's parts add up to its envelope."""

from functools import partial

import numpy as np
import pytest

from ravine import Curvature, bounds, nesterov, sgd
from ravine.theory.bounds.bound import geometric


def _bound(quantity, **options):
    parts = {
        "bounds": quantity,
        "kind": "upper",
        "statement": "made up",
        "rate": 0.5,
        "noise_gain": 3.0,
        "transient": partial(geometric, 2.0, 0.5),
        "noise": partial(geometric, 3.0, 1.0),
    }
    return bounds.Bound(**{**parts, **options})


def test_a_distance_is_linear_in_distance_and_noise():
    envelope = _bound("E ‖y_{k+1} - x*‖").envelope(steps=2, distance=10.0, sigma=2.0)
    assert envelope.values.tolist() == [26.0, 16.0, 11.0]
    assert envelope.floor == 6.0
    assert envelope.steps.tolist() == [0, 1, 2]


@pytest.mark.parametrize("quantity", ["E ‖y_{k+1} - x*‖²", "E f(y_{k+1}) - f*"])
def test_squares_and_objectives_are_quadratic(quantity):
    bound = _bound(quantity)
    assert bound.envelope(steps=1, distance=10.0, sigma=2.0).values.tolist() == [212.0, 112.0]
    assert bound.floor(sigma=2.0) == 12.0
    assert bound.floor() == 0.0


def test_a_statement_that_does_not_hold_is_infinite():
    bound = _bound("E ‖y_{k+1} - x*‖", holds=False)
    assert np.all(bound.envelope(steps=3, distance=0.0).values == np.inf)
    assert bound.floor() == np.inf


CURVATURE = Curvature(1, 4)
WITH_METHOD = {
    "additive_noise": nesterov,
    "contraction": nesterov,
    "sgd_finite_sum": sgd,
    "worst_case": nesterov,
}


@pytest.mark.parametrize("name", sorted(set(bounds.__all__) - {"Bound", "Envelope"}))
def test_every_public_bound_says_what_it_is(name):
    make = getattr(bounds, name)
    assert make.__doc__
    method = [WITH_METHOD[name](CURVATURE)] if name in WITH_METHOD else []
    bound = make(CURVATURE, *method)
    assert bound.kind in ("upper", "lower", "estimate")
    assert bound.statement
    assert (bound.kind == "estimate") == name.endswith("_estimate")
