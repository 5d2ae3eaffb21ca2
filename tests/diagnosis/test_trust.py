"""What a user must be able to rely on, asked as a user asks: numbers of ``to_dict`` and words."""

import json
import warnings

import numpy as np
import pytest

from ravine import diagnose


def labels(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((400, 5)) * [1.0, 2.0, 1.0, 0.5, 1.0]
    return X, rng.random(400) < 1.0 / (1.0 + np.exp(-X @ [1.0, 0.5, -1.0, 0.0, 0.3]))


def numbers(seed=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((300, 6))
    X[:, 1] += 0.8 * X[:, 0]
    return X, X @ np.arange(1.0, 7.0) + 0.5 * rng.standard_normal(300)


def asked(X, y, **options):
    options = {"epochs": 10, "seeds": 64, "try_remedies": False, **options}
    return diagnose(X, y, **options).to_dict()


def by_key(record):
    return {m["key"]: m for m in record["methods"]}


def test_a_larger_budget_leaves_no_more():
    left = []
    for time in (4.0, 60.0):
        record = asked(*labels(2), time=time)
        left.append(by_key(record)[record["recommended"]]["excess_after"]["value"])
    assert left[1] <= 1.02 * left[0]


def test_fast_to_1_percent_is_the_fastest_row():
    for seed in (1, 3):
        methods = by_key(asked(*numbers(seed), time=30.0))
        near = [
            m["steps_to_1_percent"]
            for m in methods.values()
            if m["outcome"] == "converges" and m["steps_to_1_percent"] is not None
        ]
        if "quick" in methods:
            assert methods["quick"]["steps_to_1_percent"] <= min(near)


def test_the_curve_of_an_averaged_method_is_that_of_its_average():
    averaged = by_key(asked(*numbers(), time=30.0))["averaged"]
    last = averaged["measured"]["excess"][-1]
    assert last == pytest.approx(averaged["excess_after"]["value"], rel=1e-9)


def test_a_rest_beside_a_fast_rate_is_a_noise_floor():
    X, y = numbers()
    rng = np.random.default_rng(5)
    said = asked(X, y + 8.0 * rng.standard_normal(300), seeds=16, time=30.0)["verdict"]
    assert "until it reaches a noise floor of " in said


def test_a_huge_target_gives_an_answer_or_one_line_and_no_warning():
    X, y = numbers()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert json.dumps(asked(X, 1e148 * y, seeds=8, time=5.0))
        with pytest.raises(ValueError, match=r"the target must be at most 1e\+150"):
            asked(X, 1e152 * y, seeds=8, time=5.0)


def test_a_step_that_is_too_long_at_first_may_end_well_where_slopes_are_bounded():
    """The loss cannot grow fast, and the decay makes up for it: theory at the start forbids it."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((600, 3)) * [3.0, 1.0, 1.0] + [40.0, 2.0, 0.0]
    scores = (X - X.mean(axis=0)) / X.std(axis=0) @ [1.5, -1.0, 0.5]
    record = asked(X, rng.random(600) < 1.0 / (1.0 + np.exp(-scores)), seeds=16)
    common = by_key(record)["pytorch-decay"]
    assert common["mean_square"]["rate"] > 1.0
    assert common["excess_after"]["value"] < 0.1 * record["data"]["start_excess"]
    assert common["outcome"] == "converges"


def test_only_methods_that_converge_have_a_time_to_1_percent():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 4))
    X[11] = [50.0, 0.0, 0.0, 0.0]
    y = X @ np.arange(1.0, 5.0) + rng.standard_normal(1000)
    record = asked(X, y, epochs=40, seeds=16, time=10.0)
    methods = by_key(record)
    assert methods["pytorch"]["outcome"] == "erratic"
    # Its loss is below 1 % for a while, which is no use.
    assert methods["pytorch"]["steps_to_1_percent"] is not None
    for row in record["answer"]["methods"]["rows"]:
        reached = row["values"]["steps_to_1_percent"] is not None
        assert not reached or methods[row["key"]]["outcome"] == "converges"
