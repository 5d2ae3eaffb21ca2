import numpy as np
import pyarrow as pa

from ravine.tables.column import ColumnBuilder, ColumnKind, columns_from
from ravine.tables.limits import Limits


def built(*arrays, **options):
    builder = ColumnBuilder("c", **options)
    for array in arrays:
        builder.add(array)
    return builder.finish()


def test_numbers_of_every_type_join():
    made = built(pa.array([1, None]), pa.array([2.5]), pa.nulls(1), pa.array([True]))
    np.testing.assert_array_equal(made.numbers, [1, np.nan, 2.5, np.nan, 1])
    assert made.kind is ColumnKind.NUMBERS


def test_texts_share_their_codes_across_parts():
    made = built(pa.array(["x", "y"]), pa.nulls(1), pa.array(["y", None]).dictionary_encode())
    assert made.texts == ("x", "y")
    assert made.codes.tolist() == [0, 1, -1, 1, -1]


def test_numbers_before_texts_become_texts():
    made = built(pa.array([1.5, 2.0, 1.5]), pa.array(["x"]))
    assert [made.texts[k] for k in made.codes] == ["1.5", "2", "1.5", "x"]


def test_times():
    made = built(pa.array([0, 86_400_000], pa.timestamp("ms")))
    assert (made.kind, made.numbers.tolist()) == (ColumnKind.DATES, [0.0, 1.0])


def test_too_many_texts_are_numbers_or_names(monkeypatch):
    monkeypatch.setattr("ravine.tables.column._MOST_TEXTS", 3)
    numbers = built(pa.array(["$1", "$2", "$3", "$4"]), pa.array(["$5"]))
    assert (numbers.kind, numbers.numbers.tolist()) == (ColumnKind.NUMBERS, [1, 2, 3, 4, 5])
    names = built(pa.array(["a", "b", "c", "d"]), pa.array(["e"]))
    assert (names.kind, names.rows) == (ColumnKind.NAMES, 5)


def test_lists_are_nested():
    assert built(pa.array([1.0]), pa.array([[1]])).kind is ColumnKind.NESTED


def test_batches_become_columns():
    table = pa.table({"a": [1, 2, 3], "b": ["x", "y", "x"]})
    a, b = columns_from(table.to_batches(max_chunksize=2), ["a", "b"], Limits(), levels={1})
    assert a.numbers.tolist() == [1, 2, 3]
    assert (b.codes.tolist(), b.spelled) == ([0, 1, 0], False)
