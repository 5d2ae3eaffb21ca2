import numpy as np
import pytest

from ravine.tables import Finding, read_table
from ravine.tables.table import listed


def read(tmp_path, text, **options):
    path = tmp_path / "t.csv"
    path.write_text(text)
    return read_table(path, **options)


def kinds(table):
    return {finding.kind: finding for finding in table.findings}


def test_row_numbers_names_and_constants_are_left_out(tmp_path):
    rows = [f"{i},person {i},{i * i},7,1,{i / 2}" for i in range(20)]
    table = read(tmp_path, "\n".join([",who,a,seven,one,y", *rows]))
    assert table.columns == ("a", "one")
    found = kinds(table)
    assert found["index"].columns == ("",)
    assert found["names"].columns == ("who",)
    assert found["constant"].columns == ("seven",)


def test_a_series_keeps_its_row_numbers(tmp_path):
    table = read(tmp_path, "\n".join([",x", *(f"{i},{i % 7}.5" for i in range(20))]))
    assert (table.columns, table.target) == (("",), "x")
    assert "kept" in kinds(table)["index"].message


def test_dropped_columns_and_weights(tmp_path):
    text = "a,b,w,y\n1,2,1,0.5\n2,5,0,1.5\n4,1,2,2.5\n"
    table = read(tmp_path, text, drop=["b"], weights="w")
    assert table.columns == ("a",)
    assert table.weights.tolist() == [1, 0, 2]
    assert table.target == "y"
    with pytest.raises(ValueError, match=r"weights must be zero or more, .* got -1 in row 1"):
        read(tmp_path, "a,w,y\n1,1,0.5\n2,-1,1.5\n", weights="w")
    with pytest.raises(ValueError, match="weights must be a column of numbers"):
        read(tmp_path, "a,w,y\n1,p,0.5\n2,q,1.5\n3,p,1\n", weights="w")
    with pytest.raises(ValueError, match="drop must be one of the columns"):
        read(tmp_path, text, drop=["z"])
    with pytest.raises(ValueError, match="another column than the weights"):
        read(tmp_path, text, weights="w", target="w")


def test_kept_rows_are_numbered_as_in_the_file(tmp_path):
    table = read(tmp_path, "a,y\n1,0.5\n,1.5\n4,\n5,2.5\n2,3\n7,8\n")
    assert table.rows.tolist() == [0, 3, 4, 5]
    assert table.y.tolist() == [0.5, 2.5, 3, 8]


def test_equal_names_are_told_apart(tmp_path):
    assert read(tmp_path, "a,a,y\n1,2,0.5\n2,5,1.5\n4,1,2.5\n").columns == ("a", "a (2)")
    text = "a,a,a (2),a,y\n1,2,3,5,0.5\n2,5,7,1,1.5\n4,1,2,2,2.5\n"
    table = read(tmp_path, text)
    assert table.columns == ("a", "a (2)", "a (2) (2)", "a (3)")
    assert table.X[0].tolist() == [1, 2, 3, 5]


def test_whole_numbers_are_labels_only_where_rows_are_many(tmp_path):
    few = read(tmp_path, "\n".join(["a,y", *(f"{i * i},{i}" for i in range(1, 17))]))
    assert "read as numbers" in kinds(few)["labels"].message
    many = read(tmp_path, "\n".join(["a,y", *(f"{i * i},{i % 3}" for i in range(30))]))
    assert "3 different whole numbers, read as labels" in kinds(many)["labels"].message


def test_too_many_classes_are_refused(tmp_path):
    rows = [f"{i % 7},c{i % 30}" for i in range(90)]
    text = "\n".join(["a,class", *rows])
    assert len(np.unique(read(tmp_path, text).y)) == 30
    with pytest.raises(ValueError, match=r"at most 10 classes, got 30: .*--max-classes"):
        read(tmp_path, text, max_classes=10)


def test_encoded_columns_count_against_the_limit(tmp_path):
    rows = [f"l{i % 9},{i}.5" for i in range(40)]
    with pytest.raises(ValueError, match="at most 5 columns, got 8"):
        read(tmp_path, "\n".join(["t,y", *rows]), max_columns=5)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a\n1\n2\n", "2 columns or more, got 2 rows and 1 column:"),
        ("a,y\n", "2 rows and .* more, got 0 rows"),
        ("a,y\n1,2\n", "2 rows and .* more, got 1 row and"),
        ("a,y\n1,7\n2,7\n3,7\n", r"more than one value, got 7\.0 in every row"),
        ("a,y\n5,1\n5,2.5\n5,3\n", "a useful column, got column 'a': dropped"),
        ("who,y\np,1\nq,2.5\nr,3\n", "nearly every row has a different text"),
    ],
)
def test_tables_without_a_question_are_refused(tmp_path, text, words):
    with pytest.raises(ValueError, match=words):
        read(tmp_path, text)


def test_targets_that_are_none_are_refused(tmp_path):
    text = "a,b,c\n1,p,\n2,q,\n4,r,\n"
    with pytest.raises(ValueError, match=r"target 'b' .*nearly every row has a different text"):
        read(tmp_path, text, target="b")
    with pytest.raises(ValueError, match="two rows or more without missing values, got 0"):
        read(tmp_path, text, target="c")


NAN = ""


def rows_of(*columns):
    return "\n".join(",".join(str(value) for value in row) for row in zip(*columns, strict=True))


def test_mostly_missing_columns_go(tmp_path):
    text = rows_of(["a", 1, NAN, 5, 2], ["b", NAN, NAN, NAN, 2], ["y", 1, 2.5, 3, 4])
    table = read(tmp_path, text)
    assert table.columns == ("a",)
    assert "columns" not in kinds(table)
    assert ("b",) in [finding.columns for finding in table.findings]


def test_a_column_goes_before_half_of_the_rows_do(tmp_path):
    text = rows_of(["a", NAN, NAN, 3, 4, 9], ["b", 1, 2, NAN, 4, 9], ["y", 0.5, 1, 2, 3, 4])
    table = read(tmp_path, text)
    assert table.columns == ("b",)
    assert table.rows.tolist() == [0, 1, 3, 4]


def test_a_column_goes_before_the_target_becomes_constant(tmp_path):
    text = rows_of(["a", NAN, 2, 3, 4], ["b", 1, 2, 3, 9], ["y", 0, 1, 1, 1])
    table = read(tmp_path, text)
    assert (table.columns, table.rows) == (("b",), None)


def test_gaps_are_filled_or_refused_when_asked(tmp_path):
    text = rows_of(["a", 1, NAN, 3, 8], ["t", "x", "z", NAN, "z"], ["y", 0.5, 1, 2, 3])
    table = read(tmp_path, text, missing="fill")
    assert table.columns == ("a", "t=x")
    assert table.X.tolist() == [[1, 1], [3, 0], [3, 0], [8, 0]]
    assert "2 missing values were replaced" in kinds(table)["imputed"].message
    with pytest.raises(ValueError, match=r"column 'a' .* got 1 missing, the first in row 1"):
        read(tmp_path, text, missing="refuse")


def test_the_most_frequent_level_is_left_out_and_rare_ones_are_one_group(tmp_path):
    text = rows_of(["c", *"aaabbcd"], ["y", *(k + 0.5 for k in range(7))])
    assert read(tmp_path, text).columns == ("c=b", "c=c", "c=d")
    table = read(tmp_path, text, levels=3)
    assert table.columns == ("c=b", "c=other")
    assert table.X.tolist() == [[0, 0]] * 3 + [[1, 0]] * 2 + [[0, 1]] * 2
    finding = kinds(table)["encoded"]
    assert "2 rarer ones became 'other'" in finding.message
    assert "--levels" in finding.remedy


def test_levels_that_no_row_has_are_forgotten(tmp_path):
    text = rows_of(["c", *"abca"], ["y", 1, 2.5, NAN, 4])
    assert read(tmp_path, text).columns == ("c=b",)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["a"], "column 'a'"),
        (["a", "b"], "columns 'a', 'b'"),
        (list("abcdefg"), "columns 'a', 'b', 'c', 'd', 'e' and 2 more"),
    ],
)
def test_names_are_listed_and_the_rest_counted(names, words):
    assert listed(names) == words


def test_a_long_name_does_not_break_the_line():
    assert len(listed(["x" * 500])) < 60


def test_a_finding_needs_no_remedy():
    assert Finding("loss", "chosen").remedy == ""
    assert Finding("loss", "chosen") == Finding("loss", "chosen", columns=())
