"""Text tables in all dialects, read from bytes."""

import numpy as np
import pytest

from ravine.tables import read_table


def read(content, **options):
    return read_table(content if isinstance(content, bytes) else content.encode(), **options)


def found(table, kind):
    return [finding for finding in table.findings if finding.kind == kind]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("separator", [",", ";", "\t", " "])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_dialects_give_the_same_table(encoding, separator, end):
    rows = [["name", "b", "y"], ["é", "1.5", "1"], ["x", "2", "2.5"], ["é", "3", "4"]]
    text = end.join(separator.join(row) for row in rows) + end
    table = read(text.encode(encoding))
    assert (table.columns, table.target) == (("name=x", "b"), "y")
    np.testing.assert_array_equal(table.X, [[0, 1.5], [1, 2], [0, 3]])
    np.testing.assert_array_equal(table.y, [1, 2.5, 4])


def test_missing_words_truth_values_and_dates():
    rows = [
        "1,true,2020-01-01,x,1",
        "NA,False,2020-01-03,?,2.5",
        "3,,,y,4",
        "5,True,2020-01-09,x,2",
    ]
    table = read("\n".join(["a,b,c,d,y", *rows]), missing="fill")
    assert table.columns == ("a", "b", "c", "d=y")
    np.testing.assert_array_equal(table.X, [[1, 1, 0, 0], [3, 0, 2, 0], [3, 1, 2, 1], [5, 1, 8, 0]])


def test_comments_and_blanks_are_left_out():
    text = "# made today\n a   b\n 1   2\n# half way\n\n 3   4.5  \n"
    table = read(text)
    assert (table.X.tolist(), table.y.tolist()) == ([[1.0], [3.0]], [2.0, 4.5])


def test_decimal_commas_and_thousands():
    table = read("a;b\n1,5;1.000,25\n-2,5;3\n")
    assert (table.X.tolist(), table.y.tolist()) == ([[1.5], [-2.5]], [1000.25, 3.0])
    assert "decimal comma" in table.findings[0].message


def test_a_word_far_below_counts_as_missing_and_spoils_no_other_column():
    rows = [f"{i}.5,{i % 7},{i}.25" for i in range(400_000)]
    rows[399_000] = "oops,1,1.5"
    table = read("\n".join(["a,b,y", *rows]))
    assert table.X.shape == (399_999, 2)
    assert (table.X[-1, 0], table.y[-1]) == (399_999.5, 399_999.25)
    assert "'oops'" in found(table, "missing")[0].message


def test_bytes_far_below_that_are_no_utf8():
    rows = ["x,1.5", "z,2"] * 200_000 + ["\u00e9,2"] * 2
    table = read("\n".join(["a,b", *rows]).encode("cp1252"))
    assert table.columns == ("a=z", "a=\u00e9")
    assert "cp1252" in table.findings[0].message


def test_quoted_line_breaks():
    table = read('a,b\n"one\ntwo",1.5\nx,2\nx,3\n')
    assert table.columns == ("a=one two",)


def test_the_separator_that_excel_declares():
    table = read("sep=;\na;b\n1;2,5\n3;4\n")
    assert (table.columns, table.X.tolist(), table.y.tolist()) == (("a",), [[1.0], [3.0]], [2.5, 4])
    # A comma and a semicolon would split these lines equally well.
    assert read("sep=,\na;b,y\np;q,3\nr;s,6\np;q,4\n").columns == ("a;b=r;s",)


@pytest.mark.parametrize(
    "note",
    ["Source: WHO", "Source: WHO, not audited", "Source: WHO, 2020, Geneva, page 7, table 3"],
)
@pytest.mark.parametrize("gap", ["", "\n"])
def test_a_note_below_the_table_is_left_out(note, gap):
    rows = "\n".join(f"{i},{i * i},{i}.5" for i in range(1, 9))
    table = read(f"a,b,y\n{rows}\n{gap}{note}\n")
    assert table.X.shape == (8, 2)
    line = 11 if gap else 10
    assert f"from line {line} on" in found(table, "footer")[0].message


def test_an_open_quote_is_refused_and_not_taken_for_a_note():
    rows = "\n".join(f"a,{i}.5" for i in range(8))
    with pytest.raises(ValueError, match="EOF inside string"):
        read(f'c,y\n{rows}\n"b,1.5\n{rows}\n')


def test_two_short_rows_do_not_make_the_blanks_in_texts_separators():
    rows = [f"n{i % 3},{i} kg,{i * i},{i}.5" for i in range(60)]
    rows[7] = rows[31] = "n1,7 kg"
    table = read("\n".join(["name,weight,size,y", *rows]))
    assert table.target == "y"
    assert found(table, "short")[0].message.startswith("lines 9, 33 are shorter than 4 fields")


def test_short_rows_are_read_and_named():
    rows = [f"{i},{i * i},{i}.5" for i in range(1, 20)]
    rows[4] = "5,25"
    table = read("\n".join(["a,b,y", *rows]))
    assert len(table.y) == 18
    assert found(table, "short")[0].message.startswith("line 6 is shorter than 3 fields")
    # An empty last field is no short row.
    rows[4] = "5,25,"
    assert not found(read("\n".join(["a,b,y", *rows])), "short")


def test_long_rows_are_refused_with_the_line():
    with pytest.raises(ValueError, match="3 fields instead of 2 in line 4"):
        read('a,b\n1,2\n3"x,4\n9,9,9\n5,6\n')


def test_codes_for_missing_values_are_recognised_and_said():
    rows = [f"{i},{-999 if i in (3, 7) else i * 2},{i}.5" for i in range(1, 20)]
    table = read("\n".join(["when,b,y", *rows]))
    assert len(table.y) == 17
    assert "-999 was read as a missing value (2 times)" in found(table, "missing")[0].message
    # Among values of that size it is one of them.
    rows = [f"{i},{-999 if i == 3 else -100 * i},{i}.5" for i in range(1, 20)]
    assert len(read("\n".join(["when,b,y", *rows])).y) == 19


def test_spellings_of_yes_and_no_are_one_answer():
    answers = ["Yes", "no", "Y", "N", "yes", "Yes"]
    table = read("a,b,y\n" + "\n".join(f"{k * k},{v},{k}.5" for k, v in enumerate(answers)))
    assert table.columns == ("a", "b=no")
    np.testing.assert_array_equal(table.X[:, 1], [0, 1, 0, 1, 0, 0])
    assert "'yes' and 'no'" in found(table, "spelling")[0].message
    # Two spellings are two levels, as they are written.
    plain = read("a,b,y\n1,Yes,1\n2,No,2.5\n5,Yes,3\n")
    assert plain.columns == ("a", "b=No")


def test_too_many_columns_and_a_line_without_end_are_refused(monkeypatch):
    wide = ",".join(f"c{j}" for j in range(200_000)) + "\n1" + ",1" * 199_999
    with pytest.raises(ValueError, match=r"at most 100,000 columns, got 200,000: .*max-columns"):
        read(wide)
    monkeypatch.setattr("ravine.tables.source.MAX_LINE", 2**21)
    with pytest.raises(ValueError, match="a line of more than"):
        read(b"1," * 2**21)
    with pytest.raises(ValueError, match="a line of more than"):
        read(b"a,b\n" + b"1,2\n" * 300_000 + b"1," + b"2" * (4 * 2**20) + b"\n")


def test_zero_bytes_and_unknown_encodings_are_refused():
    with pytest.raises(ValueError, match="zero bytes"):
        read(b"a,b\n1,\0\n")
    for encoding in ("klingon", "utf\0"):
        with pytest.raises(
            ValueError, match=r"readable text file, got .* \((unknown enc|embedded null)"
        ):
            read("a,b\n1,2\n", encoding=encoding)


def test_bytes_of_another_encoding_than_the_one_given_are_refused():
    rows = "a,b\n" + "1,2\n" * 400_000
    with pytest.raises(ValueError, match=r"readable text file, got .*can't decode byte 0xe9"):
        read(rows.encode() + b"\xe9,1\n", encoding="utf-8")
