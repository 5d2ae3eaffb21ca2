import dataclasses
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.sparse import coo_matrix

from ravine.tables import as_table, read_table

FRAME = pd.DataFrame(
    {
        "a": [1.0, 2.0, 4.0, 8.0],
        "truth": pd.array([True, False, True, None], dtype="boolean"),
        "count": pd.array([1, 2, 5, 4], dtype="Int64"),
        "kind": pd.Categorical([3, 1, 3, 1]),
        "text": ["x", "y", "x", "x"],
        "y": [0.5, 1.5, 2.5, 3.5],
    }
)
EXPECTED = [[1, 1, 1, 0, 0], [2, 0, 2, 1, 1], [4, 1, 5, 0, 0]]
NAMES = ("a", "truth", "count", "kind=1", "text=y")


@pytest.mark.parametrize("make", [lambda f: f, lambda f: pa.Table.from_pandas(f)])
def test_frames_have_names_levels_and_gaps(make):
    table = as_table(make(FRAME), "y")
    assert table.columns == NAMES
    np.testing.assert_array_equal(table.X, EXPECTED)
    np.testing.assert_array_equal(table.rows, [0, 1, 2])


class Stream:
    """Nothing but an Arrow stream, as other libraries give it."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def test_arrow_streams_of_any_library():
    texts = pa.array(["x", "y", "x", "x"], pa.string_view())
    small = pa.array(np.array([1, 2, 4, 3], dtype=np.float16))
    frame = Stream(pa.table({"a": texts, "h": small, "y": [1.5, 2.0, 3.0, 4.0]}))
    table = as_table(frame)
    assert table.columns == ("a=y", "h")
    np.testing.assert_array_equal(table.X, [[0, 1], [1, 2], [0, 4], [0, 3]])


def test_a_frame_and_its_file_give_the_same_table(tmp_path):
    frame = FRAME.drop(columns=["kind"])
    frame.to_csv(tmp_path / "t.csv")
    here = as_table(frame)
    there = read_table(tmp_path / "t.csv")
    assert there.columns == here.columns
    np.testing.assert_array_equal(there.X, here.X)
    np.testing.assert_array_equal(there.y, here.y)


@pytest.mark.parametrize(
    "make",
    [
        np.asarray,
        lambda y: np.asarray(y)[:, None],
        list,
        lambda y: pd.Series(y, name="goal"),
        lambda y: pd.DataFrame({"goal": y}),
        pa.array,
        lambda y: pd.Series(y, dtype="Float64"),
    ],
)
def test_targets_of_every_shape(make):
    y = [0.5, 1.5, 2.5, 3.5]
    for X in (FRAME[["a", "count"]], np.arange(8.0).reshape(4, 2)):
        np.testing.assert_array_equal(as_table(X, make(y)).y, y)


def test_labels_of_every_kind():
    X = np.arange(8.0).reshape(4, 2)
    words = ["p", "q", "p", "p"]
    for y in (words, pd.Series(words), pd.Series(words, dtype="category"), np.array(words)):
        assert as_table(X, y).y.tolist() == words
    assert as_table(X, pd.Series([True, False, True, True])).y.tolist() == [1, 0, 1, 1]
    assert as_table(X, np.eye(2)[[0, 1, 0, 0]]).y.tolist() == [0, 1, 0, 0]


def test_arrays_are_taken_as_they_are():
    X = np.array([[0.0, 1, 1], [1, 1, 2], [2, 1, 3]])
    table = as_table(X, [1.5, 2, 3])
    assert table.X is X or np.shares_memory(table.X, X)
    assert table.columns == ("x0", "x1", "x2")
    sparse = as_table(coo_matrix(X), [1.5, 2, 3])
    assert sparse.X.format == "csr"
    np.testing.assert_array_equal(sparse.X.toarray(), X)


def test_gaps_in_arrays():
    X = np.array([[0.0, 1], [np.nan, 2], [2, 4], [3, 3]])
    table = as_table(X, [1.0, 2.0, np.nan, 3.5], weights=[1, 2, 3, 4])
    np.testing.assert_array_equal(table.X, [[0, 1], [3, 3]])
    np.testing.assert_array_equal(table.weights, [1, 4])
    sparse = as_table(coo_matrix(X), [1.0, 2.0, np.nan, 3.5])
    np.testing.assert_array_equal(sparse.rows, [0, 3])
    filled = as_table(X, [1.0, 2.0, 2.5, 3.5], missing="fill")
    assert filled.X[1, 0] == 2.0
    with pytest.raises(ValueError, match="column 'x0' must be without missing values"):
        as_table(X, [1.0, 2.0, 2.5, 3.5], missing="refuse")


def test_sparse_rows_with_gaps_go_even_if_they_are_most():
    X = np.array([[0.0, np.nan], [np.inf, 2], [2, 4], [3, 3], [np.nan, 1]])
    table = as_table(coo_matrix(X), [1.0, 2.0, 2.5, 3.5, 4.0])
    assert table.rows.tolist() == [2, 3]
    assert "dropped 3 of 5 rows" in table.findings[-1].message
    assert "the matrix" in table.findings[-1].message
    with pytest.raises(ValueError, match="X must be finite"):
        as_table(coo_matrix(X), [1.0, 2.0, 2.5, 3.5, 4.0], missing="fill")


def test_of_levels_that_are_equally_frequent_the_first_row_decides():
    kinds = ["b", "a", "b", "a"]
    for column in (kinds, pd.Categorical(kinds, categories=["c", "a", "b"])):
        frame = pd.DataFrame({"kind": column, "y": [0.5, 1.5, 2.5, 3.5]})
        assert as_table(frame).columns == ("kind=a",)


def test_objects_and_lists_in_frames():
    frame = pd.DataFrame({"m": [1, "x", 2.5], "a": [1.0, 2.0, 4.0], "l": [[1], [2], [3]]})
    table = as_table(frame, [1.5, 2.5, 3.5])
    assert table.columns == ("a",)


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        (np.ones((3, 2)), None, "y must be given"),
        (np.ones((3, 2)), [1, 2], r"y must be of shape \(3,\)"),
        (np.ones((1, 2)), [1], "two rows or more"),
        (np.ones(3), [1, 2, 3], "a table with two rows or more"),
        ([[1, 2], [3]], [1, 2], "inhomogeneous shape"),
        (np.ones((3, 2)), [2, 2, 2], "more than one value"),
        (np.ones((3, 2), dtype=complex), [1, 2, 3], "real numbers"),
        (FRAME, "nothing", "one of the columns a, truth"),
        (FRAME, [1, 2], "y must be of shape"),
    ],
)
def test_what_is_no_table_is_refused(X, y, words):
    with pytest.raises(ValueError, match=words):
        as_table(X, y)


def test_names_come_with_arrays():
    X = np.arange(6.0).reshape(3, 2)
    assert as_table(X, [1.5, 2, 3], columns=("p", "q")).columns == ("p", "q")
    with pytest.raises(ValueError, match="columns must be 2 names, got 1"):
        as_table(X, [1.5, 2, 3], columns=("p",))
    with pytest.raises(ValueError, match="missing must be one of drop-rows, fill, refuse"):
        as_table(X, [1.5, 2, 3], missing="guess")


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_with_a_gap_in_the_target_go_from_all_parts(sparse):
    X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]])
    data = coo_matrix(X) if sparse else X
    table = as_table(data, [0.5, np.nan, 2.0], weights=[1.0, 2.0, 3.0])
    kept = table.X.toarray() if sparse else table.X
    np.testing.assert_array_equal(kept, X[[0, 2]])
    assert table.rows.tolist() == [0, 2]
    assert table.weights.tolist() == [1.0, 3.0]


def test_rows_of_many_axes_are_flattened():
    X = np.arange(6.0).reshape(3, 1, 2)
    table = as_table(X, [0.5, 1.5, 2.0])
    np.testing.assert_array_equal(table.X, X.reshape(3, 2))
    assert table.findings[0].kind == "shape"


def test_a_table_cannot_be_changed_and_keeps_the_limits_that_were_raised():
    table = as_table(np.eye(3), [1.0, 2.0, 3.5], max_classes=7)
    assert table.limits.classes == 7
    assert (table.weights, table.rows, table.findings) == (None, None, ())
    with pytest.raises(dataclasses.FrozenInstanceError):
        table.name = "other"


def test_types_of_arrow():
    table = as_table(
        pa.table(
            {
                "cost": pa.array([Decimal("1.5"), Decimal("2.5"), None]),
                "day": pa.array([0, 1, 5], pa.date32()),
                "at": pa.array([0, 60, 7], pa.time32("s")),
                "y": [1.5, 2.0, 3.0],
            }
        ),
        missing="fill",
    )
    np.testing.assert_array_equal(table.X, [[1.5, 0, 0], [2.5, 1, 60], [2.0, 5, 7]])
