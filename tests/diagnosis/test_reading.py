import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from ravine.diagnosis.reading import read_table

X = np.array([[1.0, 2.0], [3.0, 4.5], [5.0, 6.0]])
Y = np.array([0.5, 1.5, 2.5])


def write(path, kind):
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=Y)
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "tsv":
        frame.to_csv(path, index=False, sep="\t")
    elif kind == "parquet":
        frame.to_parquet(path)
    elif kind == "npy":
        np.save(path, frame.to_numpy())
    elif kind == "npz":
        np.savez(path, X=X, y=Y)
    else:
        lines = [f"{y} 1:{a} 2:{b}" for y, (a, b) in zip(Y, X, strict=True)]
        path.write_text("\n".join(lines))


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "npy", "npz", "libsvm"])
def test_every_format_gives_the_same_table(tmp_path, kind):
    path = tmp_path / f"data.{kind}"
    write(path, kind)
    table = read_table(path)
    dense = table.X.toarray() if hasattr(table.X, "toarray") else table.X
    np.testing.assert_array_equal(dense, X)
    np.testing.assert_array_equal(table.y, Y)
    assert table.name == path.name
    assert len(table.columns) == 2


def test_sparse_npz_stays_sparse(tmp_path):
    S = csr_matrix(X)
    np.savez(tmp_path / "s.npz", data=S.data, indices=S.indices, indptr=S.indptr, shape=S.shape,
             y=Y)  # fmt: skip
    table = read_table(tmp_path / "s.npz")
    assert hasattr(table.X, "tocsr")
    np.testing.assert_array_equal(table.X.toarray(), X)


@pytest.mark.parametrize("target", ["a", "0", "-3"])
def test_the_target_is_picked_by_name_or_number(tmp_path, target):
    write(tmp_path / "data.csv", "csv")
    table = read_table(tmp_path / "data.csv", target=target)
    assert (table.target, table.columns) == ("a", ("b", "y"))
    np.testing.assert_array_equal(table.y, X[:, 0])


def test_a_csv_without_names_keeps_its_first_row(tmp_path):
    (tmp_path / "plain.csv").write_text("1,2,3\n4,5,6\n7,8,10\n")
    table = read_table(tmp_path / "plain.csv")
    assert table.X.shape == (3, 2)
    assert table.columns == ("column 0", "column 1")


def test_labels_may_be_text(tmp_path):
    (tmp_path / "labels.csv").write_text("a,kind\n1,yes\n2,no\n3,yes\n")
    assert read_table(tmp_path / "labels.csv").y.tolist() == ["yes", "no", "yes"]


@pytest.mark.parametrize(
    ("name", "shape"), [("diabetes", (442, 10)), ("wine", (178, 13)), ("digits", (1797, 64))]
)
def test_data_sets_by_name(name, shape):
    table = read_table(name)
    assert table.X.shape == shape
    assert len(table.columns) == shape[1]


def test_unknown_names_and_endings_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"one of breast_cancer.*got 'nothing'"):
        read_table("nothing")
    (tmp_path / "data.xls").write_text("1")
    with pytest.raises(ValueError, match=r"ending in \.csv"):
        read_table(tmp_path / "data.xls")
    with pytest.raises(ValueError, match="a file, got the folder"):
        read_table(tmp_path)


def test_a_missing_target_is_never_guessed(tmp_path):
    (tmp_path / "data.csv").write_text("a,y\n1,2\n2,\n3,4\n")
    with pytest.raises(ValueError, match="target 'y' must be without missing values"):
        read_table(tmp_path / "data.csv", impute=True)
    with pytest.raises(ValueError, match=r"one of the columns a, y, got 'z'"):
        read_table(tmp_path / "data.csv", target="z")
