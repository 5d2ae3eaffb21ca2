import codecs

import pytest

from ravine.tables.text_files import guess_dialect, guess_encoding, is_comment, split


def guess(text, **options):
    usual = {"sep": None, "decimal": None}
    return guess_dialect(text, **{**usual, **options})


@pytest.mark.parametrize(
    ("text", "separator", "decimal"),
    [
        ("a,b\n1,2\n3,4\n", ",", "."),
        ("a;b\n1,5;2\n3,25;4\n", ";", ","),
        ("a;b\n1.5;2\n3,25;4\n", ";", "."),
        ("a\tb\n1,234\t2\n3,400\t4\n", "\t", "."),
        ("a|b\n1|2\n", "|", "."),
        ("a   b\n 1  2\n 10 20\n", " ", "."),
        ('name,b\n"Smith, J",2\n"Jones; P",3\n', ",", "."),
    ],
)
def test_separator_and_decimal_mark(text, separator, decimal):
    dialect = guess(text)
    assert (dialect.separator, dialect.decimal) == (separator, decimal)


@pytest.mark.parametrize(
    ("text", "names", "skip"),
    [
        ("a,b\n1,2\n", ("a", "b"), 1),
        ("1,2\n3,4\n", ("column 0", "column 1"), 0),
        ("5.1,setosa\n4.9,setosa\n", ("column 0", "column 1"), 0),
        ("kind,colour\nx,red\ny,blue\n", ("kind", "colour"), 1),
        ("x,red\ny,blue\nx,red\n", ("column 0", "column 1"), 0),
        ("name,1990,1991,1992\nA,5,7,9\nB,6,2,3\n", ("name", "1990", "1991", "1992"), 1),
        ("My table\n\na,b,c\n1,2,3\n4,5,6\n", ("a", "b", "c"), 3),
        ("a b c\nr1 1 2 3\nr2 4 5 6\n", ("", "a", "b", "c"), 1),
        ("# a b\n1 2\n3 4\n", ("a", "b"), 0),
        ("#,a\n1,2\n2,5\n", ("#", "a"), 1),
    ],
)
def test_names_and_where_the_table_starts(text, names, skip):
    dialect = guess(text)
    assert (dialect.names, dialect.skip) == (names, skip)


def test_arff_has_its_names_in_its_header():
    text = "% about\n@relation r\n@attribute 'a b' numeric\n@attribute c {x,y}\n@data\n1,x\n2,y\n"
    dialect = guess(text)
    assert (dialect.names, dialect.skip, dialect.names_line) == (("a b", "c"), 4, 0)


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        ("é,b\n".encode(), "utf-8-sig"),
        (codecs.BOM_UTF8 + b"a,b\n", "utf-8-sig"),
        ("é,b\n".encode("cp1252"), "cp1252"),
        ("a,b\n1,2\n".encode("utf-16"), "utf-16"),
    ],
)
def test_encodings(content, encoding):
    assert guess_encoding(content) == encoding


def test_comments_and_fields():
    assert is_comment("  # note", "#")
    assert not is_comment("#,a", "#")
    assert list(split(["'a b'   2"], " ", "'")) == [["a b", "2"]]
    assert list(split(['"x, y",2'], ",", '"')) == [["x, y", "2"]]
