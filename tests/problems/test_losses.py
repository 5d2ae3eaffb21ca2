"""Every loss is what it says it is: slopes, curvature, bounds and targets of compiled code."""

import numpy as np
import pytest

from ravine.problems.losses import LOSSES, make_loss

ROWS = slice(0, 12)
RNG = np.random.default_rng(6)
TARGET = np.tile([0, 1], 6)
STEP = 1e-5


def scores(loss):
    return 2.0 * RNG.standard_normal((12, loss.outputs))


def moved(Z, c, by):
    other = Z.copy()
    other[:, c] += by
    return other


@pytest.fixture(params=LOSSES)
def loss(request):
    return make_loss(request.param, TARGET)


def test_slopes_are_the_derivatives_of_values(loss):
    Z = scores(loss)
    slopes = loss.slopes(Z, ROWS)
    assert slopes.shape == Z.shape
    for c in range(loss.outputs):
        rise = loss.values(moved(Z, c, STEP), ROWS) - loss.values(moved(Z, c, -STEP), ROWS)
        # Central differences: a third derivative of at most 1 leaves STEP²/6 = 2e-11.
        np.testing.assert_allclose(slopes[:, c], rise / (2 * STEP), atol=1e-9)


def test_columns_of_the_hessian_are_the_derivatives_of_slopes(loss):
    Z = scores(loss)
    for c in range(loss.outputs):
        rise = loss.slopes(moved(Z, c, STEP), ROWS) - loss.slopes(moved(Z, c, -STEP), ROWS)
        np.testing.assert_allclose(loss.hessian_column(Z, c, ROWS), rise / (2 * STEP), atol=1e-9)


def test_products_with_the_hessian_take_its_columns(loss):
    Z = scores(loss)
    S = scores(loss)
    expected = sum(loss.hessian_column(Z, e, ROWS) * S[:, [e]] for e in range(loss.outputs))
    np.testing.assert_allclose(loss.hessian_product(Z, S, ROWS), expected, atol=1e-13)


def test_no_curvature_is_beyond_the_bound(loss):
    Z = scores(loss)
    Z[0] = 0.0
    columns = [loss.hessian_column(Z, e, ROWS) for e in range(loss.outputs)]
    values = np.linalg.eigvalsh(np.stack(columns, axis=2))
    assert values.min() >= -1e-15
    assert values.max() <= loss.curvature_bound * (1 + 1e-12)
    if np.isfinite(loss.curvature_bound):
        # The bound is met where all scores are equal, so it could not be lower.
        assert values[0].max() == pytest.approx(loss.curvature_bound)


def test_a_quadratic_loss_has_the_same_curvature_everywhere(loss):
    here, there = (loss.hessian_column(scores(loss), 0, ROWS) for _ in range(2))
    assert np.array_equal(here, there) == loss.quadratic


def test_compiled_code_gets_a_target_for_each_score(loss):
    target = loss.kernel_target()
    assert target.shape == (12, loss.outputs)
    assert target.dtype == np.float64


def test_probabilities_are_the_targets_of_labels():
    assert make_loss("logistic", ["no", "yes"]).kernel_target().tolist() == [[0.0], [1.0]]
    three = make_loss("multinomial", ["b", "c", "a"]).kernel_target()
    assert three.tolist() == [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    assert make_loss("squared", [2.5, -1.0]).kernel_target().tolist() == [[2.5], [-1.0]]


def test_losses_are_told_apart_by_name_and_number():
    codes = [kind.kernel_code for kind in LOSSES.values() if kind.kernel_code is not None]
    assert len(set(codes)) == len(codes)
    assert all(make_loss(name, TARGET).name == name for name in LOSSES)


@pytest.mark.parametrize(
    ("name", "target", "message"),
    [
        ("hinge", TARGET, "loss must be one of squared, logistic, multinomial.*got 'hinge'"),
        ("squared", ["a", "b"], "y must be real numbers"),
        ("squared", [1.0, np.nan], "y must be finite, got nan in row 1"),
        ("logistic", [0, 1, 2], "y must be two labels for the logistic loss, got 3"),
        ("logistic", [0.0, np.inf], "y must be finite, got inf in row 1"),
        ("multinomial", [1, 1], "y must be at least two labels"),
    ],
)
def test_bad_targets_are_refused_in_one_line(name, target, message):
    with pytest.raises(ValueError, match=message) as refusal:
        make_loss(name, target)
    assert "\n" not in str(refusal.value)
