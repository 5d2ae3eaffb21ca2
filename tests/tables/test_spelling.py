import numpy as np

from ravine.tables.column import Column, ColumnKind
from ravine.tables.spelling import spelled_out


def column(words, **options):
    unique = tuple(dict.fromkeys(words))
    codes = np.array([unique.index(word) for word in words], dtype=np.int32)
    return Column("c", ColumnKind.TEXTS, len(words), codes=codes, texts=unique, **options)


def test_amounts_become_numbers():
    made, findings = spelled_out(column(["$1,200", "-", "50%", "NA"]), comma=False)
    assert made.kind is ColumnKind.NUMBERS
    np.testing.assert_array_equal(made.numbers, [1200, np.nan, 50, np.nan])
    assert findings == []


def test_a_strange_word_among_numbers_is_said():
    made, (finding,) = spelled_out(column([*(str(i) for i in range(9)), "oops"]), comma=False)
    assert made.kind is ColumnKind.NUMBERS
    assert np.isnan(made.numbers[9])
    assert "'oops'" in finding.message


def test_many_words_stay_words():
    made, findings = spelled_out(column(["1", "2", "x", "none", "?"]), comma=False)
    assert made.kind is ColumnKind.TEXTS
    assert made.texts == ("1", "2", "x", "none")
    assert made.codes.tolist() == [0, 1, 2, 3, -1]
    assert findings == []


def test_declared_levels_are_never_numbers():
    made, _ = spelled_out(column(["7", "8"], spelled=False), comma=False)
    assert made.kind is ColumnKind.TEXTS


def test_dates_are_days_since_the_first():
    made, (finding,) = spelled_out(column(["2/1/2020", "1/1/2020", "NA"]), comma=False)
    np.testing.assert_array_equal(made.numbers, [31, 0, np.nan])
    assert finding.kind == "dates"
    packed = Column("date", ColumnKind.NUMBERS, 2, numbers=np.array([20200101.0, 20200103.0]))
    assert spelled_out(packed, comma=False)[0].numbers.tolist() == [0, 2]
