import numpy as np
import pytest
from scipy import sparse

from ravine.problems import from_data
from ravine.problems.spectrum import extreme_eigenvalues

rng = np.random.default_rng(12)
X = rng.standard_normal((60, 4)) @ np.diag([1.0, 3.0, 0.3, 1.0])
Y = X @ [1.0, 2.0, -1.0, 0.0] + rng.standard_normal(60)
LABELS = np.array(["oak", "ash", "elm"])[rng.integers(0, 3, 60)]


def test_ridge_regression_is_solved():
    problem = from_data(X, Y, l2=0.5)
    expected = np.linalg.solve(X.T @ X / 60 + 0.5 * np.eye(4), X.T @ Y / 60)
    np.testing.assert_allclose(problem.minimiser, expected, rtol=1e-13)
    spectrum = np.linalg.eigvalsh(X.T @ X / 60 + 0.5 * np.eye(4))
    np.testing.assert_allclose(
        [problem.curvature.mu, problem.curvature.L], spectrum[[0, -1]], rtol=1e-13
    )


def test_batches_are_the_rows_in_order():
    problem = from_data(X, Y, batch_size=25)
    assert problem.terms == 3
    assert problem.batch_sizes.tolist() == [25, 25, 10]
    np.testing.assert_allclose(problem.batch_hessian(1), X[25:50].T @ X[25:50] / 25, rtol=1e-12)
    w = np.ones(4)
    assert problem.batch_objective(2, w) == pytest.approx(0.5 * np.mean((X[50:] @ w - Y[50:]) ** 2))


def test_shuffling_moves_rows_and_targets_together():
    plain, mixed = from_data(X, Y, batch_size=20), from_data(X, Y, batch_size=20, shuffle=3)
    np.testing.assert_allclose(plain.minimiser, mixed.minimiser, rtol=1e-12)
    assert np.abs(plain.batch_hessian(0) - mixed.batch_hessian(0)).max() > 0.01


@pytest.mark.parametrize("loss", ["squared", "logistic", "multinomial"])
def test_sparse_and_dense_agree(loss):
    table = np.where(np.abs(X) > 0.5, X, 0.0)
    y = {"squared": Y, "logistic": LABELS == "oak", "multinomial": LABELS}[loss]
    dense = from_data(table, y, loss=loss, l2=0.1, batch_size=13)
    thin = from_data(sparse.coo_array(table), y, loss=loss, l2=0.1, batch_size=13)
    np.testing.assert_allclose(thin.minimiser, dense.minimiser, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(thin.batch_curvatures, dense.batch_curvatures, rtol=1e-12)
    np.testing.assert_allclose(thin.batch_hessians(), dense.batch_hessians(), atol=1e-11)


def test_two_classes_of_softmax_are_the_logistic_loss():
    # With classes (a, b) the softmax depends on w_b - w_a alone, and its minimiser is w_b = -w_a.
    two = LABELS == "oak"
    soft = from_data(X, two, loss="multinomial", l2=0.2).minimiser.reshape(4, 2)
    plain = from_data(X, two, loss="logistic", l2=0.1).minimiser
    np.testing.assert_allclose(soft[:, 1] - soft[:, 0], plain, rtol=1e-10)
    np.testing.assert_allclose(soft.sum(axis=1), 0.0, atol=1e-13)


def test_large_scores_do_not_overflow():
    for loss, y in (("logistic", LABELS == "oak"), ("multinomial", LABELS)):
        problem = from_data(1e4 * X, y, loss=loss, l2=1.0)
        x = np.full(problem.dimension, 1e3) * np.arange(problem.dimension)
        assert np.isfinite(problem.objective(x))
        assert np.isfinite(problem.gradient(x)).all()


def test_chunks_of_rows_change_nothing(monkeypatch):
    whole = from_data(X, LABELS, loss="multinomial", l2=0.1, batch_size=7)
    x = np.random.default_rng(1).standard_normal(12)
    value, slope, H = whole.objective(x), whole.gradient(x), whole.hessian(x)
    monkeypatch.setattr("ravine.problems.linear_model.CHUNK", 40)
    assert whole.objective(x) == pytest.approx(value, rel=1e-14)
    np.testing.assert_allclose(whole.gradient(x), slope, atol=1e-14)
    np.testing.assert_allclose(whole.hessian(x), H, atol=1e-13)


def test_a_large_sparse_problem_forms_no_hessian():
    rng = np.random.default_rng(2)
    shape = (400, 5000)
    wide = sparse.csr_array(rng.random(shape) * (rng.random(shape) < 0.01))
    target = np.random.default_rng(3).standard_normal(400)
    problem = from_data(wide, target, l2=0.1, batch_size=100)
    # Conjugate gradients with refinement, against the same solution through the rows' Gram matrix.
    dual = np.linalg.solve((wide @ wide.T).toarray() / 400 + 0.1 * np.eye(400), target) / 400
    np.testing.assert_allclose(problem.minimiser, wide.T @ dual, atol=1e-12)
    assert float(problem.curvature.mu) == pytest.approx(0.1)


def test_lanczos_agrees_with_the_exact_spectrum(monkeypatch):
    tall = np.random.default_rng(4).standard_normal((300, 60))
    exact = extreme_eigenvalues(tall)
    monkeypatch.setattr("ravine.problems.spectrum.DENSE_LIMIT", 10)
    np.testing.assert_allclose(extreme_eigenvalues(tall), exact, rtol=1e-9)
    np.testing.assert_allclose(extreme_eigenvalues(sparse.csr_array(tall)), exact, rtol=1e-9)
    assert extreme_eigenvalues(tall.T)[0] == 0.0


def test_a_batch_that_is_flat_somewhere_is_named():
    problem = from_data(X, Y, batch_size=3)
    assert problem.minimiser.shape == (4,)
    assert problem.batch_curvatures[0, 0] == 0.0
    with pytest.raises(ValueError, match=r"mu must be positive for this data, got 0 in batch 0"):
        _ = problem.curvature
    assert not problem.interpolates
    assert from_data(X, X @ np.ones(4), batch_size=3).interpolates
    doubled = from_data(X[:, [0, 1, 1]], Y)
    with pytest.raises(ValueError, match=r"in the whole objective: its columns are linearly dep"):
        _ = doubled.minimiser


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: from_data(X, Y[:-1]),
            r"y must be of shape \(60,\), got an array of shape \(59,\)",
        ),
        (lambda: from_data(X, Y, batch_size=61), "batch_size must be at most 60, got 61"),
        (lambda: from_data(X, Y, batch_size=0), "batch_size must be at least 1"),
        (lambda: from_data(X, Y, loss="hinge"), "loss must be one of squared, logistic, multinom"),
        (lambda: from_data(X, Y, l2=-1), "l2 must be zero or more"),
        (lambda: from_data(X, LABELS), "y must be real numbers, got values of type"),
        (
            lambda: from_data(X, LABELS, loss="logistic", l2=1),
            "got 3 distinct labels: use loss='mu",
        ),
        (
            lambda: from_data(X, np.ones(60), loss="multinomial", l2=1),
            "y must be at least two labe",
        ),
        (lambda: from_data(X, Y > 0, loss="logistic"), "l2 must be positive for the logistic loss"),
        (lambda: from_data([["a", "b"]], [1.0]), "X must be a table of real numbers"),
        (lambda: from_data(np.ones(3), np.ones(3)), "X must be a table with rows and columns"),
        (lambda: from_data(np.ones((0, 3)), np.ones(0)), "X must be a table with rows and columns"),
        (lambda: from_data([[1.0, np.nan]], [1.0]), "X must be finite, got nan in row 0, column 1"),
        (
            lambda: from_data(sparse.csr_array([[1.0, 0.0], [0.0, np.inf]]), [1.0, 2.0]),
            "X must be finite, got inf in row 1, column 1",
        ),
        (lambda: from_data([[1.0], [2.0]], [1.0, np.nan]), "y must be finite, got nan in row 1"),
        (lambda: from_data(X, Y, shuffle=-2), "shuffle must be at least 0"),
    ],
)
def test_bad_input_is_one_line(call, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_a_table_that_does_not_fit_is_refused():
    wide = np.broadcast_to(1.0, (10**6, 10**6))  # of one number in memory
    with pytest.raises(ValueError, match="X must be small enough for the memory"):
        from_data(wide, np.ones(10**6))
