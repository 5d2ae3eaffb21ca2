import numpy as np
import pytest

from ravine.diagnosis.batches import survey
from ravine.diagnosis.candidates import candidates, stabilised, tuned, typed
from ravine.methods import Method
from ravine.problems import from_data
from ravine.theory.ladder.worst_case import worst_case_rate
from ravine.theory.tuning.fastest import fastest_mean_square, fastest_step_on


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3)) * [0.3, 1.0, 3.0]
    problem = from_data(X, X @ np.ones(3) + rng.standard_normal(60), l2=0.1, batch_size=10)
    return survey(problem, ("a", "b", "c"))


def test_tuning_finds_what_the_theory_finds(found):
    best = fastest_mean_square(found.hessians)
    plain = fastest_step_on(found.moments).method
    mine = tuned(found.moments, plain)
    assert found.moments.growth(mine) ** 0.5 <= best.rate + 0.02 * (1.0 - best.rate)
    assert found.moments.growth(mine) <= found.moments.growth(plain) * (1.0 + 1e-6)


def test_candidates_are_the_usual_ones_and_the_recommended(found):
    start = found.problem.start
    judged = {c.key: c for c in candidates(found, start, yours=Method(0.02, 0.3), steps=200)}
    assert list(judged) == [
        "yours", "nesterov", "pytorch", "sgd", "tuned-sgd", "certified", "fastest", "budget",
    ]  # fmt: skip
    assert float(judged["pytorch"].method.alpha) == 0.02
    sure = judged["certified"]
    assert sure.certificate.verify()
    assert worst_case_rate(found.certified_curvature, sure.method) < 1.0
    for key in ("tuned-sgd", "fastest", "budget"):
        assert found.moments.is_stable(judged[key].method)


def test_the_users_own_pytorch_parameters_are_judged_once(found):
    judged = candidates(found, found.problem.start, yours=Method(0.02, 0.9), steps=200)
    assert "pytorch" not in {c.key for c in judged}


def test_a_step_that_is_too_long_is_shortened_until_it_is_stable(found):
    wild = Method(1.0, 0.5)
    assert not found.moments.is_stable(wild)
    calm = stabilised(found.moments, wild)
    assert found.moments.is_stable(calm)
    assert float(calm.beta) == 0.5


def test_parameters_are_typed_with_four_digits_and_the_step_rounded_down():
    method = typed(0.00123456, 0.912345)
    assert float(method.alpha) == 0.001234
    assert float(method.beta) == 0.9123
