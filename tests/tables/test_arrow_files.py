import gzip
import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest

from ravine.tables import read_table

FRAME = pd.DataFrame(
    {
        "a": pd.array([1, 2, None, 4, 5], dtype="Int64"),
        "kind": pd.Categorical(["7", "8", "7", "8", "7"]),
        "flag": [True, False, True, True, False],
        "when": pd.to_datetime([f"2020-01-0{day}" for day in (1, 2, 4, 5, 8)]),
        "y": [0.5, 1.5, 2.5, 3.5, 4.5],
    }
)  # fmt: skip


def write(path, frame):
    table = pa.Table.from_pandas(frame, preserve_index=False)
    if path.suffix == ".parquet":
        parquet.write_table(table, path)
    else:
        feather.write_feather(table, path, compression="zstd")


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_types_are_kept(tmp_path, ending):
    path = tmp_path / f"t.{ending}"
    write(path, FRAME)
    table = read_table(path)
    assert table.columns == ("a", "kind=8", "flag", "when")
    np.testing.assert_array_equal(table.X, [[1, 0, 1, 0], [2, 1, 0, 1], [4, 1, 1, 4], [5, 0, 0, 7]])
    np.testing.assert_array_equal(table.rows, [0, 1, 3, 4])


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_bombs_are_refused_by_their_metadata(tmp_path, ending):
    path = tmp_path / f"bomb.{ending}"
    zeros = pa.table({"a": np.zeros(10**7), "y": np.zeros(10**7)})
    if ending == "parquet":
        parquet.write_table(zeros, path)
    else:
        feather.write_feather(zeros, path, compression="zstd", chunksize=10**7)
    with pytest.raises(ValueError, match="200 times its compressed size"):
        read_table(path)
    with pytest.raises(ValueError, match="at most 1,000 rows"):
        read_table(path, max_rows=1000)


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_broken_files_are_refused(tmp_path, ending):
    path = tmp_path / f"t.{ending}"
    write(path, FRAME)
    content = path.read_bytes()
    with pytest.raises(ValueError, match="readable"):
        read_table(content[:-40] + b"x" * 40)


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_damage_anywhere_gives_a_table_or_a_refusal(tmp_path, ending):
    path = tmp_path / f"t.{ending}"
    write(path, FRAME)
    content = path.read_bytes()
    refused = 0
    for at in range(0, len(content) - 20, 20):
        try:
            read_table(content[:at] + b"\xff" * 20 + content[at + 20 :])
        except ValueError:
            refused += 1
    assert refused > 10


def test_offsets_beyond_the_memory_are_refused(tmp_path):
    path = tmp_path / "t.feather"
    words = pa.table({"a": ["some", "words", "here"], "y": [1.0, 2.0, 3.5]})
    feather.write_feather(words, path, compression="uncompressed")
    # The offsets of the texts are 0, 4, 9, 13; Arrow itself would follow any.
    offsets = np.array([0, 4, 9, 13], dtype="<i4").tobytes()
    wrong = np.array([0, 4, 2**30, 13], dtype="<i4").tobytes()
    content = path.read_bytes()
    assert content.count(offsets) == 1
    path.write_bytes(content.replace(offsets, wrong))
    with pytest.raises(ValueError, match="a readable Feather file"):
        read_table(path)


def test_a_file_that_is_cut_short_is_refused(tmp_path):
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"a": [1.0, 2.5, 3.0], "y": [1.0, 2.0, 3.5]}), path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ValueError, match="a readable Parquet file"):
        read_table(path)


def test_lists_are_left_out(tmp_path):
    path = tmp_path / "t.parquet"
    table = pa.table({"l": [[1], [2], [3]], "a": [1.0, 2.5, 3.0], "y": [1.0, 2.0, 3.5]})
    parquet.write_table(table, path)
    found = read_table(path)
    assert found.columns == ("a",)
    assert [f.columns for f in found.findings if f.kind == "nested"] == [("l",)]


def test_a_packed_parquet_file_is_refused():
    packed = io.BytesIO()
    FRAME.to_parquet(packed)
    with pytest.raises(ValueError, match="it is compressed twice; decompress it"):
        read_table(gzip.compress(packed.getvalue()))
