"""Words for missing values, numbers with units and separators, and dates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

import numpy as np

from ravine.arguments import FloatArray

MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "NAN", "null", "NULL", "?", "#N/A", "<NA>")
"""Words for a missing value in every column."""

MISSING_AMONG_NUMBERS = frozenset(
    {"-", "--", ".", "..", "*", "none", "missing", "unknown", "na", "n.a.", "nd", "#value!"}
)
"""Words, in lower case, for a missing value in a column of numbers; in one of texts they are
texts."""

_MISSING = frozenset(MISSING)
_LONGEST = 60
"""Characters of a number; float64 takes 24 to be written."""
_CURRENCY = "$€£¥₹"
_PLAIN = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
# Groups of three digits, all with the same mark: 1,234,567.8 or 1 234 567.8.
_GROUPED = re.compile(r"[+-]?\d{1,3}([,' \u00a0\u202f])\d{3}(\1\d{3})*(\.\d+)?")
_GROUPED_COMMA = re.compile(r"[+-]?\d{1,3}([.' \u00a0\u202f])\d{3}(\1\d{3})*(,\d+)?")
_DATES = (
    "%Y %m %d", "%m %d %Y", "%d %m %Y", "%m %d %y", "%d %m %y", "%b %d %Y", "%B %d %Y",
    "%d %b %Y", "%d %B %Y", "%d %b %y", "%Y %b %d", "%b %Y", "%B %Y", "%b %y", "%Y %b", "%Y %m",
)  # fmt: skip
"""Forms of dates, after everything between their parts has become a blank."""
_TIMES = ("", " %H:%M:%S", " %H:%M", " %H:%M:%S %f")
_QUARTER = re.compile(r"(\d{4}) ?[qQ]([1-4])")
_MONTH = re.compile(r"(\d{4}) ?[mM](\d{1,2})")
_FIRST_DATE = 17_000_101
_LAST_DATE = 22_001_231
"""Whole numbers between these may be dates as yyyymmdd."""
_TRIED = 50
"""Texts that a form of dates is tried on before all of them are read by it."""
_EPOCH = datetime(1970, 1, 1)


def is_missing(text: str) -> bool:
    """Whether a text stands for a missing value in a column of any kind."""
    return text in _MISSING


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
    grouped = _GROUPED_COMMA if comma else _GROUPED
    match = grouped.fullmatch(body)
    if match:
        body = body.replace(match.group(1), "")

    if comma:
        body = body.replace(",", ".")
    if not _PLAIN.fullmatch(body):
        return sign * float(body) if body.lower() in ("inf", "-inf", "+inf") else None

    return sign * float(body)


def numbers_in(texts: Sequence[str], *, comma: bool = False) -> FloatArray:
    """The numbers that texts spell, NaN for those that spell none."""
    values = np.full(len(texts), np.nan)
    for k, text in enumerate(texts):
        value = number(text, comma=comma)
        if value is not None:
            values[k] = value

    return values


def dates_in(texts: Sequence[str]) -> tuple[FloatArray, str] | None:
    """Days since 1970 of texts that are all dates of one form, with the form; None otherwise.

    Of two forms that fit, month before day comes first.

    Examples
    --------
    >>> days, form = dates_in(["31/12/1999", "01/01/2000"])
    >>> days[1] - days[0], form
    (np.float64(1.0), '%d %m %Y')
    """
    plain = [_date_text(text) for text in texts]
    for form in (date + time for date in _DATES for time in _TIMES):
        if all(_days(text, form) is not None for text in plain[:_TRIED]):
            days = [_days(text, form) for text in plain]
            if all(day is not None for day in days):
                return np.array(days, dtype=np.float64), form

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

    year, rest = np.divmod(present.astype(np.int64), 10_000)
    month, day = np.divmod(rest, 100)
    if not ((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)).all():
        return None

    first = (12 * (year - 1970) + month - 1).astype("datetime64[M]").astype("datetime64[D]")
    days = np.full(len(values), np.nan)
    days[~np.isnan(values)] = first.astype(np.int64) + day - 1

    return days


def _days(text: str, form: str) -> float | None:
    try:
        moment = datetime.strptime(text, form).replace(tzinfo=None)
    except ValueError:
        return None

    return (moment - _EPOCH).total_seconds() / 86_400.0
