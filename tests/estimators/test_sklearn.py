"""The estimators keep scikit-learn's contract and reach the exact minimum."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from ravine.sklearn import SGDClassifier, SGDRegressor

ALPHA = 1e-3


@pytest.mark.parametrize("estimator", [SGDRegressor(), SGDClassifier()], ids=str)
@pytest.mark.filterwarnings("ignore")
def test_all_checks_of_scikit_learn_pass(estimator):
    results = check_estimator(estimator, on_fail=None)
    assert len(results) > 50
    failed = [r["check_name"] for r in results if r["status"] not in ("passed", "skipped")]
    assert failed == []
    # The only one that may be skipped needs an environment variable.
    skipped = {r["check_name"] for r in results if r["status"] == "skipped"}
    assert skipped <= {"check_array_api_input"}


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_regression_reaches_the_exact_minimum(make):
    X, y = load_diabetes(return_X_y=True, scaled=False)
    model = SGDRegressor(alpha=ALPHA, random_state=0).fit(make(X), y)
    scaler = StandardScaler().fit(X)
    exact = Ridge(alpha=ALPHA * len(y)).fit(scaler.transform(X), y)
    np.testing.assert_allclose(model.coef_ * scaler.scale_, exact.coef_, rtol=1e-6)
    np.testing.assert_allclose(model.predict(make(X)), exact.predict(scaler.transform(X)))


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_classification_reaches_the_exact_minimum(load):
    X, y = load(return_X_y=True)
    Z = StandardScaler().fit_transform(X)
    exact = LogisticRegression(C=1 / (ALPHA * len(y)), tol=1e-10, max_iter=10_000).fit(Z, y)
    model = SGDClassifier(alpha=ALPHA, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), exact.predict_proba(Z), atol=1e-5)
    assert model.coef_.shape == exact.coef_.shape


def test_many_classes_take_blocks_of_the_curvature():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 30))
    y = (X @ rng.standard_normal((30, 8)) + rng.standard_normal((600, 8))).argmax(axis=1)
    Z = StandardScaler().fit_transform(X)
    exact = LogisticRegression(C=1 / (ALPHA * len(y)), tol=1e-10, max_iter=10_000).fit(Z, y)
    model = SGDClassifier(alpha=ALPHA, random_state=0).fit(X, y)
    own = (np.arange(len(y)), y)

    def objective(proba, weights):
        return -np.log(proba[own]).mean() + 0.5 * ALPHA * np.sum(weights**2)

    ours = objective(model.predict_proba(X), model.coef_ * X.std(axis=0))
    least = objective(exact.predict_proba(Z), exact.coef_)
    assert ours == pytest.approx(least, rel=1e-5)


def test_wide_data_of_more_columns_than_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 800))
    y = X[:, 0] + 0.1 * rng.standard_normal(200)
    model = SGDRegressor(alpha=0.1, random_state=0).fit(X, y)
    Z = StandardScaler().fit_transform(X)
    exact = Ridge(alpha=0.1 * len(y)).fit(Z, y)
    np.testing.assert_allclose(model.predict(X), exact.predict(Z), atol=1e-3 * y.std())


def test_what_a_fit_reports():
    X, y = load_diabetes(return_X_y=True)
    model = SGDRegressor(random_state=0).fit(X, y)
    assert model.n_iter_ == len(model.loss_curve_) >= 2
    assert np.all(np.diff(model.loss_curve_) <= 1e-9 * model.loss_curve_[0])
    assert 0.0 < model.lr_ < 2.0
    assert model.momentum_ in (0.0, 0.5, 0.8, 0.9)
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(model.coef_, again.coef_)


@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100])
def test_columns_of_any_size_dependent_and_constant_ones(scale):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 3)) * [1.0, 1e-6, 1e6]
    X = scale * np.c_[X, X[:, 0], np.ones(200)]
    y = X[:, 0] + scale * 0.1 * rng.standard_normal(200)
    model = SGDRegressor(random_state=0).fit(X, y)
    assert model.score(X, y) > 0.98
    assert SGDClassifier(alpha=0.0, random_state=0).fit(X, y > 0).score(X, y > 0) > 0.9


def test_columns_that_overflow_are_refused():
    with pytest.raises(ValueError, match="X must be below 1e150, got larger values in column 1"):
        SGDRegressor().fit(np.array([[1.0, 1e200], [2.0, -1e200], [3.0, 0.0]]), [1.0, 2.0, 3.0])


@pytest.mark.parametrize("chunk", [7, 500])
def test_partial_fits_approach_the_fit_of_all_rows(chunk):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((6000, 6)) * np.logspace(0, 4, 6) + 50.0
    y = X @ (rng.standard_normal(6) / np.logspace(0, 4, 6)) + rng.standard_normal(6000)
    regression, classes, many = SGDRegressor(), SGDClassifier(), SGDClassifier()
    sparse_too = SGDRegressor()
    bins = np.digitize(y, np.quantile(y, [0.3, 0.6]))
    for k in range(0, len(y), chunk):
        rows = slice(k, k + chunk)
        regression.partial_fit(X[rows], y[rows])
        sparse_too.partial_fit(sparse.csr_array(X[rows]), y[rows])
        classes.partial_fit(X[rows], y[rows] > y.mean(), classes=[False, True])
        many.partial_fit(X[rows], bins[rows], classes=[0, 1, 2])
    least = SGDRegressor().fit(X, y).score(X, y)
    assert regression.score(X, y) > least - 0.01
    assert sparse_too.score(X, y) > least - 0.05
    assert (
        classes.score(X, y > y.mean())
        > SGDClassifier().fit(X, y > y.mean()).score(X, y > y.mean()) - 0.02
    )
    assert many.score(X, bins) > SGDClassifier().fit(X, bins).score(X, bins) - 0.03


def test_a_fit_that_is_cut_short_warns():
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="raise max_iter or tol"):
        SGDClassifier(max_iter=2).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SGDClassifier().fit(X, y)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"alpha": -1.0}, "alpha must be at least 0, got -1.0"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
        ({"batch_size": 0}, "batch_size must be at least 1"),
    ],
)
def test_options_are_checked(options, words):
    with pytest.raises(ValueError, match=words):
        SGDRegressor(**options).fit([[1.0], [2.0], [3.0]], [1.0, 2.0, 3.0])


def test_classes_are_needed():
    with pytest.raises(ValueError, match="classes must be given in the first call"):
        SGDClassifier().partial_fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(ValueError, match="classes must be of two classes or more, got one class"):
        SGDClassifier().partial_fit([[1.0], [2.0]], [0, 0], classes=[0])
    with pytest.raises(ValueError, match="y must be of two classes or more, got one class"):
        SGDClassifier().fit([[1.0], [2.0]], [1, 1])
