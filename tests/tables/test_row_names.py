import numpy as np
import pytest

from ravine.tables.column import Column, ColumnKind
from ravine.tables.row_names import is_row_number, names_rows


def column(name, values):
    return Column(name, ColumnKind.NUMBERS, len(values), numbers=np.array(values, dtype=float))


@pytest.mark.parametrize(
    ("name", "values", "position", "numbering"),
    [
        ("", range(5), 3, True),
        ("Unnamed: 0", range(1, 6), 0, True),
        ("rownames", [3, 1, 2], 0, True),
        ("id", [104, 7, 55], 2, True),
        ("id", [104, 7, 7], 2, False),
        ("PassengerId", [5, 9, 2], 1, True),
        ("customer_id", [5, 9, 2], 1, True),
        ("acid", [5, 9, 2], 1, False),
        ("whatever", range(1, 20), 0, True),
        ("whatever", range(1, 20), 1, False),
        ("whatever", range(1, 6), 0, False),
        ("time", range(1, 20), 0, False),
        ("year", range(1947, 1963), 0, False),
        ("x", [0.5, 1.5, 2.5], 0, False),
    ],
)
def test_row_numbers(name, values, position, numbering):
    assert is_row_number(column(name, list(values)), position) is numbering


@pytest.mark.parametrize(
    ("codes", "naming"),
    [
        (range(5), True),
        ([0, 1, 0], False),
        ([*range(11), 0, 0, 0], True),
        ([*range(11)] * 2, False),
        ([*range(9), 0, 0], False),
    ],
)
def test_texts_that_name_rows(codes, naming):
    values = np.array(list(codes), dtype=np.int32)
    texts = tuple(str(k) for k in range(20))
    made = Column("t", ColumnKind.TEXTS, len(values), codes=values, texts=texts)
    assert names_rows(made) is naming
