import numpy as np
import pytest

from ravine.tables.column import Column, ColumnKind
from ravine.tables.gaps import Missing, complete_rows, mostly_filled, without_infinities

NAN = np.nan


def column(name, values):
    return Column(name, ColumnKind.NUMBERS, len(values), numbers=np.array(values, dtype=float))


def test_infinities_count_as_missing():
    (made,), (finding,) = without_infinities([column("a", [1, np.inf, -np.inf])])
    np.testing.assert_array_equal(made.numbers, [1, NAN, NAN])
    assert "2 infinite" in finding.message


def test_mostly_missing_columns_go():
    columns = [column("a", [1, NAN, NAN, 2]), column("b", [NAN, NAN, NAN, 2])]
    kept, (finding,) = mostly_filled(columns)
    assert [c.name for c in kept] == ["a"]
    assert finding.columns == ("b",)


def test_rows_with_gaps_go_and_are_counted():
    columns = [column("a", [1, 2, NAN, 4, 5]), column("b", [1, 2, 3, 4, 5])]
    goal = np.array([0.0, 1, 2, 3, 4])
    kept, keep, (finding,) = complete_rows(columns, [goal == 4], Missing.DROP_ROWS, goal)
    assert keep.tolist() == [True, True, False, True, False]
    assert [c.numbers.tolist() for c in kept] == [[1, 2, 4], [1, 2, 4]]
    assert finding.message.startswith("2 of 5 rows were left out")


def test_a_column_goes_before_half_of_the_rows_do():
    columns = [column("a", [NAN, NAN, 3, 4, 5]), column("b", [1, 2, NAN, 4, 5])]
    goal = np.array([0.0, 1, 2, 3, 4])
    kept, keep, findings = complete_rows(columns, [], Missing.DROP_ROWS, goal)
    assert [c.name for c in kept] == ["b"]
    assert keep.sum() == 4
    assert findings[0].columns == ("a",)


def test_a_column_goes_before_the_target_becomes_constant():
    columns = [column("a", [NAN, 2, 3, 4]), column("b", [1, 2, 3, 4])]
    kept, keep, _ = complete_rows(columns, [], Missing.DROP_ROWS, np.array([0.0, 1, 1, 1]))
    assert [c.name for c in kept] == ["b"]
    assert keep is None


def test_gaps_are_filled_when_asked():
    texts = Column("t", ColumnKind.TEXTS, 4, codes=np.array([0, 1, -1, 1], dtype=np.int32),
                   texts=("x", "y"))  # fmt: skip
    columns = [column("a", [1, NAN, 3, 8]), texts]
    kept, keep, (finding,) = complete_rows(columns, [], Missing.FILL, np.arange(4.0))
    assert keep is None
    assert kept[0].numbers.tolist() == [1, 3, 3, 8]
    assert kept[1].codes.tolist() == [0, 1, 1, 1]
    assert finding.kind == "imputed"


def test_gaps_are_refused_when_asked():
    with pytest.raises(ValueError, match=r"column 'a' .* got 1 missing, the first in row 1"):
        complete_rows([column("a", [1, NAN])], [], Missing.REFUSE, np.arange(2.0))
