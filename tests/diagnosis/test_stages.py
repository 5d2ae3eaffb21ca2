import json
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import random as random_sparse

from ravine.arguments import Refusal
from ravine.diagnosis import diagnose
from ravine.diagnosis.minimum import FULL_LIMIT, minimum_of
from ravine.diagnosis.prediction import Outcome
from ravine.diagnosis.setup import make_setup
from ravine.tables import as_table
from ravine.theory.ladder.worst_case import worst_case_rate

QUICK = {"epochs": 5, "seeds": 4, "try_remedies": False, "time": 6.0}
"""Short runs, and a time that no busy machine runs out of."""


def test_every_recommendation_converges_and_certificates_hold(broken):
    for prediction in broken.predictions:
        if prediction.candidate.recommended and prediction.candidate.key != "safe":
            assert prediction.outcome in (Outcome.CONVERGES, Outcome.STALLS)
        if prediction.candidate.certificate is not None:
            bounds = broken.survey.certified_curvature
            assert worst_case_rate(bounds, prediction.candidate.method) < 1.0


def test_stages_are_told_from_the_first_on(data):
    told = []
    diagnose(*data(rows=40), tell=lambda stage, share: told.append(stage), **QUICK)
    assert told[0] == "reading the columns"
    assert "running on the data" in told


def test_a_singular_design_gets_an_answer(data):
    X, y = data(rows=40)
    twice = np.column_stack([X, 2.0 * X[:, 0], np.ones(40), np.ones(40)])
    result = diagnose(twice, y, **QUICK)
    assert result.survey.minimum.flat == 2
    assert "depend on each other" in " ".join(f.message for f in result.findings)
    assert result.recommendation is not None


def test_more_columns_than_rows_get_an_answer():
    rng = np.random.default_rng(0)
    result = diagnose(rng.standard_normal((12, 30)), rng.standard_normal(12), batch_size=4, **QUICK)
    assert len(result.survey.minimum.spectrum) == 12
    assert result.survey.interpolates


def test_a_thousand_batches_get_an_answer():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1100, 2))
    options = QUICK | {"epochs": 1}
    result = diagnose(X, X @ [1.0, 2.0] + rng.standard_normal(1100), batch_size=1, **options)
    assert result.survey.batching.steps_per_epoch == 1100


def test_a_table_of_few_rows_and_many_columns_ends(data):
    """32 rows, 11 columns, batches of 8, standardised: the usual car table."""
    X, y = data(rows=32, d=11)
    result = diagnose(X @ X[:11].T, y, batch_size=8, standardise=True, **QUICK)
    assert result.recommendation is not None


@pytest.mark.parametrize("labels", [2, 3])
def test_other_losses_are_local_with_a_global_certificate(data, labels):
    X, _ = data(seed=4, rows=60)
    result = diagnose(X, np.arange(60) % labels, l2=0.05, batch_size=10, **QUICK)
    assert result.survey.model.loss.name == ("logistic" if labels == 2 else "multinomial")
    assert result.survey.certified_curvature.mu == pytest.approx(0.05)
    assert all(p.excess_after.basis == "runs" for p in result.predictions if p.excess_after)


def test_counts_have_a_loss_of_their_own_and_no_certificate(data):
    X, _ = data(rows=60)
    counts = np.random.default_rng(0).poisson(np.exp(0.3 * X[:, 0]))
    result = diagnose(X, counts, loss="poisson", batch_size=10, **QUICK)
    assert np.linalg.norm(result.survey.model.gradient(result.survey.minimiser)) < 1e-10
    assert result.survey.certified_curvature is None
    assert result.recommendation is not None
    with pytest.raises(ValueError, match="y must be zero or more for the poisson loss"):
        diagnose(X, X[:, 0], loss="poisson", **QUICK)


def test_outliers_have_a_loss_of_their_own(data):
    X, y = data(rows=60)
    y[7] += 1000.0
    result = diagnose(X, y, loss="huber", l2=0.05, batch_size=10, **QUICK)
    assert np.linalg.norm(result.survey.model.gradient(result.survey.minimiser)) < 1e-8
    assert result.recommendation is not None
    # One row that is far off hardly moves the minimiser.
    assert np.abs(result.survey.minimiser - np.arange(1.0, 5.0)).max() < 1.5


def test_frames_keep_their_names_and_rows(data):
    X, y = data(rows=40)
    X[10] *= 15.0
    frame = pd.DataFrame(X, columns=list("pqrs")).assign(town=["u", "v"] * 20)
    frame.loc[3, "p"] = np.nan
    result = diagnose(frame, pd.Series(y, name="t"), batch_size=8, **QUICK)
    assert result.columns == ("p", "q", "r", "s", "town=v")
    assert result.disagreement.rows[0] == 10


def test_one_batch_of_all_rows_is_deterministic(data):
    result = diagnose(*data(seed=6, rows=40), batch_size=40, **QUICK)
    subject = result.subject
    assert subject.rate == pytest.approx(subject.spectral_radius, rel=1e-6)
    assert subject.outcome is Outcome.CONVERGES


def test_held_out_rows_have_a_loss(data):
    result = diagnose(*data(rows=80), validation=0.25, **QUICK)
    assert result.survey.batching.rows == 60
    assert all(p.held_out_loss is not None for p in result.predictions)
    assert np.isfinite(result.recommendation.held_out_loss)


def test_sparse_data_wider_than_moments_are_followed():
    X = random_sparse(400, 200, density=0.05, random_state=0, format="csr")
    y = np.asarray(X @ np.ones(200)) + np.random.default_rng(0).standard_normal(400)
    result = diagnose(X, y, l2=0.05, batch_size=20, sampling="iid", **QUICK)
    assert not result.survey.every_direction
    assert result.recommendation is not None


def test_little_time_leaves_things_out_and_says_so():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 10))
    y = X @ np.ones(10) + rng.standard_normal(3000)
    result = diagnose(X, y, time=0.05, epochs=200, try_remedies=False)
    assert result.epochs < 200
    assert any(what.startswith("epochs ") and what.endswith(" to 200") for what in result.left_out)


@pytest.mark.parametrize(
    ("size", "words"), [(0.0, "must be nonzero"), (1e40, "largest entry"), (1e-40, "1e-25")]
)
def test_numbers_that_cannot_be_squared_are_refused(data, size, words):
    X, y = data(rows=40)
    with pytest.raises(ValueError, match=words):
        diagnose(size * X, y)


def test_labels_that_are_told_apart_without_loss_need_l2():
    X = np.tile([[1.0], [-1.0]], (20, 1))
    with pytest.raises(ValueError, match="l2 must be such that the curvature at the minimum"):
        diagnose(X, X[:, 0] > 0.0, l2=1e-300)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_extreme_weights_of_the_regulariser_are_answered_without_a_warning(data, loss):
    X, y = data(rows=40)
    target = y if loss == "squared" else y > 0.0
    result = diagnose(X, target, loss=loss, l2=1e16, **QUICK)
    assert result.recommendation is not None


def test_the_same_command_gives_the_same_answer(data):
    X, y = data(rows=48)
    first = diagnose(X, y, epochs=3, seeds=8, time=600.0, try_remedies=False)
    again = diagnose(X, y, epochs=3, seeds=8, time=600.0, try_remedies=False)
    words = [r.recommendation.candidate.recipe.words for r in (first, again)]
    assert words[0] == words[1]
    np.testing.assert_array_equal(first.runs.excess, again.runs.excess)
    assert [p.floor for p in first.predictions] == [p.floor for p in again.predictions]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"alpha": -1.0}, "alpha must be positive"),
        ({"alpha": 1e300}, "alpha must be between 1e-50 and"),
        ({"l2": 1e300}, "l2 must be at most"),
        ({"beta": 0.9}, "alpha must be given with beta"),
        ({"epochs": 0}, "epochs must be at least 1"),
        ({"seeds": 0}, "seeds must be at least 1"),
        ({"time": 0.0}, "time must be positive"),
        ({"seed": -1}, "seed must be at least 0"),
    ],
)
def test_bad_options_are_refused_in_one_line(data, options, words):
    with pytest.raises(ValueError, match=words) as refusal:
        diagnose(*data(rows=40), **options)
    assert "\n" not in str(refusal.value)


def test_the_fast_choice_is_the_fastest_row_of_its_table(calm, broken):
    for result in (calm, broken):
        reached = {p.candidate.key: p.steps_to_1_percent for p in result.predictions if p.safe}
        assert reached.get("quick", 0.0) <= min(reached.values())
        fastest = [row.key for row in result.answer.methods.rows if row.fastest]
        assert fastest == ([] if result.quick is None else [result.quick.candidate.key])


def test_the_curve_of_an_averaged_method_ends_with_what_its_row_says(calm):
    for i, p in enumerate(calm.predictions):
        if p.excess_after is not None and p.excess_after.basis == "runs":
            last = calm.runs.excess[-1][:, i].mean()
            assert last == pytest.approx(p.excess_after.value)


def test_more_time_is_never_worse(data):
    """Within the error of the runs, of which there are many: the larger race has every finalist."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((400, 5)) * [1.0, 2.0, 1.0, 0.5, 1.0]
    y = rng.random(400) < 1.0 / (1.0 + np.exp(-X @ [1.0, 0.5, -1.0, 0.0, 0.3]))
    left = []
    for time in (2.0, 8.0, 60.0):
        result = diagnose(X, y, time=time, epochs=10, seeds=64, try_remedies=False)
        left.append(result.recommendation.loss / result.survey.start_excess)
    assert left[1] <= 1.02 * left[0]
    assert left[2] <= 1.02 * left[1]


def test_a_huge_target_is_answered_without_a_warning_or_refused(data):
    X, y = data(rows=60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = diagnose(X, 1e148 * y, **QUICK)
        assert "diverged" not in result.answer.do
        assert json.dumps(result.to_dict())
        with pytest.raises(Refusal, match="at most 1e\\+150"):
            diagnose(X, 1e153 * y, **QUICK)


def test_wide_data_of_many_classes_find_their_minimum_with_few_products():
    """Preconditioned, the search takes dozens of products, not thousands."""
    rng = np.random.default_rng(0)
    labels = rng.integers(6, size=400)
    X = rng.random((6, 230))[labels] + 0.4 * rng.standard_normal((400, 230))
    table = as_table(X, labels.astype(str))
    model = make_setup(table, standardise=True, intercept=True)[0].model
    # Without the preconditioner they do not suffice.
    found = minimum_of(model, products=400)
    assert model.dimension > FULL_LIMIT
    assert found.gap < 1e-10
    np.testing.assert_allclose(model.gradient(found.point), 0.0, atol=1e-9)


def test_a_table_that_was_read_is_standardised_and_arrays_are_not(data):
    X, y = data(rows=40)
    as_is = diagnose(X, y, **QUICK)
    assert as_is.answer.data[1] == "columns not scaled, no intercept added"
    read = diagnose(as_table(5.0 + 3.0 * X, y), **QUICK)
    assert read.answer.data[1] == "columns standardised, intercept added"
    assert diagnose(as_table(X, y), name="mine", **QUICK).answer.data[0].startswith("mine: 40 rows")
    assert read.columns[-1] == "intercept"
    assert float(read.survey.curvature.Q) < 4.0
    raw = diagnose(as_table(5.0 + 3.0 * X, y), standardise=False, intercept=False, **QUICK)
    assert raw.answer.data[1] == "columns not scaled, no intercept added"
