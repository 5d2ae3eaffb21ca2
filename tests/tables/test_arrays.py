import numpy as np
import pytest
from scipy.sparse import csr_matrix

from ravine.tables.arrays import array_column, array_columns, one_target, table_of_arrays
from ravine.tables.column import ColumnKind
from ravine.tables.tidy import Wishes

PLAIN = Wishes(tidy=False)
X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]])
Y = np.array([0.5, 1.5, 2.0])


def test_arrays_are_taken_as_they_are():
    table = table_of_arrays(X, Y, PLAIN, name="mine", weights=np.array([1.0, 0.0, 2.0]))
    np.testing.assert_array_equal(table.X, X)
    assert table.columns == ("x0", "x1")
    assert table.target == "y"
    assert table.weights.tolist() == [1.0, 0.0, 2.0]


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_with_a_gap_in_the_target_go_from_all_parts(sparse):
    data = csr_matrix(X) if sparse else X
    gap = np.array([0.5, np.nan, 2.0])
    table = table_of_arrays(data, gap, PLAIN, name="mine", weights=np.array([1.0, 2.0, 3.0]))
    kept = table.X.toarray() if sparse else table.X
    np.testing.assert_array_equal(kept, X[[0, 2]])
    assert table.rows.tolist() == [0, 2]
    assert table.weights.tolist() == [1.0, 3.0]


def test_rows_of_many_axes_are_laid_out():
    table = table_of_arrays(X.reshape(3, 1, 2), Y, PLAIN, name="mine")
    np.testing.assert_array_equal(table.X, X)
    assert table.findings[0].kind == "shape"


def test_one_hot_targets_are_decoded_and_columns_flattened():
    assert one_target(np.eye(3)[[2, 0, 1]], 3).tolist() == [2, 0, 1]
    assert one_target(Y[:, None], 3).tolist() == Y.tolist()
    with pytest.raises(ValueError, match=r"y must be of shape \(3,\)"):
        one_target(np.ones((3, 2)), 3)


def test_columns_know_their_kind():
    record = np.array([(1, True, "u"), (2, False, "v")],
                      dtype=[("n", "i4"), ("t", "?"), ("s", "U1")])  # fmt: skip
    kinds = [column.kind for column in array_columns(record, ("n", "t", "s"))]
    assert kinds[:2] == [ColumnKind.NUMBERS, ColumnKind.TRUTH]
    assert array_columns(record, ("n", "t", "s"))[2].is_text
    with pytest.raises(ValueError, match="of real numbers or texts"):
        array_column(np.array([1j, 2j]), "c")


@pytest.mark.parametrize(
    ("data", "options", "words"),
    [
        (X[:1], {}, "two rows or more"),
        (np.ones((3, 0)), {}, "a table with rows and columns"),
        (X, {"columns": ("a",)}, "columns must be 2 names"),
    ],
)
def test_what_is_no_table_is_refused(data, options, words):
    with pytest.raises(ValueError, match=words):
        table_of_arrays(data, Y[: len(data)], PLAIN, name="mine", **options)
