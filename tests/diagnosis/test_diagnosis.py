import json

import numpy as np
import pytest
from scipy.sparse import random as random_sparse

from ravine.diagnosis import diagnose
from ravine.diagnosis.prediction import Outcome
from ravine.diagnosis.verdict import digits, pace, percent
from ravine.theory.ladder.worst_case import worst_case_rate


def data(seed: int = 0, rows: int = 96, d: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, d)) * np.geomspace(0.5, 2.0, d)
    return X, X @ np.arange(1.0, d + 1.0) + 0.5 * rng.standard_normal(rows)


@pytest.fixture(scope="module")
def broken():
    """One row, 37, is twelve times as long as the others."""
    X, y = data()
    X[37] *= 12.0
    y[37] *= 12.0
    return diagnose(X, y, batch_size=4, sampling="iid", columns=("a", "b", "c", "d"))


def test_a_wild_row_is_named_with_its_batch(broken):
    why = broken.disagreement
    assert broken.subject.outcome is not Outcome.CONVERGES
    assert why.rows[0] == 37
    assert why.shares[0] > 0.8
    order = np.random.default_rng(0).permutation(96)
    assert order[4 * why.batches[0] : 4 * why.batches[0] + 4].tolist().count(37) == 1
    assert "row 37 makes" in broken.verdict


def test_remedies_are_tried(broken):
    tried = {r.kind: r for r in broken.remedies}
    assert set(tried) == {"batch size", "l2", "standardise", "drop rows", "clip rows"}
    assert tried["drop rows"].action.startswith("drop rows 37, ")
    assert not tried["drop rows"].works  # batches of four rows for four columns: all are poor
    assert tried["batch size"].works


def test_dropping_the_row_helps_as_much_as_diagnosing_without_it():
    X, y = data()
    X[37] *= 12.0
    y[37] *= 12.0
    tried = {r.kind: r for r in diagnose(X, y, batch_size=16, sampling="iid", seeds=4).remedies}
    assert tried["drop rows"].action == "drop row 37"
    assert tried["drop rows"].works

    kept = np.setdiff1d(np.arange(96), [37])
    again = diagnose(X[kept], y[kept], batch_size=16, sampling="iid", try_remedies=False)
    assert again.subject.rate == pytest.approx(tried["drop rows"].rate, rel=1e-6)


def test_every_recommendation_converges_and_the_certificate_holds(broken):
    found = {p.candidate.key: p for p in broken.predictions}
    recommended = [p for p in broken.predictions if p.candidate.recommended]
    assert {p.candidate.key for p in recommended} >= {"certified", "fastest"}
    assert all(p.outcome is Outcome.CONVERGES for p in recommended)
    proof = found["certified"].candidate
    assert proof.certificate.verify()
    assert worst_case_rate(broken.survey.certified_curvature, proof.method) < 1.0


def test_predicted_errors_are_measured():
    """Exact moments against 400 runs: within five standard errors."""
    X, y = data(seed=1)
    found = diagnose(X, y, l2=0.1, batch_size=8, sampling="iid", alpha=0.05, beta=0.5, epochs=20,
                     seeds=400, try_remedies=False)  # fmt: skip
    for i, p in enumerate(found.predictions):
        if p.outcome is not Outcome.CONVERGES or p.candidate.key in ("tuned-sgd", "fastest"):
            continue  # tuned to where fourth moments are large: their runs tell less
        last = found.runs.squares[-1, :, i]
        error = last.std(ddof=1) / 20.0
        assert abs(last.mean() - p.error_after.value) < 5.0 * error, p.candidate.key
        assert p.floor.exact


def test_paths_predict_reshuffled_batches():
    X, y = data(seed=2)
    found = diagnose(X, y, l2=0.1, batch_size=8, alpha=0.05, beta=0.5, epochs=40, seeds=64,
                     try_remedies=False)  # fmt: skip
    yours = found.predictions[0]
    last = found.runs.squares[-1, :, 0]
    reach = 5.0 * last.std(ddof=1) / 8.0 + (yours.error_after.high - yours.error_after.low)
    assert abs(last.mean() - yours.error_after.value) < reach
    assert yours.outcome is Outcome.CONVERGES
    assert not yours.floor.exact
    # Reshuffling leaves less than drawing with replacement.
    assert yours.floor.value < np.trace(found.survey.moments.stationary(yours.candidate.method))


def test_interpolation_is_noticed():
    X, _ = data(seed=3)
    found = diagnose(X, X @ np.ones(4), l2=0.0, batch_size=16, sampling="iid", try_remedies=False)
    assert found.survey.interpolates
    assert "which all batches share" in found.verdict
    assert "budget" not in {p.candidate.key for p in found.predictions}


@pytest.mark.parametrize("labels", [2, 3])
def test_logistic_losses_are_local_with_a_global_certificate(labels):
    X, _ = data(seed=4, rows=60)
    y = np.arange(60) % labels
    found = diagnose(X, y, l2=0.05, batch_size=10, sampling="iid", try_remedies=False)
    assert found.survey.problem.loss.name == ("logistic" if labels == 2 else "multinomial")
    record = found.to_dict()
    assert record["curvature"]["holds"] == "at x*"
    assert record["all_batches"]["mu"] == pytest.approx(0.05)
    assert any(m["certificate"] is not None for m in record["methods"])


def test_what_was_left_open_is_chosen_and_said():
    X, _ = data(seed=5, rows=40)
    found = diagnose(X, np.arange(40) % 2, batch_size=10, try_remedies=False)
    said = " ".join(f.message for f in found.findings)
    assert "logistic loss was chosen" in said
    assert "l2 = 1/rows = 0.025" in said


def test_one_batch_of_all_rows_is_deterministic():
    X, y = data(seed=6, rows=40)
    found = diagnose(X, y, batch_size=40, try_remedies=False)
    subject = found.subject
    assert subject.rate == pytest.approx(subject.spectral_radius, rel=1e-6)
    assert subject.outcome is Outcome.CONVERGES


def test_a_fixed_order_is_exact():
    X, y = data(seed=8, rows=48)
    found = diagnose(X, y, l2=0.1, batch_size=8, sampling="cyclic", epochs=5, try_remedies=False)
    for p in found.predictions:
        assert p.mean_square.exact
        assert p.mean_square.rate == pytest.approx(p.almost_sure.value, rel=1e-9)


def test_recommended_parameters_are_not_called_better_when_they_are_not():
    X, y = data(seed=8, rows=48)
    first = diagnose(X, y, l2=0.1, batch_size=8, sampling="iid", epochs=20, try_remedies=False)
    best = first.recommendation.candidate.method
    again = diagnose(X, y, l2=0.1, batch_size=8, sampling="iid", epochs=20, try_remedies=False,
                     alpha=float(best.alpha), beta=float(best.beta))  # fmt: skip
    assert "Nothing tried here leaves less" in again.verdict
    assert "Better: with" not in again.verdict


def test_sparse_data_wider_than_moments_are_followed():
    X = random_sparse(400, 200, density=0.05, random_state=0, format="csr")
    y = np.asarray(X @ np.ones(200)) + np.random.default_rng(0).standard_normal(400)
    found = diagnose(X, y, l2=0.05, batch_size=20, sampling="iid", epochs=5, seeds=2)
    assert not found.survey.every_direction
    assert not found.remedies_computed
    assert found.recommendation is not None
    measured = found.runs.squares[-1]
    certified = [p.candidate.key for p in found.predictions].index("certified")
    assert np.isfinite(measured[:, certified]).all()


def test_the_record_is_json_and_complete(broken):
    text = json.dumps(broken.to_dict())
    back = json.loads(text.replace("Infinity", "null"))
    assert back["data"]["batches"] == 24
    assert len(back["methods"]) == len(broken.predictions)
    assert back["recommended"] in {m["key"] for m in back["methods"]}
    assert back["methods"][0]["measured"]["runs"] == broken.runs.squares.shape[1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"batch_size": 1000}, "batch_size must be at most the 40 rows"),
        ({"batch_size": 0}, "batch_size must be at least 1"),
        ({"alpha": -1.0}, "alpha must be positive"),
        ({"beta": 0.9}, "alpha must be given with beta"),
        ({"loss": "hinge"}, "loss must be one of"),
        ({"sampling": "often"}, "sampling must be one of"),
        ({"columns": ("a",)}, "columns must be 4 names"),
        ({"l2": -1.0}, "l2 must be"),
        ({"epochs": 0}, "epochs must be at least 1"),
    ],
)
def test_bad_options_are_refused(options, words):
    X, y = data(rows=40)
    with pytest.raises(ValueError, match=words):
        diagnose(X, y, **{"batch_size": 8, **options})


def test_a_constant_target_is_refused():
    X, _ = data(rows=40)
    with pytest.raises(ValueError, match="the target must be more than one value"):
        diagnose(X, np.ones(40), batch_size=8)


def test_numbers_in_words():
    assert digits(0.9994) == "0.99940"
    assert digits(1.35) == "1.350"
    assert digits(1.0 - 2e-8) == "1 - 2.0e-08"
    assert pace(0.5) == "0.500 a step, halving the error every 1.0 steps"
    assert percent(0.034) == "3.4 %"
    assert percent(12.0) == "12 times"
