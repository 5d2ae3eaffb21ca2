"""What every problem promises, for every problem."""

import numpy as np
import pytest
from scipy import sparse

from ravine import Curvature
from ravine.problems import (
    Quadratic,
    counterexample,
    divergent_sum,
    from_data,
    from_functions,
    least_squares,
    multinomial_logistic,
    partitioned_least_squares,
    turning_quadratics,
    worst_case_quadratic,
)

rng = np.random.default_rng(7)
TABLE = rng.standard_normal((30, 4)) * [1.0, 2.0, 0.5, 1.5]
TARGET = TABLE @ [1.0, -1.0, 0.5, 2.0] + 0.3 * rng.standard_normal(30)
LABELS = rng.integers(0, 3, 30)


def bowl(i, x):
    return (1.0 + 0.1 * i) * x + 0.5 * np.sin(x - i)


PROBLEMS = {
    "worst case": lambda: worst_case_quadratic(8, 12),
    "least squares": lambda: least_squares(40, 5, Q=20, seed=3),
    "counterexample": lambda: counterexample(0.05, 100, 6),
    "divergent sum": lambda: divergent_sum([3.0, -1.0, 2.0, 0.5], 0.1, 10, 5),
    "divergent sum, no interpolation": lambda: divergent_sum(
        [3.0, 1.0], 0.1, 10, 5, interpolate=False
    ),
    "turning": lambda: turning_quadratics(1, 12),
    "partitioned": lambda: partitioned_least_squares(60, 3, 6, Q=16, seed=1),
    "multinomial": lambda: multinomial_logistic(40, 4, 3, 3, l2=0.1, batch_size=10, seed=2),
    "squared data": lambda: from_data(TABLE, TARGET, batch_size=7, l2=0.01),
    "logistic data": lambda: from_data(TABLE, LABELS > 0, loss="logistic", l2=0.1, batch_size=9),
    "sparse data": lambda: from_data(
        sparse.csr_array(np.where(np.abs(TABLE) > 0.8, TABLE, 0.0)),
        LABELS,
        loss="multinomial",
        l2=0.2,
        batch_size=15,
    ),
    "functions": lambda: from_functions(
        gradients=bowl, terms=3, dimension=2, curvature=Curvature(0.5, 1.7)
    ),
}


@pytest.fixture(params=PROBLEMS, scope="module")
def problem(request):
    return PROBLEMS[request.param]()


@pytest.fixture(scope="module")
def point(problem):
    away = np.random.default_rng(11).standard_normal(problem.dimension)
    return problem.minimiser + away


def test_the_whole_is_the_mean_of_its_terms(problem, point):
    terms = range(problem.terms)
    values = [problem.batch_objective(i, point) for i in terms]
    scale = np.abs(values).max()
    assert problem.objective(point) == pytest.approx(np.mean(values), abs=1e-12 * scale)
    gradients = problem.batch_gradients(point)
    assert gradients.shape == (problem.terms, problem.dimension)
    scale = np.abs(gradients).max()
    np.testing.assert_allclose(problem.gradient(point), gradients.mean(axis=0), atol=1e-12 * scale)
    hessians = problem.batch_hessians(point)
    assert hessians.shape == (problem.terms, problem.dimension, problem.dimension)
    scale = np.abs(hessians).max()
    np.testing.assert_allclose(problem.hessian(point), hessians.mean(axis=0), atol=1e-12 * scale)


def test_gradients_are_the_slopes_of_the_objectives(problem, point):
    # Central differences: h² f''' / 6 + eps |f| / h, below 1e-6 of the scale for h = 1e-5.
    h = 1e-5
    for i in {0, problem.terms - 1}:
        slope = np.empty(problem.dimension)
        for j in range(problem.dimension):
            step = h * np.eye(problem.dimension)[j]
            rise = problem.batch_objective(i, point + step)
            slope[j] = (rise - problem.batch_objective(i, point - step)) / (2 * h)
        scale = 1 + abs(problem.batch_objective(i, point))
        np.testing.assert_allclose(problem.batch_gradient(i, point), slope, atol=1e-7 * scale)


def test_hessians_are_the_slopes_of_the_gradients(problem, point):
    h = 1e-5
    for i in {0, problem.terms - 1}:
        H = problem.batch_hessian(i, point)
        scale = np.abs(H).max()
        np.testing.assert_array_equal(H, H.T)
        for j in range(problem.dimension):
            step = h * np.eye(problem.dimension)[j]
            rise = problem.batch_gradient(i, point + step) - problem.batch_gradient(i, point - step)
            np.testing.assert_allclose(H[:, j], rise / (2 * h), atol=1e-7 * scale)


def test_hessian_products_need_no_hessian(problem, point):
    v = np.random.default_rng(5).standard_normal(problem.dimension)
    H = problem.batch_hessian(problem.terms - 1, point)
    product = problem.hessian_product(problem.terms - 1, v, point)
    np.testing.assert_allclose(product, H @ v, atol=1e-12 * np.abs(H).max())
    whole = problem.hessian_product(None, v, point)
    np.testing.assert_allclose(whole, problem.hessian(point) @ v, atol=1e-12 * np.abs(H).max())


def test_the_gradient_vanishes_at_the_minimiser(problem):
    scale = float(problem.curvature.L) * (1 + np.linalg.norm(problem.minimiser))
    assert np.linalg.norm(problem.gradient(problem.minimiser)) < 1e-13 * scale
    assert problem.minimum == pytest.approx(problem.objective(problem.minimiser), abs=1e-14 * scale)
    near = problem.minimiser + 1e-3
    assert problem.objective(near) > problem.minimum


def test_the_curvature_encloses_every_term(problem, point):
    mu, L = float(problem.curvature.mu), float(problem.curvature.L)
    for x in (None, point):
        spectra = np.linalg.eigvalsh(problem.batch_hessians(x))
        # Finite differences carry 1e-9 of L, everything else rounding.
        assert spectra.min() >= mu - 1e-9 * L
        assert spectra.max() <= L * (1 + 1e-9)


def test_it_says_what_made_it(problem):
    assert problem.name
    assert problem.parameters
    assert all(isinstance(v, int | float | str | bool | list) for v in problem.parameters.values())
    assert problem.start.shape == problem.minimiser.shape == (problem.dimension,)
    assert problem.name in repr(problem)


def test_hessians_at_the_minimiser_are_the_default(problem):
    np.testing.assert_array_equal(
        problem.batch_hessians(), problem.batch_hessians(problem.minimiser)
    )
    np.testing.assert_allclose(
        problem.batch_gradients(), problem.batch_gradients(problem.minimiser), atol=1e-14
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: p.objective([1.0, 2.0, 3.0]), "x must be a vector of 2 coordinates"),
        (lambda p: p.gradient([1.0, np.nan]), "x must be finite, got nan at index"),
        (lambda p: p.gradient(["a", "b"]), "x must be a real number or an array of them"),
        (lambda p: p.batch_gradient(4, [1.0, 2.0]), "i must be at most 3, got 4"),
        (lambda p: p.batch_objective(-1, [1.0, 2.0]), "i must be at least 0, got -1"),
        (lambda p: p.hessian_product(0, [1.0]), "v must be a vector of 2 coordinates"),
    ],
)
def test_bad_points_are_refused_in_one_line(call, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        call(turning_quadratics(1, 12))
    assert "\n" not in str(caught.value)


def test_hessians_that_do_not_fit_are_refused():
    rng = np.random.default_rng(1)
    shape = (50, 20_000)
    X = sparse.csr_array(rng.random(shape) * (rng.random(shape) < 1e-3))
    problem = from_data(X.tocsr(), np.arange(50.0), l2=0.1, batch_size=10)
    with pytest.raises(ValueError, match=r"5 Hessians of 20000 x 20000, 14\.9 GiB: use hessian_p"):
        problem.batch_hessians()
    assert problem.hessian_product(0, np.ones(20_000)).shape == (20_000,)


def test_curvature_along_a_run_is_what_was_met():
    problem = Quadratic(np.diag([1.0, 4.0]))
    assert float(problem.curvature_along(np.zeros((3, 2))).Q) == pytest.approx(4.0)
    bend = from_functions(lambda x: x + 0.5 * np.sin(x), dimension=1, curvature=Curvature(0.5, 1.5))
    met = bend.curvature_along([[0.0], [np.pi / 2]])
    assert float(met.mu) == pytest.approx(1.0, abs=1e-8)
    assert float(met.L) == pytest.approx(1.5, abs=1e-8)
