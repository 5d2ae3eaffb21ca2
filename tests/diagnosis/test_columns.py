import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from ravine.diagnosis.columns import column_findings, column_sizes, encode


def test_numbers_stay_and_text_becomes_one_column_for_each_value():
    frame = pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "x"], "c": [True, False, True]})
    X, names, findings = encode(frame, impute=False)
    assert names == ("a", "b=x", "b=y", "c")
    np.testing.assert_array_equal(X, [[1, 1, 0, 1], [2, 0, 1, 0], [3, 1, 0, 1]])
    assert [(f.kind, f.columns) for f in findings] == [("encoded", ("b",))]


def test_missing_values_are_filled_only_when_asked():
    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0, 8.0], "b": ["x", None, "x", "y"]})
    with pytest.raises(ValueError, match=r"column 'a' .* 1 missing, the first in row 1"):
        encode(frame, impute=False)
    X, names, findings = encode(frame, impute=True)
    assert names == ("a", "b=x", "b=y")
    np.testing.assert_array_equal(X[1], [3.0, 1.0, 0.0])
    assert {f.kind for f in findings} == {"imputed", "encoded"}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1.0, np.inf, 2.0], r"finite, got inf in row 1"),
        (["1", "2", "n/a?"], r"all numbers or all text, got 'n/a\?' in row 2"),
        ([None, None, None], r"missing"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_column(values, words):
    with pytest.raises(ValueError, match=f"column 'bad'.*{words}"):
        encode(pd.DataFrame({"bad": values}), impute=False)


def test_identifiers_are_refused():
    frame = pd.DataFrame({"name": [f"person {i}" for i in range(200)]})
    with pytest.raises(ValueError, match=r"200 different texts in 200 rows.*identifier"):
        encode(frame, impute=False)


def test_sizes_are_those_of_numpy_dense_or_sparse():
    X = np.random.default_rng(0).standard_normal((50, 3)) * [1.0, 10.0, 0.1] + [0.0, 1e6, 5.0]
    for table in (X, csr_matrix(X)):
        mean, spread = column_sizes(table)
        np.testing.assert_allclose(mean, X.mean(axis=0))
        # The sparse sum of squares loses digits to the mean.
        np.testing.assert_allclose(spread, X.std(axis=0), rtol=1e-3)


def test_findings_name_scales_constants_and_duplicates():
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((2, 40))
    X = np.stack([a, 1e4 * b, -2.0 * a, np.zeros(40), np.full(40, 3.0)], axis=1)
    columns = ("a", "b", "twice a", "nothing", "three")
    for table in (X, csr_matrix(X)):
        found = {f.kind: f for f in column_findings(table, columns) if f.kind != "constant"}
        constants = [f for f in column_findings(table, columns) if f.kind == "constant"]
        assert found["scale"].columns[0] == "b"
        assert found["duplicate"].columns == ("twice a",)
        assert [f.columns for f in constants] == [("nothing",), ("three",)]
        assert "intercept" in constants[1].message


def test_tidy_columns_have_no_findings():
    X = np.random.default_rng(2).standard_normal((40, 3))
    assert column_findings(X, ("a", "b", "c")) == []
