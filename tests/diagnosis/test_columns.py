import numpy as np
from scipy.sparse import csr_matrix

from ravine.diagnosis.columns import batch_findings, column_findings, column_sizes


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


def test_dependent_columns_are_all_named():
    rng = np.random.default_rng(3)
    a, b, c, d = rng.standard_normal((4, 400))
    X = np.stack([a, 1e3 * b, c, a - 2.0 * b, d], axis=1)
    for table in (X, csr_matrix(X)):
        found = {f.kind: f for f in column_findings(table, ("a", "b", "c", "a-2b", "d"))}
        assert found["singular"].columns == ("a", "b", "a-2b")
        assert "(3 columns span 2 dimensions)" in found["singular"].message
    # Only the last row tells these apart.
    X[-1, 3] += 1e-2
    assert "singular" not in {f.kind for f in column_findings(X, tuple("abcde"))}


def test_fewer_rows_than_columns_are_said():
    X = np.random.default_rng(4).standard_normal((3, 5))
    found = {f.kind: f for f in column_findings(X, tuple("abcde"))}
    assert "3 rows for 5 columns" in found["singular"].message


def test_tidy_columns_have_no_findings():
    X = np.random.default_rng(2).standard_normal((40, 3))
    assert column_findings(X, ("a", "b", "c")) == []


def test_a_shorter_last_batch_is_named(data, survey_of):
    seen = survey_of(*data(rows=33), batch_size=8, batches="fixed")
    messages = [f.message for f in batch_findings(seen)]
    assert "rows of the last, shorter batch (1 row) count 8 times as much" in messages
