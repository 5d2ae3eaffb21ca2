"""Numbers with units, dates, and words for missing values and for yes and no."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

import numpy as np
import pandas as pd

from ravine.arguments import FloatArray

MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "NAN", "null", "NULL", "?", "#N/A", "<NA>")
"""Words for a missing value in every column."""

MISSING_AMONG_NUMBERS = frozenset(
    {"-", "--", ".", "..", "*", "none", "missing", "unknown", "na", "n.a.", "nd", "#value!"}
)
"""Words, in lower case, for a missing value in a column of numbers; elsewhere they are levels."""

YES = frozenset({"yes", "y", "true", "t"})
NO = frozenset({"no", "n", "false", "f"})
"""Spellings, in lower case, of the two answers to a question."""

CODES = (-999.0, -9999.0, -99999.0)
"""Numbers that often stand for a missing value."""

_LONGEST = 60
"""Characters of a number; a float64 takes 24."""
_CURRENCY = "$€£¥₹"
_PLAIN = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
# Groups of three digits, all with the same mark: 1,234,567.8 or 1 234 567.8.
_GROUPED = re.compile(r"[+-]?\d{1,3}([,' \u00a0\u202f])\d{3}(\1\d{3})*(\.\d+)?")
_GROUPED_COMMA = re.compile(r"[+-]?\d{1,3}([.' \u00a0\u202f])\d{3}(\1\d{3})*(,\d+)?")
_DATES = (
    "%Y %m %d", "%m %d %Y", "%d %m %Y", "%m %d %y", "%d %m %y", "%b %d %Y", "%B %d %Y",
    "%d %b %Y", "%d %B %Y", "%d %b %y", "%Y %b %d", "%b %Y", "%B %Y", "%b %y", "%Y %b", "%Y %m",
)  # fmt: skip
"""Formats of dates, after everything between their parts has become a blank."""
_TIMES = ("", " %H:%M:%S", " %H:%M", " %H:%M:%S %f")
_PARTS = {"%Y": "year", "%y": "year", "%m": "month", "%b": "month", "%B": "month", "%d": "day",
          "%H:%M:%S": "time", "%H:%M": "time", " %f": ""}  # fmt: skip
_ISO = re.compile(r"\d{4}-\d\d-\d\d")
"""The start of dates that pandas parses without a format, and fast."""
_QUARTER = re.compile(r"(\d{4}) ?[qQ]([1-4])")
_MONTH = re.compile(r"(\d{4}) ?[mM](\d{1,2})")
_FIRST_DATE = 17_000_101
_LAST_DATE = 22_001_231
"""Whole numbers between these may be dates as yyyymmdd."""
_TRIED = 1000
"""Texts that are tried before all of many are parsed."""


def number(text: str, *, comma: bool = False) -> float | None:
    """The number that a text spells, None if it spells none.

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
    if not _PLAIN.fullmatch(body):
        return sign * float(body) if body.lower() in ("inf", "-inf", "+inf") else None

    return sign * float(body)


def numbers_in(texts: Sequence[str], *, comma: bool = False) -> FloatArray:
    """The numbers that texts spell, NaN for those that spell none.

    Of many texts, some are tried first: if nine in ten of these spell none, none does.
    """
    values = np.full(len(texts), np.nan)
    few = len(texts) <= 2 * _TRIED
    if few or np.isnan(numbers_in(texts[:_TRIED], comma=comma)).mean() < 0.9:
        for k, text in enumerate(texts):
            value = number(text, comma=comma)
            values[k] = np.nan if value is None else value

    return values


def dates_in(texts: Sequence[str]) -> tuple[FloatArray, str] | None:
    """Days since 1970 of texts that are all dates of one format, and the format in words.

    None if they are not. If two formats fit, month before day comes first.

    Examples
    --------
    >>> days, form = dates_in(["31/12/1999", "01/01/2000"])
    >>> days[1] - days[0], form
    (np.float64(1.0), 'day month year')
    """
    if texts and _ISO.match(texts[0]):
        try:
            moments = pd.to_datetime(pd.Series(texts), format="ISO8601", utc=True)
            return days_of(moments.dt.tz_localize(None)), "year month day"
        except ValueError:
            pass

    plain = [_date_text(text) for text in texts]
    for form in (date + time for date in _DATES for time in _TIMES):
        try:
            # The first one is cheap to try, and decides in most cases.
            datetime.strptime(plain[0], form)
            moments = pd.to_datetime(pd.Series(plain), format=form)
        except (ValueError, IndexError):
            continue

        for part, word in _PARTS.items():
            form = form.replace(part, word)

        return days_of(moments), form

    return None


def _date_text(text: str) -> str:
    """A date with blanks between its parts, quarters as their first months."""
    body = re.sub(r"(?<=\d)T(?=\d)|[-/.,\s]+", " ", text.removesuffix("Z")).strip()
    quarter = _QUARTER.fullmatch(body)
    if quarter:
        return f"{quarter.group(1)} {3 * int(quarter.group(2)) - 2}"

    month = _MONTH.fullmatch(body)
    return f"{month.group(1)} {month.group(2)}" if month else body


def packed_dates(values: FloatArray) -> FloatArray | None:
    """Days since 1970 of numbers that are all dates as yyyymmdd, NaN kept; None otherwise.

    Examples
    --------
    >>> packed_dates(np.array([19991231.0, 20000101.0]))
    array([10956., 10957.])
    """
    present = values[~np.isnan(values)]
    inside = (present >= _FIRST_DATE) & (present <= _LAST_DATE) & (present == np.floor(present))
    if not present.size or not inside.all():
        return None

    try:
        moments = pd.to_datetime(pd.Series(present.astype(np.int64).astype(str)), format="%Y%m%d")
    except ValueError:
        return None

    days = np.full(len(values), np.nan)
    days[~np.isnan(values)] = days_of(moments)
    return days


def days_of(moments: pd.Series) -> FloatArray:
    """Days since 1970 of moments, NaN where one is missing."""
    days: FloatArray = ((moments - pd.Timestamp(0)) / pd.Timedelta(days=1)).to_numpy()
    return days


def missing_code(values: FloatArray) -> float | None:
    """The number that stands for a missing value, such as -999; None if there is none.

    It is far below all other values. A code that occurs once must also be larger in size than
    all other values: a single -999 among thousands may be meant.

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
