import numpy as np
import pytest

from ravine.diagnosis.setup import make_setup, standardised, usual_loss
from ravine.problems import from_data
from ravine.tables import as_table


def test_what_was_left_open_is_chosen(data, setup_of):
    X, y = data(rows=40)
    assert setup_of(X, y).loss == "squared"
    chosen = setup_of(X, np.arange(40) % 2)
    assert chosen.loss == "logistic"
    assert chosen.l2 == pytest.approx(1 / 40)
    assert usual_loss(np.array(["a", "b", "c"] * 5)) == "multinomial"


def test_a_column_of_targets_serves(data, setup_of):
    X, y = data(rows=40)
    np.testing.assert_array_equal(setup_of(X, y[:, None]).y, y)


def test_rows_that_are_held_out_are_not_trained_on(data, setup_of):
    X, y = data(rows=40)
    setup = setup_of(X, y, validation=0.25)
    assert setup.rows == 30
    assert setup.held_out.X.shape == (10, 4)
    assert setup.in_source((0,)) == (int(setup.source_rows[0]),)
    np.testing.assert_array_equal(X[setup.source_rows], setup.X)


OPTIONS = {"l2": 0.1, "batch_size": 8}


@pytest.mark.parametrize("batches", ["new", "fixed"])
@pytest.mark.parametrize("loss", ["squared", "logistic", "multinomial", "huber"])
def test_a_row_of_weight_two_is_a_row_that_comes_twice(data, loss, batches):
    X, y = data(rows=40)
    if loss in ("logistic", "multinomial"):
        y = np.arange(40) % (2 if loss == "logistic" else 3)
    weights = np.where(np.arange(40) < 20, 2.0, 1.0)
    options = {**OPTIONS, "loss": loss, "batches": batches}
    setup, _ = make_setup(as_table(X, y, weights=weights), **options)
    problem = setup.model

    twice = np.concatenate([np.arange(20), np.arange(40)])
    repeated = from_data(X[twice], y[twice], loss=loss, l2=0.1)
    np.testing.assert_allclose(problem.minimiser, repeated.minimiser, rtol=1e-7, atol=1e-9)


def test_weights_stay_with_their_rows(data):
    X, y = data(rows=40)
    weights = np.arange(1.0, 41.0)
    options = {**OPTIONS, "loss": "huber", "validation": 0.25}
    setup, _ = make_setup(as_table(X, y, weights=weights), **options)
    np.testing.assert_allclose(setup.weights, weights[setup.source_rows] / weights.mean())
    held = setup.held_out.loss.weights
    assert held.sum() + setup.weights.sum() == pytest.approx(40.0)


def test_numbers_that_are_taken_for_labels_have_a_limit(data, setup_of):
    X, y = data(rows=240)
    with pytest.raises(ValueError, match=r"of at most 100 classes, got 240: .*max_classes"):
        setup_of(X, y, loss="multinomial")
    table = as_table(X, y, max_classes=240)
    setup, _ = make_setup(table, **{**OPTIONS, "loss": "multinomial"})
    assert setup.model.outputs == 240


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"batch_size": 1000}, "batch_size must be at most 40"),
        ({"batch_size": 0}, "batch_size must be at least 1"),
        ({"loss": "hinge"}, "loss must be one of"),
        ({"sampling": "often"}, "sampling must be one of"),
        ({"batches": "often"}, "batches must be one of new, fixed"),
        ({"l2": -1.0}, "l2 must be zero or more"),
        ({"validation": 2.0}, "validation must be a share"),
        ({"shuffle": -1}, "shuffle must be at least 0"),
    ],
)
def test_bad_options_are_refused_in_one_line(data, setup_of, options, words):
    X, y = data(rows=40)
    with pytest.raises(ValueError, match=words) as refusal:
        setup_of(X, y, **options)
    assert "\n" not in str(refusal.value)


def test_a_constant_target_is_refused(data, setup_of):
    X, _ = data(rows=40)
    with pytest.raises(ValueError, match="more than one value"):
        setup_of(X, np.full(40, 3.5))


def test_a_column_of_ones_is_the_intercept_already(data, setup_of):
    X, y = data(rows=20, d=3)
    assert setup_of(X, y, intercept=True).columns[-1] == "intercept"
    X[:, 1] = 1.0
    assert setup_of(X, y, intercept=True).X.shape == (20, 3)
    assert not setup_of(X, y, intercept=True).intercept


def test_standardised_columns_have_unit_variance_and_constant_ones_stay(data):
    X, _ = data(rows=40)
    X[:, 1] = 7.0
    scaled = standardised(X)
    assert scaled[:, 0].std() == pytest.approx(1.0)
    assert (scaled[:, 1] == 7.0).all()
