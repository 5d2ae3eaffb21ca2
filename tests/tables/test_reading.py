import gzip
import os
import warnings

import numpy as np
import pandas as pd
import pytest

from ravine.tables import read_table

X = np.array([[1.0, 2.0], [3.0, 4.5], [5.0, 6.0]])
Y = np.array([0.5, 1.5, 2.5])


def write(path, kind):
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=Y)
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "tsv":
        frame.to_csv(path, index=False, sep="\t")
    elif kind == "data":
        frame.to_csv(path, index=False, header=False, sep=" ")
    elif kind == "parquet":
        frame.to_parquet(path)
    elif kind == "feather":
        frame.to_feather(path)
    elif kind == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    elif kind == "npy":
        np.save(path, frame.to_numpy())
    elif kind == "npz":
        np.savez(path, X=X, y=Y)
    elif kind == "csv.gz":
        path.write_bytes(gzip.compress(frame.to_csv(index=False).encode()))
    else:
        lines = [f"{y} 1:{a} 2:{b}" for y, (a, b) in zip(Y, X, strict=True)]
        path.write_text("\n".join(lines))


@pytest.mark.parametrize(
    "kind",
    ["csv", "tsv", "data", "parquet", "feather", "jsonl", "npy", "npz", "libsvm", "csv.gz"],
)
@pytest.mark.parametrize("named", [True, False])
def test_every_format_gives_the_same_table_whatever_its_name(tmp_path, kind, named):
    path = tmp_path / f"data.{kind}"
    write(path, kind)
    if not named:
        path = path.rename(tmp_path / "data")
    table = read_table(path)
    dense = table.X.toarray() if hasattr(table.X, "toarray") else table.X
    np.testing.assert_array_equal(dense, X)
    np.testing.assert_array_equal(table.y, Y)
    assert table.name == path.name
    assert len(table.columns) == 2


@pytest.mark.parametrize("target", ["a", "0", "-3", 0])
def test_the_target_is_picked_by_name_or_number(tmp_path, target):
    write(tmp_path / "data.csv", "csv")
    table = read_table(tmp_path / "data.csv", target=target)
    assert (table.target, table.columns) == ("a", ("b", "y"))
    np.testing.assert_array_equal(table.y, X[:, 0])


@pytest.mark.parametrize(
    ("name", "shape"), [("diabetes", (442, 10)), ("wine", (178, 13)), ("digits", (1797, 64))]
)
def test_data_sets_by_name(name, shape):
    table = read_table(name)
    assert table.X.shape == shape
    assert len(table.columns) == shape[1]


def test_unknown_names_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"one of breast_cancer.*got 'nothing'"):
        read_table("nothing")
    with pytest.raises(ValueError, match="a file or one of"):
        read_table(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="a file or one of"):
        read_table(tmp_path / "pipe")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"target": "z"}, r"target must be one of the columns a, b, y, got 'z'"),
        ({"sep": ",,"}, "sep must be one character"),
        ({"decimal": ";"}, "decimal must be a point or a comma"),
        ({"missing": "guess"}, "missing must be one of drop-rows, fill, refuse"),
        ({"levels": 1}, "levels must be at least 2"),
        ({"max_bytes": 0}, "max_bytes must be at least 1"),
    ],
)
def test_options_are_checked(tmp_path, options, words):
    write(tmp_path / "data.csv", "csv")
    with pytest.raises(ValueError, match=words):
        read_table(tmp_path / "data.csv", **options)


def test_nothing_is_said_by_warnings(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,y\n1,1e400,0.5\n2,3,1.5\n3,-inf,4\n9,1,2\n6,2,8\n")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = read_table(path)
    assert caught == []
    assert table.X.shape[0] == 3
