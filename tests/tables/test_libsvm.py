import numpy as np
import pytest

from ravine.tables import read_table
from ravine.tables.data_files import looks_like_libsvm

TEXT = "# about\n1.5 1:2 3:-4.5e-1 # note\n\n2 qid:7 2:1\n-1\n"


@pytest.mark.parametrize("ending", ["libsvm", "txt"])
def test_rows_become_sparse_rows(tmp_path, ending):
    path = tmp_path / f"t.{ending}"
    path.write_text(TEXT.removeprefix("# about\n"))
    table = read_table(path)
    np.testing.assert_array_equal(table.X.toarray(), [[2, 0, -0.45], [0, 1, 0], [0, 0, 0]])
    np.testing.assert_array_equal(table.y, [1.5, 2, -1])
    assert table.columns == ("x1", "x2", "x3")


def test_indices_from_zero(tmp_path):
    path = tmp_path / "t.svm"
    path.write_text("1 0:5 1:6\n0 1:7\n")
    np.testing.assert_array_equal(read_table(path).X.toarray(), [[5, 6], [0, 7]])


@pytest.mark.parametrize("index", [30_000_000, 2_000_000_000])
def test_large_indices_are_refused(tmp_path, index):
    path = tmp_path / "t.svm"
    path.write_text(f"1 1:2\n2 {index}:1\n")
    with pytest.raises(ValueError, match=f"100,000 columns, got {index:,}: .*--max-columns"):
        read_table(path)


def test_the_limit_can_be_raised(tmp_path):
    path = tmp_path / "t.svm"
    path.write_text("1 1:2\n2 300000:1\n")
    assert read_table(path, max_columns=300_000).X.shape == (2, 300_000)


@pytest.mark.parametrize("row", ["1 2:3:4", "1 2:x", "1 1.5:3", f"1 {10**18}:1", "1 3:1 2:1"])
def test_broken_rows_are_refused(tmp_path, row):
    path = tmp_path / "t.svm"
    path.write_text("1 1:2\n" * 60 + f"{row}\n")
    with pytest.raises(ValueError, match="a readable LIBSVM file"):
        read_table(path)


def test_other_text_is_not_taken_for_it():
    assert looks_like_libsvm(b"1 1:2 5:3\n0\n")
    assert not looks_like_libsvm(b"a b\n1 2\n")
    assert not looks_like_libsvm(b"1,2\n3,4\n")
    assert not looks_like_libsvm(b"1\n2\n")
