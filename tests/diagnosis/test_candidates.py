import pytest

from ravine.diagnosis.candidates import candidates, stabilised, tuned_here
from ravine.diagnosis.race import race
from ravine.methods import Method
from ravine.theory.ladder.worst_case import worst_case_rate


@pytest.fixture
def seen(data, survey_of):
    return survey_of(*data(rows=60, d=3), l2=0.1, batch_size=10)


def test_candidates_are_the_usual_ones_and_the_recommended(seen):
    winners = race(seen, steps=60, seconds=10.0).winners
    judged = candidates(seen, winners, yours=Method(0.02, 0.3))
    keys = [c.key for c in judged]
    assert keys[:6] == ["yours", "nesterov", "pytorch", "pytorch-decay", "sgd", "one-over-L"]
    assert {"tuned-sgd", "certified", "fastest", "constant", "schedule", "averaged"} <= set(keys)
    assert float(judged[2].method.alpha) == 0.02
    alone = {c.key for c in candidates(seen, [], yours=None)}
    assert not alone & {"constant", "schedule", "averaged", "quick"}


def test_the_certified_one_is_proven_for_every_order(seen):
    sure = next(c for c in tuned_here(seen) if c.key == "certified")
    assert sure.certificate.verify()
    assert worst_case_rate(seen.certified_curvature, sure.method) < 1.0


def test_without_l2_a_batch_may_be_flat_and_the_step_is_only_safe(data, survey_of):
    seen = survey_of(*data(rows=60, d=3), batch_size=2)
    kinds = {c.key: c for c in tuned_here(seen)}
    assert "certified" not in kinds
    assert kinds["safe"].certificate is None


def test_what_is_tuned_here_is_stable(seen):
    for candidate in tuned_here(seen):
        assert seen.moments.is_stable(candidate.method)


def test_the_users_own_pytorch_parameters_are_judged_once(seen):
    keys = [c.key for c in candidates(seen, [], yours=Method(0.01, 0.9))]
    assert "yours" in keys
    assert "pytorch" not in keys


def test_a_step_that_is_too_long_is_shortened_until_it_is_stable(seen):
    wild = Method(1.0, 0.5)
    assert not seen.moments.is_stable(wild)
    calm = stabilised(seen.moments, wild)
    assert seen.moments.is_stable(calm)
    assert float(calm.beta) == 0.5
