"""Numbers with units, dates, and words for missing values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime

import numpy as np
import pandas as pd

from ravine.arguments import FloatArray

MISSING = ["", "NA", "N/A", "n/a", "NaN", "nan", "NAN", "null", "NULL", "?", "#N/A", "<NA>"]
"""Words for a missing value in every column."""

CODES = (-999.0, -9999.0, -99999.0)
"""Numbers that often stand for a missing value."""

_LONGEST = 60
"""Maximum characters of a number; a float64 takes 24."""
_CURRENCY = "$€£¥₹"
_PLAIN = re.compile(r"[+-]?([iI][nN][fF]|(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?)")
# Groups of three digits, all with the same mark: 1,234,567.8 or 1 234 567.8.
_GROUPED = re.compile(r"[+-]?\d{1,3}([,' \u00a0\u202f])\d{3}(\1\d{3})*(\.\d+)?")
_GROUPED_COMMA = re.compile(r"[+-]?\d{1,3}([.' \u00a0\u202f])\d{3}(\1\d{3})*(,\d+)?")
_DATES = (
    "%Y %m %d, %m %d %Y, %d %m %Y, %m %d %y, %d %m %y, %b %d %Y, %B %d %Y, %d %b %Y, %d %B %Y, "
    "%d %b %y, %Y %b %d, %b %Y, %B %Y, %b %y, %Y %b, %Y %m"
)
"""Formats of dates, after everything between their parts has become a blank."""
_TIMES = ("", " %H:%M:%S", " %H:%M", " %H:%M:%S %f")
_PARTS = {"y": "year", "m": "month", "b": "month", "d": "day", "h": "time"}
_ISO = re.compile(r"\d{4}-\d\d-\d\d")
_BETWEEN = re.compile(r"(?<=\d)T(?=\d)|[-/.,\s]+")
_QUARTER_OR_MONTH = re.compile(r"(\d{4}) ?([qQ](?=[1-4]$)|[mM])(\d{1,2})")
_FIRST_DATE = 17_000_101
_LAST_DATE = 22_001_231
"""Whole numbers between these may be dates as yyyymmdd."""
_TRIED = 1000
"""Size of the sample that is tried before many texts are parsed."""


def number(text: str, *, comma: bool = False) -> float | None:
    """The number that a text represents, or None.

    Understands signs, exponents, digits grouped by three, a currency sign, a percent sign and
    brackets for negative amounts; ``comma`` for a decimal comma.

    Examples
    --------
    >>> number("1,234.5"), number("$ 3"), number("12 %"), number("(7)"), number("1a")
    (1234.5, 3.0, 12.0, -7.0, None)
    >>> number("1.234,5", comma=True)
    1234.5
    """
    if len(text) > _LONGEST:
        return None

    body = text.strip().replace("\u2212", "-")
    sign = 1.0
    if body.startswith("(") and body.endswith(")"):
        sign = -1.0
        body = body[1:-1]
    # A sign may stand before the currency: -$5.
    if body[:1] == "-" and body[1:2] and body[1] in _CURRENCY:
        sign = -sign
        body = body[1:]

    body = body.strip(_CURRENCY + "% ")
    match = (_GROUPED_COMMA if comma else _GROUPED).fullmatch(body)
    if match:
        body = body.replace(match.group(1), "")

    if comma:
        body = body.replace(",", ".")

    return sign * float(body) if _PLAIN.fullmatch(body) else None


def numbers_in(texts: Sequence[str], *, comma: bool = False) -> FloatArray:
    """The numbers that texts represent; NaN for other texts.

    Of many texts, a sample is tried first: if nine in ten are not numbers, none is parsed.
    """
    values = [number(text, comma=comma) for text in texts[:_TRIED]]
    if len(texts) > 2 * _TRIED and values.count(None) >= 0.9 * _TRIED:
        return np.full(len(texts), np.nan)

    values += [number(text, comma=comma) for text in texts[_TRIED:]]
    return np.array(values, dtype=np.float64)


def dates_in(texts: Sequence[str]) -> tuple[pd.Series, str] | None:
    """Parse texts that are all dates of one format; returns the times and the format in words.

    None if they are not. If two formats fit, month before day comes first.

    Examples
    --------
    >>> moments, form = dates_in(["31/12/1999", "01/01/2000"])
    >>> (moments[1] - moments[0]).days, form
    (1, 'day month year')
    """
    if not texts:
        return None

    first = _date_text(texts[0])
    forms = [date + time for date in _DATES.split(", ") for time in _TIMES]
    # pandas parses ISO dates without a format, and fast.
    for form in ["ISO8601"] * bool(_ISO.match(texts[0])) + forms:
        iso = form == "ISO8601"
        with suppress(ValueError):
            if not iso:
                # Most texts are not dates, and the first one shows it.
                datetime.strptime(first, form)
            plain = texts if iso else [_date_text(text) for text in texts]
            moments = pd.to_datetime(pd.Series(plain), format=form, utc=True)
            letters = [part[1].lower() for part in ("%Y %m %d" if iso else form).split()]
            words = " ".join(_PARTS[letter] for letter in letters if letter in _PARTS)
            return moments.dt.tz_localize(None), words

    return None


def _date_text(text: str) -> str:
    """A date with blanks between its parts; a quarter becomes its first month."""
    body = _BETWEEN.sub(" ", text.removesuffix("Z")).strip()
    match = _QUARTER_OR_MONTH.fullmatch(body)
    if match is None:
        return body

    year, letter, count = match.groups()
    return f"{year} {3 * int(count) - 2 if letter in 'qQ' else int(count)}"


def packed_dates(values: FloatArray) -> pd.Series | None:
    """Parse numbers that are all dates as yyyymmdd, keeping NaN; None if they are not.

    Examples
    --------
    >>> packed_dates(np.array([19991231.0, 20000101.0])).dt.year.tolist()
    [1999, 2000]
    """
    present = values[~np.isnan(values)]
    inside = (present >= _FIRST_DATE) & (present <= _LAST_DATE) & (present == np.floor(present))
    if not present.size or not inside.all():
        return None

    with suppress(ValueError):
        return pd.to_datetime(pd.Series(values).astype("Int64").astype(str), format="%Y%m%d")

    return None


def missing_code(values: FloatArray) -> float | None:
    """The number that stands for a missing value, such as -999; None if there is none.

    It is far below all other values. A code that occurs only once must also exceed all other values
    in size: a single -999 among thousands may be a real value.

    Examples
    --------
    >>> missing_code(np.array([3.0, -999.0, 5.0])), missing_code(np.array([3.0, -999.0, -500.0]))
    (-999.0, None)
    """
    least = np.nanmin(values, initial=np.inf)
    if least not in CODES:
        return None

    others = values[values > least]
    if not others.size or others.min() <= least / 10.0:
        return None

    alone = np.count_nonzero(values == least) == 1
    return None if alone and others.max() >= -least else float(least)
