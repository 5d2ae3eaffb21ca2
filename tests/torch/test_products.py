import torch

from ravine.torch.borrowed import batch_loss
from ravine.torch.products import _difference, hessian_product, top_eigenpairs

LOSS = batch_loss(torch.nn.functional.mse_loss)


def exact_hessian(x):
    """Of the mean squared error of a linear model with bias: 2 E[(x, 1)(x, 1)ᵀ]."""
    rows = torch.cat([x, torch.ones(len(x), 1, dtype=x.dtype)], dim=1)
    return 2 * rows.T @ rows / len(x)


def test_products_are_those_of_the_matrix(linear, data):
    model = linear.double()
    batch = [part.double() for part in data]
    product = hessian_product(model, LOSS, [batch])
    matrix = torch.stack([product(row) for row in torch.eye(5, dtype=torch.float64)])
    torch.testing.assert_close(matrix, exact_hessian(batch[0]), rtol=1e-12, atol=1e-12)


def test_differences_of_gradients_serve_where_there_is_no_second_derivative(linear, data):
    model = linear.double()
    x, y = (part.double() for part in data)
    params = list(model.parameters())
    before = [p.detach().clone() for p in params]
    product = _difference(params, lambda: LOSS(model, [x, y]))
    vector = torch.arange(1.0, 6.0, dtype=torch.float64)
    # Central differences are exact for a quadratic but for rounding, 1e-16 over a step of 1e-5.
    torch.testing.assert_close(product(vector), exact_hessian(x) @ vector, rtol=1e-9, atol=1e-9)
    for p, old in zip(params, before, strict=True):
        torch.testing.assert_close(p.detach(), old, rtol=0, atol=1e-14)


def test_lanczos_finds_the_largest_not_the_largest_in_magnitude():
    values = torch.cat([torch.tensor([-9.0, 3.0, 2.0]), torch.linspace(0, 1, 17)]).double()
    start = torch.randn(20, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    top, vectors = top_eigenpairs(lambda v: values * v, start, 2, steps=20)
    torch.testing.assert_close(top, torch.tensor([3.0, 2.0]).double(), rtol=1e-9, atol=0)
    assert abs(float(vectors[1, 0])) > 1 - 1e-9
