"""What other software gives for the same question, in small: answers that must be the same.

Solvers that are at hand are asked here. Semidefinite programs are not run in a test: what PEPit
0.5.1 and AutoLyap 0.2.1 answered with Clarabel 0.11.1 (``python -m benchmarks.peers``) is kept.
"""

import numpy as np
import pytest
from scipy.linalg import solve_discrete_lyapunov
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression, Ridge

import ravine
from ravine.theory.blocks import block

CURVATURE = ravine.Curvature(1 / 32, 1.0)

SOLVER = 1e-6
"""Relative error that a semidefinite solver with tolerances of 1e-10 is trusted with."""


@pytest.mark.parametrize(("alpha", "beta"), [(0.3, 0.0), (1.0, 0.7), (0.5, 0.95), (1.2, -0.4)])
def test_scipys_lyapunov_solver_gives_the_same_variances(alpha, beta):
    method = ravine.Method(alpha, beta)
    direction = alpha * np.array([1 + beta, 1.0])
    covariance = solve_discrete_lyapunov(block(0.4, method), np.outer(direction, direction))
    assert ravine.stationary_variance(0.4, method).y == pytest.approx(covariance[0, 0], rel=1e-12)


def test_scikit_learns_ridge_has_the_same_minimiser():
    X, y = load_diabetes(return_X_y=True)
    l2 = 0.01
    ridge = Ridge(alpha=l2 * len(X), fit_intercept=False, tol=1e-12).fit(X, y)
    problem = ravine.problems.from_data(X, y, loss="squared", l2=l2)
    np.testing.assert_allclose(problem.minimiser, ridge.coef_, rtol=1e-9)


def test_scikit_learns_logistic_regression_has_the_same_minimiser():
    X, y = load_iris(return_X_y=True)
    two = y < 2
    X, y = X[two], y[two]
    l2 = 0.05
    fitted = LogisticRegression(
        C=1 / (l2 * len(X)), fit_intercept=False, solver="newton-cholesky", tol=1e-12
    ).fit(X, y)
    problem = ravine.problems.from_data(X, y, loss="logistic", l2=l2)
    np.testing.assert_allclose(problem.minimiser, fitted.coef_[0], rtol=1e-7)


@pytest.mark.parametrize(
    ("steps", "worst"),
    [
        (1, 0.1614040980885812),
        (2, 0.07898811536157611),
        (3, 0.1052318137513242),
        (5, 0.08834604488945928),
        (8, 0.049976185807964625),
    ],
)
def test_pepits_worst_objective_lies_between_the_bounds(steps, worst):
    below = ravine.bounds.first_order(CURVATURE).envelope(steps=steps).values[-1]
    above = ravine.bounds.nesterov(CURVATURE).envelope(steps=steps).values[-1]
    assert below <= worst <= above


@pytest.mark.parametrize(
    ("alpha", "worst"),
    [(0.5, 0.8542908497812461), (1.0, 0.7279761574499262), (1.9, 0.5422070657616419)],
)
def test_pepits_worst_descent_is_a_power_of_the_rate(alpha, worst):
    rate = ravine.worst_case_rate(CURVATURE, ravine.Method(alpha, 0.0))
    assert rate**10 == pytest.approx(worst, rel=SOLVER)


@pytest.mark.parametrize(
    ("alpha", "beta", "rate"),
    [
        (0.5, 0.3, 0.9776117905610955),
        (1.0, 0.7, 0.8683803533507399),
        (1.5, 0.2, 0.9412198653849534),
        (1.0, 0.9, 0.9409358285694613),
    ],
)
def test_autolyaps_rate_lies_between_the_rungs(alpha, beta, rate):
    method = ravine.Method(alpha, beta)
    assert ravine.spectral_radius(CURVATURE, method) * (1 - SOLVER) <= rate
    assert rate <= ravine.worst_case_rate(CURVATURE, method) * (1 + SOLVER)


def test_autolyap_agrees_where_the_rungs_do():
    method = ravine.Method(0.5, 0.3)
    assert ravine.worst_case_rate(CURVATURE, method) == pytest.approx(
        0.9776117905610955, rel=SOLVER
    )
