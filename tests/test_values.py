import copy
import pickle

import numpy as np
import pytest

import ravine
from ravine import Curvature, Method, bounds, problems
from ravine.theory.bracket import Bracket
from ravine.values import same

C = Curvature(0.5, 8.0)
M = ravine.nesterov(C)
HESSIANS = [[[1.0, 0.0], [0.0, 4.0]], [[4.0, 0.0], [0.0, 1.0]]]
ROWS = np.random.default_rng(0).normal(size=(24, 2))

RESULTS = {
    "Curvature": lambda: Curvature(0.5, [1.0, 8.0]),
    "Method": lambda: Method([0.1, 0.2], 0.9),
    "LinearMethod": lambda: ravine.LinearMethod([0.1], [1.0, -1.0]),
    "Bracket": lambda: Bracket(np.array([0.5, np.nan]), np.array([1.0, 2.0])),
    "Ladder": lambda: ravine.ladder(C, M),
    "Certificate": lambda: ravine.certificate(C, ravine.sgd(C)),
    "CircleRate": lambda: ravine.circle_rate(C, M),
    "JointSpectralRadius": lambda: ravine.joint_spectral_radius(HESSIANS, budget=50),
    "StationaryVariance": lambda: ravine.stationary_variance([1.0, 2.0], M),
    "StationaryCovariance": lambda: ravine.stationary_covariance(
        HESSIANS, [[1.0, 0.0], [-1.0, 0.0]], Method(0.1)
    ),
    "TransientPeak": lambda: ravine.transient_peak(C, M),
    "Growth": lambda: ravine.growth(HESSIANS, Method(0.1)),
    "Recommendation": lambda: ravine.recommend(C),
    "BatchGain": lambda: ravine.batch_gain(C, L_max=16.0, batch_sizes=[4.0]),
    "Trace": lambda: ravine.run(
        problems.turning_quadratics(1.0, 8.0), M, 20, sampling="cyclic", seed=2**100
    ),
    "Table": lambda: ravine.read_table("diabetes"),
    "Envelope": lambda: bounds.worst_case(C, ravine.sgd(C)).envelope(steps=3),
    "Diagnosis": lambda: ravine.diagnose(ROWS, ROWS[:, 0], epochs=2, try_remedies=False),
    **{
        f"bounds.{name}": lambda name=name: getattr(bounds, name)(C)
        for name in (
            "accelerated", "accelerated_estimate", "best_sgd_finite_sum", "first_order",
            "gradient_descent", "nesterov", "sgd_additive_noise",
        )
    },
    **{
        f"bounds.{name}": lambda name=name: getattr(bounds, name)(C, ravine.sgd(C))
        for name in (
            "additive_noise", "contraction", "sgd_finite_sum",
            "worst_case",
        )
    },
}  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
def test_results_pickle_copy_compare_and_print(name):
    result = RESULTS[name]()
    again = pickle.loads(pickle.dumps(result))
    assert type(again) is type(result)
    assert same(again, result)
    assert again == result
    assert copy.deepcopy(result) == result
    assert hash(again) == hash(result)
    assert result != 3
    assert "np.float64(" not in repr(result)
    assert " at 0x" not in repr(result)


def test_what_differs_in_one_field_is_not_equal():
    assert Curvature(1, 2) != Curvature(1, 3)
    assert Curvature(1, 2) != Method(1, 2)
    assert Method(0.1, [0.5, 0.6]) != Method(0.1, [0.5, 0.7])
    assert bounds.nesterov(C) != bounds.nesterov(Curvature(0.5, 9.0))
    assert bounds.accelerated(C) != bounds.accelerated(Curvature(0.5, 9.0))


def test_in_print_numbers_are_plain_and_long_arrays_short():
    assert repr(Curvature(1, 2)) == "Curvature(mu=1.0, L=2.0)"
    assert repr(Curvature(1, np.full(100, 2.0))) == "Curvature(mu=1.0, L=<array of shape (100,)>)"


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (float("nan"), float("nan"), True),
        ({"a": [1.0]}, {"a": [1.0]}, True),
        ({"a": 1.0}, {"b": 1.0}, False),
        ((1, 2), [1, 2], False),
        (np.arange(3), np.arange(3.0), True),
        (np.array(["a"]), np.array(["b"]), False),
        (copy.copy, copy.deepcopy, False),
    ],
)
def test_parts(one, other, equal):
    assert same(one, other) is equal
