import numpy as np
import pytest
from scipy.sparse import csr_matrix

from ravine.problems import from_data
from ravine.problems.linear_model import Drawn, LinearModel
from ravine.problems.losses import make_loss

LOSSES = ["squared", "logistic", "multinomial"]


def a_model(loss, sparse=False, rows=24, d=3):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, d))
    y = {"squared": rng.standard_normal(rows), "logistic": np.arange(rows) % 2}.get(
        loss, np.arange(rows) % 3
    )
    kept = csr_matrix(X) if sparse else X
    return LinearModel(kept, make_loss(loss, y), l2=0.1), from_data(X, y, loss=loss, l2=0.1)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_many_runs_at_once_are_the_single_ones(loss, sparse):
    model, problem = a_model(loss, sparse)
    rng = np.random.default_rng(1)
    points = rng.standard_normal((2, 5, model.dimension))
    stacked = np.moveaxis(points.reshape(2, 5, 3, model.outputs), 1, 2).reshape(2, 3, -1)
    drawn = Drawn(np.tile(np.arange(24), (2, 1)), np.full((1, 24), 1 / 24))
    gradients = model.drawn_gradient(drawn, stacked, model.slopes).reshape(2, 3, 5, model.outputs)
    values = model.objectives(stacked)
    for s in range(2):
        for r in range(5):
            expected = problem.gradient(points[s, r])
            np.testing.assert_allclose(gradients[s, :, r].ravel(), expected, rtol=1e-10, atol=1e-12)
            assert values[s, r] == pytest.approx(problem.objective(points[s, r]))


@pytest.mark.parametrize("loss", LOSSES)
def test_roots_of_rows_add_up_to_the_hessian(loss):
    model, problem = a_model(loss)
    x = np.random.default_rng(2).standard_normal(model.dimension)
    B = model.row_roots(np.arange(24), x)
    H = np.einsum("rdq,req->de", B, B) / 24 + 0.1 * np.eye(model.dimension)
    np.testing.assert_allclose(H, problem.hessian(x), atol=1e-12)
    v = np.random.default_rng(3).standard_normal(model.dimension)
    np.testing.assert_allclose(model.hessian_at(x)(v), H @ v, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_slopes_of_the_quadratic_model_are_products_with_the_hessian(loss):
    model, problem = a_model(loss)
    x = np.random.default_rng(4).standard_normal(model.dimension)
    v = np.random.default_rng(5).standard_normal(model.dimension)
    drawn = Drawn(np.arange(24)[None], np.full((1, 24), 1 / 24))
    product = model.drawn_gradient(drawn, v.reshape(1, 3, -1), model.hessian_slopes(x))
    np.testing.assert_allclose(product.ravel(), problem.hessian(x) @ v, atol=1e-12)


def test_padded_rows_do_not_count():
    model, _ = a_model("squared")
    points = np.ones((1, 3, 2))
    short = model.drawn_gradient(
        Drawn(np.arange(2)[None], np.full((1, 2), 0.5)), points, model.slopes
    )
    parts = np.array([[0.5, 0.5, 0.0]])
    padded = model.drawn_gradient(Drawn(np.array([[0, 1, 0]]), parts), points, model.slopes)
    np.testing.assert_allclose(short, padded, rtol=1e-12)
