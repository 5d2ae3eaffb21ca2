"""A specification is checked once; what cannot be swept is refused in one line."""

from dataclasses import replace

import numpy as np
import pytest

from ravine import Restart, Sampling, problems
from ravine.arguments import Refusal
from ravine.engine import sweep as module
from ravine.engine.spec import Spec
from ravine.engine.sweep import sweep
from ravine.problems import counterexample, worst_case_quadratic


@pytest.fixture
def checked(monkeypatch):
    """Return a function that gives the specification that ``sweep`` makes of its arguments."""
    made = []

    def no_tiles(spec, *_):
        made.append(spec)
        yield from ()

    def specification(problem, **given):
        sweep(problem, [0.1, 0.2], [0.0, 0.5, 0.9], **given)
        return made[-1]

    monkeypatch.setattr(module, "_finished", no_tiles)
    return specification


def test_names_and_numbers_become_plain_data(checked):
    spec = checked(
        counterexample(1, 10, 6),
        steps=4,
        sampling="iid",
        batch=np.int64(2),
        restart="full",
        schedule=[0.1, 0.2, 0.3, 0.4],
        measure="floor",
    )
    assert spec.sampling is Sampling.IID
    assert spec.restart is Restart.FULL
    assert type(spec.batch) is int
    np.testing.assert_array_equal(spec.schedule, [0.1, 0.2, 0.3, 0.4])
    assert spec.measures == ("floor",)
    assert spec.sampled
    assert not replace(spec, sampling=None).sampled


def test_pixels_are_counted_in_rows(checked):
    spec = checked(worst_case_quadratic(Q=9, d=4), steps=5)
    assert (spec.shape, spec.pixels) == ((2, 3), 6)
    alpha, beta, gamma = spec.parameters(np.array([0, 4]))
    assert (alpha.tolist(), beta.tolist(), gamma.tolist()) == ([0.1, 0.2], [0.0, 0.5], [0.0, 0.5])
    ahead = replace(spec, gammas=np.array([[1.0], [2.0]]))
    assert ahead.parameters(np.array([2, 3]))[2].tolist() == [1.0, 2.0]
    pairs = replace(spec, betas=np.array([0.3, 0.4]), pairs=True, gammas=np.array([5.0, 6.0]))
    assert (pairs.shape, pairs.pixels) == ((2,), 2)
    assert [values.item() for values in pairs.parameters(np.array([1]))] == [0.2, 0.4, 6.0]


def test_a_start_may_be_a_multiple_of_the_usual_distance(checked):
    problem = worst_case_quadratic(Q=9, d=4)
    far = checked(problem, steps=5, start=3.0).start
    np.testing.assert_allclose(far - problem.minimiser, 3.0 * (problem.start - problem.minimiser))


def test_a_specification_is_made_from_names_alone():
    with pytest.raises(TypeError, match="positional"):
        Spec(worst_case_quadratic(Q=9, d=4), [0.1], [0.5])


def test_refusals_carry_the_name_of_the_argument():
    problem = problems.counterexample(1, 10, 6)
    with pytest.raises(Refusal) as refusal:
        sweep(problem, [0.1], [0.5], steps=10, sampling="iid-no-repeat", batch=4)
    assert refusal.value.name == "batch"
    assert refusal.value.rule == "at most half of the 6 terms without repeats"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"alphas": [-0.1]}, "alphas must be zero or more"),
        ({"alphas": [[0.1]]}, "alphas must be a number or a list"),
        ({"betas": [np.nan]}, "betas must be finite"),
        ({"steps": 0}, "steps must be at least 1"),
        ({"repeats": 0}, "repeats must be at least 1"),
        ({"noise": "pink"}, "noise must be one of independent, shared, got 'pink'"),
        ({"measure": ["speed"]}, "measure must be one of rate"),
        ({"sigma2": 1.0, "total_variance": 1.0}, "sigma2 must be omitted with total_variance"),
        ({"sigma2": -1.0}, "sigma2 must be zero or more"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"seed": 2**128}, "seed must be at most 3402823669209384634633746074317682114"),
        ({"dtype": "float16"}, "dtype must be one of float64, float32"),
        ({"start": [1.0, 2.0]}, "start must be a number or a vector of 4"),
        ({"pairs": True, "betas": [0.1, 0.2]}, "pairs must be lists of equal length"),
        ({"gammas": [0.1, 0.2]}, "gammas"),
        ({"threads": 10**6}, "threads must be at most"),
        ({"tile": 0}, "tile must be at least 1"),
        ({"sampling": "iid"}, "sampling must be omitted"),
        ({"batch": 2}, "batch must be at most the 1 terms"),
        ({"restart": "full"}, "restart must be omitted for a quadratic"),
        ({"restart": "often"}, "restart must be one of gradient, sampled, full, a number of"),
        ({"schedule": [0.1, 0.2]}, "schedule must be 10 momenta"),
    ],
)
def test_bad_arguments_are_refused_in_one_line(change, message):
    arguments = {"alphas": [0.1], "betas": [0.5], "steps": 10} | change
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        sweep(worst_case_quadratic(Q=9, d=4), **arguments)
    assert "\n" not in str(caught.value)


def test_an_unknown_problem_is_refused():
    with pytest.raises(TypeError, match="problem must be"):
        sweep(worst_case_quadratic, [0.1], [0.5], steps=10)
