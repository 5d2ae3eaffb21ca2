import numpy as np
import pytest

from ravine.tables.delimited import read_delimited
from ravine.tables.limits import Limits
from ravine.tables.source import find_source


def read(path, content, **options):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    limits = options.pop("limits", Limits())
    columns, comma, findings = read_delimited(find_source(path, limits), limits, **options)
    return columns, comma, findings


def values(columns):
    return [
        [column.texts[k] if k >= 0 else None for k in column.codes]
        if column.is_text
        else column.numbers.tolist()
        for column in columns
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("separator", [",", ";", "\t", " "])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_dialects_give_the_same_columns(tmp_path, encoding, separator, end):
    rows = [["name", "b"], ["é", "1.5"], ["x", "2"], ["é", "3"]]
    text = end.join(separator.join(row) for row in rows) + end
    columns, _, _ = read(tmp_path / "t.csv", text.encode(encoding))
    assert [column.name for column in columns] == ["name", "b"]
    assert values(columns) == [["é", "x", "é"], [1.5, 2.0, 3.0]]


def test_missing_words_truth_values_and_dates(tmp_path):
    text = "a,b,c,d\n1,true,2020-01-01,x\nNA,False,2020-01-03,?\n3,,,y\n"
    columns, _, _ = read(tmp_path / "t.csv", text)
    assert [column.kind.value for column in columns] == [
        "numbers", "truth values", "dates", "texts",
    ]  # fmt: skip
    np.testing.assert_array_equal(columns[0].numbers, [1.0, np.nan, 3.0])
    np.testing.assert_array_equal(columns[1].numbers, [1.0, 0.0, np.nan])
    np.testing.assert_array_equal(np.diff(columns[2].numbers), [2.0, np.nan])
    assert values(columns)[3] == ["x", None, "y"]


def test_comments_and_blanks_are_left_out(tmp_path):
    text = "# made today\n a   b\n 1   2\n# half way\n\n 3   4  \n"
    columns, _, _ = read(tmp_path / "t.dat", text)
    assert values(columns) == [[1.0, 3.0], [2.0, 4.0]]


def test_decimal_commas_and_thousands(tmp_path):
    columns, comma, findings = read(tmp_path / "t.csv", "a;b\n1,5;1.000,25\n-2,5;3\n")
    assert comma
    assert values(columns)[0] == [1.5, -2.5]
    assert "decimal comma" in findings[0].message


def test_a_word_far_below_turns_its_column_to_text_and_no_other(tmp_path):
    rows = [f"{i},{i}.5" for i in range(400_000)]
    rows[399_000] = "oops,1.5"
    columns, _, _ = read(tmp_path / "t.csv", "\n".join(["a,b", *rows]))
    # The numbers that the texts spell are kept where there are too many texts.
    assert columns[0].kind.value == "numbers"
    assert np.isnan(columns[0].numbers[399_000])
    assert columns[0].numbers[-1] == 399_999.0
    assert columns[1].numbers[-1] == 399_999.5


def test_bytes_far_below_that_are_no_utf8(tmp_path):
    rows = ["x,1"] * 400_000 + ["\u00e9,2"]
    columns, _, findings = read(tmp_path / "t.csv", "\n".join(["a,b", *rows]).encode("cp1252"))
    assert columns[0].texts == ("x", "\u00e9")
    assert "cp1252" in findings[0].message


def test_quoted_line_breaks(tmp_path):
    columns, _, _ = read(tmp_path / "t.csv", 'a,b\n"one\ntwo",1\nx,2\n')
    assert values(columns) == [["one two", "x"], [1.0, 2.0]]


def test_rows_of_another_length_are_refused_with_the_line(tmp_path):
    with pytest.raises(ValueError, match=r"rows of one length, got 3 fields instead of 2 in .*9,9"):
        read(tmp_path / "t.csv", "a,b\n1,2\n3,4\n9,9,9\n")


def test_too_many_columns_and_a_line_without_end_are_refused(tmp_path, monkeypatch):
    wide = ",".join(f"c{j}" for j in range(200_000)) + "\n1" + ",1" * 199_999
    with pytest.raises(ValueError, match=r"at most 100000 columns wide, got 200000: .*max-columns"):
        read(tmp_path / "wide.csv", wide)
    monkeypatch.setattr("ravine.tables.delimited.MAX_LINE", 2**21)
    with pytest.raises(ValueError, match="a longer line"):
        read(tmp_path / "line.csv", b"1," * 2**21)


def test_a_longer_line_below_is_refused(tmp_path):
    # A block takes 4 MiB, which is more than the rows above speak for.
    content = b"a,b\n" + b"1,2\n" * 300_000 + b"1," + b"2" * (9 * 2**20) + b"\n"
    with pytest.raises(ValueError, match="a longer line"):
        read(tmp_path / "late.csv", content)


def test_zero_bytes_and_unknown_encodings_are_refused(tmp_path):
    with pytest.raises(ValueError, match="zero bytes"):
        read(tmp_path / "t.csv", b"a,b\n1,\0\n")
    with pytest.raises(ValueError, match="encoding must be one that Python knows"):
        read(tmp_path / "t.csv", "a,b\n1,2\n", encoding="klingon")
    with pytest.raises(ValueError, match="encoding must be one that Python knows"):
        read(tmp_path / "t.csv", "a,b\n1,2\n", encoding="utf\0")
