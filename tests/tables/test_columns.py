"""What the values of a column are taken for."""

import numpy as np
import pandas as pd
import pytest

from ravine.tables.columns import Column
from ravine.tables.table import Raw
from ravine.tables.words import dates_in, missing_code, number, numbers_in, packed_dates


def column(values, name="c"):
    made = Column(name, pd.Series(values), Raw(pd.DataFrame()))
    return made, made.notes


def test_amounts_become_numbers():
    made, findings = column(["$1,200", "-", "50%", "NA"])
    assert made.kind == "number"
    np.testing.assert_array_equal(made.values, [1200, np.nan, 50, np.nan])
    assert findings == []


def test_a_strange_word_among_numbers_is_said():
    made, (finding,) = column([*(str(i) for i in range(9)), "oops"])
    assert made.kind == "number"
    assert np.isnan(made.values[9])
    assert "'oops'" in finding.message


def test_many_words_stay_words():
    made, findings = column(["1", "2", "x", "none", "?"])
    assert made.kind == "text"
    assert made.texts == ["1", "2", "x", "none"]
    np.testing.assert_array_equal(made.values, [0, 1, 2, 3, np.nan])
    assert findings == []


def test_many_different_texts_are_not_all_tried():
    texts = [f"name {k}" for k in range(5000)]
    assert np.isnan(numbers_in(texts)).all()
    amounts = [f"${k}" for k in range(5000)]
    assert numbers_in(amounts).tolist() == list(range(5000))


def test_declared_levels_are_never_numbers():
    made, _ = column(pd.Categorical(["7", "8"]))
    assert made.kind == "text"


def test_dates_are_days_since_the_first():
    made, (finding,) = column(["2/1/2020", "1/1/2020", "NA"])
    assert made.kind == "date"
    np.testing.assert_array_equal(made.values, [31, 0, np.nan])
    assert "read as month day year" in finding.message
    packed, _ = column([20200101.0, 20200103.0], "date")
    assert packed.values.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("values", "kind", "numbers"),
    [
        (pd.array([1, None], dtype="Int64"), "number", [1, np.nan]),
        (pd.array([True, None], dtype="boolean"), "truth", [1, np.nan]),
        (np.array([True, None], dtype=object), "truth", [1, np.nan]),
        (pd.to_datetime(["2020-01-02", None]).tz_localize("UTC"), "date", [0, np.nan]),
        (pd.to_timedelta(["1 s", "1 min"]), "number", [1, 60]),
        (np.array([2.5, None, np.inf], dtype=object), "number", [2.5, np.nan, np.nan]),
    ],
)
def test_types_of_pandas(values, kind, numbers):
    made, _ = column(values)
    assert made.kind == kind
    np.testing.assert_array_equal(made.values, numbers)


def test_lists_are_nested_and_complex_numbers_refused():
    assert column([[1], None, {"a": 1}])[0].kind == "nested"
    with pytest.raises(ValueError, match="of real numbers or texts"):
        column(np.array([1j, 2j]))


def test_infinite_numbers_count_as_missing():
    made, (finding,) = column([1.0, np.inf, -np.inf])
    np.testing.assert_array_equal(made.values, [1, np.nan, np.nan])
    assert "infinite values count as missing (2 times)" in finding.message


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ([1, -999, 2, -999], -999), ([-40, 35, -9999], -9999), ([1, -999, 5000], None),
        ([1, -999, -999, 5000], -999), ([-500, -999, -999], None), ([-999, -999], None),
        ([1, -7, 3], None), ([np.nan], None),
    ],
)  # fmt: skip
def test_codes_of_missing_values(values, code):
    assert missing_code(np.array(values, dtype=float)) == code


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
    made, _ = column(np.array(list(values), dtype=float), name)
    assert made.numbers_rows(position) is numbering


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
    made, _ = column([f"t{k}" for k in codes])
    assert (made.flaw(1) == "names") is naming


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12.0), ("-1.5e3", -1500.0), (" +.5 ", 0.5), ("1,234,567", 1234567.0),
        ("1 234.5", 1234.5), ("1'234", 1234.0), ("$1,000", 1000.0), ("-€5", -5.0), ("12%", 12.0),
        ("(3.5)", -3.5), ("1,23", None), ("12,34,567", None), ("1.2.3", None), ("abc", None),
        ("", None), ("1a", None), ("inf", np.inf), ("\u22125", -5.0), ("nan", None),
    ],
)  # fmt: skip
def test_numbers_as_people_write_them(text, value):
    assert number(text) == value


def test_decimal_commas():
    assert number("1,5", comma=True) == 1.5
    assert number("1.234.567,8", comma=True) == 1234567.8
    np.testing.assert_array_equal(numbers_in(["2,5", "x"], comma=True), [2.5, np.nan])


@pytest.mark.parametrize(
    ("first", "second", "days"),
    [
        ("2020-02-28", "2020-03-01", 2), ("12/31/1999", "1/1/2000", 1),
        ("31.12.1999", "01.01.2000", 1), ("Jan 5, 2001", "Feb 5, 2001", 31),
        ("1-Mar-90", "31-Mar-90", 30), ("1990Q1", "1990Q2", 90),
        ("1990M01", "1990M02", 31), ("2020-01-01T12:00:00Z", "2020-01-02T00:00:00Z", 0.5),
        ("January 1990", "March 1990", 59),
    ],
)  # fmt: skip
def test_dates_of_one_form_are_days(first, second, days):
    found = dates_in([first, second])
    assert found is not None
    assert (found[0][1] - found[0][0]) / pd.Timedelta(days=1) == days


def test_ranges_and_mixed_forms_are_no_dates():
    assert dates_in(["10-20", "20-30"]) is None
    assert dates_in(["2020-01-01", "soon"]) is None


def test_packed_dates_have_months_and_days():
    moments = packed_dates(np.array([19700101.0, np.nan, 19700301.0]))
    assert moments.dt.day_of_year.tolist()[::2] == [1, 60]
    assert moments.isna().tolist() == [False, True, False]
    assert packed_dates(np.array([19701301.0])) is None
    assert packed_dates(np.array([5.0])) is None
