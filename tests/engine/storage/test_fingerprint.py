"""Two specifications have the same fingerprint exactly if they give the same numbers."""

from dataclasses import replace

import numpy as np
import pytest

from ravine import Curvature
from ravine.engine.schedule import Tail
from ravine.engine.spec import Spec
from ravine.engine.storage.fingerprint import fingerprint, numerics
from ravine.problems import Quadratic, counterexample, from_functions, worst_case_quadratic
from ravine.sampling import Sampling


@pytest.fixture
def spec():
    return Spec(
        problem=worst_case_quadratic(8, 5),
        alphas=np.array([0.1, 0.2]),
        betas=np.array([0.5]),
        steps=10,
        repeats=2,
        sigma2=0.1,
        measures=("rate",),
        seed=3,
        start=np.zeros(5),
    )


def differing(a, b):
    one, other = fingerprint(a), fingerprint(b)
    return [name for name in one if one[name] != other[name]]


def test_the_same_arguments_made_anew_are_the_same(spec):
    again = replace(spec, problem=worst_case_quadratic(8, 5), alphas=np.array([0.1, 0.2]))
    again.problem.mean_gradient_norm  # noqa: B018 - remembered by the problem, no matter to a sweep
    assert differing(spec, again) == []
    assert set(fingerprint(spec)) >= set(numerics())


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("problem", worst_case_quadratic(8, 5, mu=np.nextafter(1.0, 2.0))),
        ("problem", Quadratic(worst_case_quadratic(8, 5).hessian())),
        ("alphas", np.array([0.1, np.nextafter(0.2, 1.0)])),
        ("betas", np.array([-0.0])),
        ("gammas", np.array(0.5)),
        ("pairs", True),
        ("steps", 11),
        ("repeats", 3),
        ("sampling", Sampling.CYCLIC),
        ("sigma2", 0.1000000000000001),
        ("noise", "shared"),
        ("measures", ("rate", "floor")),
        ("seed", 4),
        ("start", np.ones(5)),
        ("dtype", "float32"),
        ("batch", 2),
        ("restart", 7),
        ("schedule", np.full(10, 0.5)),
    ],
)
def test_every_argument_counts_to_its_last_bit(spec, field, value):
    assert differing(spec, replace(spec, **{field: value})) == [field]


def test_sums_and_functions_count_by_their_content(spec):
    sums = replace(spec, problem=counterexample(1.0, 8.0, 3))
    assert differing(sums, replace(spec, problem=counterexample(1.0, 8.0, 3))) == []
    assert differing(sums, replace(spec, problem=counterexample(1.0, 8.0, 4))) == ["problem"]

    def bowl(weight):
        return from_functions(
            lambda x: weight * x, dimension=5, curvature=Curvature(1.0, 8.0), minimiser=np.zeros(5)
        )

    assert differing(replace(spec, problem=bowl(2.0)), replace(spec, problem=bowl(2.0))) == []
    other = differing(replace(spec, problem=bowl(2.0)), replace(spec, problem=bowl(3.0)))
    assert other == ["problem"]


def test_schedules_count_by_their_content(spec):
    def rising(most):
        return replace(spec, schedule=lambda k: most * k / (k + 3))

    assert differing(rising(0.9), rising(0.9)) == []
    assert differing(rising(0.9), rising(0.8)) == ["schedule"]
    assert differing(rising(0.9), replace(spec, schedule=Tail(5, -0.5))) == ["schedule"]


def test_every_field_of_a_specification_is_in_it(spec):
    assert set(fingerprint(spec)) == set(Spec.__dataclass_fields__) | set(numerics())
