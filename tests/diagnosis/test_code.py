import dataclasses
from functools import cache

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from ravine.arguments import Refusal
from ravine.diagnosis import diagnose
from ravine.diagnosis.candidates import CONSTANT, LINEAR, Recipe
from ravine.diagnosis.code import training_scripts
from ravine.diagnosis.runs import follow
from ravine.methods import Method
from ravine.tables import as_table

FRAMEWORKS = ("numpy", "sklearn", "torch")


def trained(code, **names):
    """The weights that a script ends with."""
    space = dict(names)
    exec(compile(code, "pasted", "exec"), space)
    return np.asarray(space["W"])


def excess(result, W):
    """Excess loss of weights on the data as they were diagnosed, as a share of the start's."""
    points = np.asarray(W, dtype=float).reshape(1, result.survey.model.features, -1)
    return float(result.survey.excess(points)[0, 0]) / result.survey.start_excess


def classes(kinds, rows=240, seed=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(kinds, size=rows)
    centres = rng.standard_normal((kinds, 3))
    return centres[y] * 1.5 + rng.standard_normal((rows, 3)) * [1.0, 2.0, 5.0], np.array(
        list("abc")
    )[y]


def cases():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((320, 3)) * [1.0, 3.0, 9.0] + [5.0, 0.0, 1.0]
    y = X @ [1.0, 0.5, -0.1] + rng.standard_normal(320)
    return {
        "squared": (X, y, {}),
        "logistic": (*classes(2), {}),
        "multinomial": (*classes(3), {}),
        "poisson": (X, 1.0 * rng.poisson(np.exp(0.2 * (X[:, 0] - 5.0))), {"loss": "poisson"}),
        "huber": (X, y, {"loss": "huber", "l2": 1e-3}),
        "iid": (X, y, {"sampling": "iid"}),
        "fixed": (X, y, {"batches": "fixed"}),
    }  # fmt: skip


@cache
def diagnosed(name):
    X, y, options = cases()[name]
    return diagnose(X, y, standardise=True, intercept=True, epochs=8, seeds=16, batch_size=16,
                    time=5.0, try_remedies=False, **options)  # fmt: skip


@cache
def whole(name):
    X, y, _ = cases()[name]
    return diagnose(X, y, standardise=True, intercept=True, batch_size=320, epochs=40, l2=0.01,
                    alpha=0.02, beta=0.9, seeds=2, time=5.0, try_remedies=False)  # fmt: skip


@pytest.mark.parametrize("name", list(cases()))
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_code_gets_the_promised_loss(name, framework):
    """Each seed of the script is one more run: it stays within the range of ravine's runs."""
    if framework == "torch":
        torch = pytest.importorskip("torch")
        torch.manual_seed(0)
    X, y, _ = cases()[name]
    result = diagnosed(name)
    share = excess(result, trained(result.code(framework), X=X, y=y))
    which = result.predictions.index(result.recommendation)
    runs = result.runs.excess[-1][:, which]
    runs = runs / result.survey.start_excess
    assert 0.2 * runs.min() < share < 5.0 * runs.max()


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize(
    "recipe",
    [
        Recipe(Method(0.02, 0.9), LINEAR),
        Recipe(Method(0.05, 0.5), 0.5),
        Recipe(Method(0.05, 0.8), CONSTANT, averaged=True),
        Recipe(Method(0.1)),
        Recipe(Method(0.05, 0.9, 0.0)),
    ],
    ids=lambda r: r.words,
)
def test_one_batch_of_all_rows_is_the_same_to_rounding(framework, recipe):
    """Without chance, schedule, averaging and look-ahead are those of the diagnosis."""
    if framework == "torch":
        pytest.importorskip("torch")
    X, y, _ = cases()["squared"]
    result = whole("squared")
    candidate = dataclasses.replace(result.subject.candidate, recipe=recipe)
    only = dataclasses.replace(result.subject, candidate=candidate)
    alone = dataclasses.replace(result, predictions=(only,))
    seen = result.survey
    runs = follow(seen, [recipe], steps=result.steps, seeds=1)
    promised = float(runs.excess[-1][0, 0]) / seen.start_excess
    share = excess(alone, trained(alone.code(framework), X=X, y=y))
    assert share == pytest.approx(promised, rel=1e-6)


def test_weights_and_sparse_rows_are_trained_on_as_they_were_diagnosed():
    X, y, _ = cases()["squared"]
    heavy = np.where(np.arange(len(X)) % 3 == 0, 4.0, 1.0)
    table = dataclasses.replace(as_table(X, y), weights=heavy)
    options = {"batch_size": 320, "epochs": 40, "seeds": 2, "time": 5.0, "try_remedies": False}
    weighted = diagnose(table, **options)
    for framework in ("numpy", "sklearn"):
        W = trained(weighted.code(framework), X=X, y=y, weights=heavy)
        assert excess(weighted, W) == pytest.approx(
            weighted.recommendation.loss / weighted.survey.start_excess, rel=1e-6
        )

    thin = csr_matrix(np.where(np.abs(X) > 2.0, X, 0.0))
    sparse = diagnose(thin, y, standardise=True, intercept=True, **options)
    promised = sparse.recommendation.loss / sparse.survey.start_excess
    for framework in ("numpy", "sklearn"):
        assert excess(sparse, trained(sparse.code(framework), X=thin, y=y)) == pytest.approx(
            promised, rel=1e-6
        )


def test_a_setting_without_a_script_has_a_report(data):
    """Where batches may not repeat there is no script, and torch has no look-ahead of its own."""
    quick = {"epochs": 2, "seeds": 2, "time": 2.0, "try_remedies": False}
    rule = diagnose(*data(), sampling="iid-no-repeat", **quick)
    assert training_scripts(rule) == {}
    assert "Training loop" not in rule.to_html()

    best = rule.recommendation
    method = Method(0.01, 0.5, 0.2)
    recipe = dataclasses.replace(best.candidate.recipe, method=method)
    only = dataclasses.replace(best, candidate=dataclasses.replace(best.candidate, recipe=recipe))
    plain = diagnose(*data(), **quick)
    ahead = dataclasses.replace(plain, predictions=(only,))
    assert list(training_scripts(ahead)) == ["sklearn", "numpy"]
    assert "Training loop in NumPy" in ahead.to_html()


def test_a_framework_that_is_none_is_refused(calm):
    with pytest.raises(Refusal, match="framework must be one of torch, sklearn, numpy"):
        calm.code("jax")
