import numpy as np
import pytest

from ravine.tables.words import dates_in, number, numbers_in, packed_dates


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
    assert found[0][1] - found[0][0] == days


def test_ranges_and_mixed_forms_are_no_dates():
    assert dates_in(["10-20", "20-30"]) is None
    assert dates_in(["2020-01-01", "soon"]) is None


def test_packed_dates_have_months_and_days():
    np.testing.assert_array_equal(
        packed_dates(np.array([19700101.0, np.nan, 19700301.0])), [0.0, np.nan, 59.0]
    )
    assert packed_dates(np.array([19701301.0])) is None
    assert packed_dates(np.array([5.0])) is None
