import numpy as np

from ravine.tables.column import Column, ColumnKind
from ravine.tables.levels import encode_levels


def column(words):
    unique = tuple(dict.fromkeys(words))
    codes = np.array([unique.index(word) for word in words], dtype=np.int32)
    return Column("c", ColumnKind.TEXTS, len(words), codes=codes, texts=unique)


def test_the_most_frequent_level_is_left_out():
    levels = encode_levels(column("abbc"), 20)
    assert levels.names == ("c=a", "c=c")
    assert levels.codes.tolist() == [0, -1, -1, 1]
    assert "3 levels became 2 columns against 'b'" in levels.finding.message


def test_rare_levels_are_one_group():
    levels = encode_levels(column("aaabbcd"), 3)
    assert levels.names == ("c=b", "c=other")
    assert levels.codes.tolist() == [-1, -1, -1, 0, 0, 1, 1]
    assert "2 rarer ones became 'other'" in levels.finding.message
    assert "--levels" in levels.finding.remedy


def test_levels_that_no_row_has_are_forgotten():
    whole = column("abca")
    levels = encode_levels(whole.take(np.array([0, 1, 3])), 20)
    assert levels.names == ("c=b",)
