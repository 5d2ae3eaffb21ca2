import numpy as np
import pandas as pd
import pytest

from ravine.tables import target_kind
from ravine.tables.columns import Column, infer_target, pick
from ravine.tables.table import Raw


@pytest.mark.parametrize(
    ("y", "kind"),
    [
        (["a", "b"], "labels"),
        ([True, False], "labels"),
        ([0, 1, 1], "labels"),
        ([-1.0, 1.0], "labels"),
        (np.arange(3).repeat(5), "labels"),
        (np.arange(1, 11).repeat(5), "labels"),
        (np.arange(3).repeat(4), "numbers"),
        (np.array([0, 1, 2]).repeat([50, 20, 4]), "numbers"),
        (np.arange(21).repeat(5), "numbers"),
        (np.array([4, 6, 8]).repeat(9), "numbers"),
        (np.array([0, 1, 2, 7]).repeat(9), "numbers"),
        (np.arange(1947, 1963), "numbers"),
        ([0.0, 1.0, 0.5], "numbers"),
    ],
)
def test_labels_are_words_pairs_or_codes(y, kind):
    assert target_kind(y).value == kind


def numbers(name, values=(1.5, 2.5, 0.5)):
    return name, Column(name, pd.Series(values, dtype=float), Raw(pd.DataFrame()))


def texts(name, words):
    return name, Column(name, pd.Series(list(words), dtype="category"), Raw(pd.DataFrame()))


@pytest.mark.parametrize(
    ("columns", "chosen"),
    [
        ([numbers("a"), numbers("b")], 1),
        ([numbers("Target"), numbers("b")], 0),
        ([numbers("a"), numbers("b"), numbers("year")], 1),
        ([numbers("a"), numbers("b"), texts("id", "pqr")], 1),
        ([numbers("a"), numbers("b"), numbers("c", (2, 2, 2))], 1),
        ([numbers("a"), numbers("b"), numbers("c", (np.nan, np.nan, 2))], 1),
        ([numbers("price"), numbers("x"), numbers("y"), numbers("z")], 0),
        ([numbers("a"), texts("class", "pqr")], 1),
    ],
)
def test_the_target_is_inferred(columns, chosen):
    name, finding = infer_target(dict(columns), 100)
    assert name == columns[chosen][0]
    assert name in finding.message


@pytest.mark.parametrize("name", ["medv", "Churn", "y"])
def test_a_target_with_a_known_name_is_called_a_guess(name):
    _, finding = infer_target(dict([numbers(name), numbers("b")]), 100)
    assert "guessed from its name" in finding.message
    assert finding.remedy == "use --target to change it"


def test_columns_are_picked_by_name_or_number():
    names = ["a", "B", "3"]
    assert [pick(names, w, "target") for w in ("a", "b", "3", "0", -1, "-3")] == list("aB3a3a")
    with pytest.raises(ValueError, match=r"drop must be one of the columns a, B, 3, got 'c'"):
        pick(names, "c", "drop")
