"""One column of a table: what its values are, and whether it only names or numbers the rows.

A column that was read is a pandas Series. Its type says what it holds: float64 numbers, boolean
truth values, timedelta64 dates (since the first), category texts, object lists and records.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api import types

from ravine.arguments import FloatArray, Refusal
from ravine.tables.table import Finding
from ravine.tables.words import (
    MISSING,
    MISSING_AMONG_NUMBERS,
    NO,
    YES,
    dates_in,
    missing_code,
    numbers_in,
    packed_dates,
)

_STRANGE = 0.1
"""Share of words that a column of numbers may have; they count as missing."""
_NUMBERING = frozenset(
    {"", "rownames", "row.names", "row_names", "rowname", "index", "row", "rowid", "row_id", "#"}
)
"""Names, in lower case, of columns that number the rows."""
_IDENTIFIERS = frozenset(
    {"id", "obs", "observation", "no", "no.", "nr", "case", "caseno", "caseid", "sample", "serial",
     "sno", "s.no", "ident", "key", "idnum", "pid", "uid"}
)  # fmt: skip
"""Names of columns that are identifiers if no number occurs twice."""
_ENDS_IN_ID = re.compile(r".*([_. ]id|[a-z]I[dD])|.*ID")
_TIMES = frozenset(
    {"t", "time", "trend", "year", "day", "week", "month", "quarter", "period", "date", "hour",
     "age", "x", "tt"}
)  # fmt: skip
"""Names of columns that may count 1, 2, 3, ... and still carry information."""
_LONG = 10
"""From this many rows on, 0, 1, 2, ... in a first column of any other name numbers the rows."""
_MOST_ANSWERS = 30
"""Different spellings of yes and no, by far."""
_FEW_TEXTS = 10
"""Different texts that are never too many for a category."""


def is_text(column: pd.Series) -> bool:
    """Whether a column that was read holds texts."""
    return isinstance(column.dtype, pd.CategoricalDtype)


def is_nested(column: pd.Series) -> bool:
    """Whether a column that was read holds lists or records."""
    return bool(types.is_object_dtype(column.dtype))


def is_number(column: pd.Series) -> bool:
    """Whether a column that was read holds numbers."""
    return bool(column.dtype == np.float64)


def plain(column: pd.Series) -> npt.NDArray[np.float64 | np.intp]:
    """The numbers of a column that was read: codes of texts, days of dates."""
    if is_text(column):
        return np.asarray(column.cat.codes, dtype=np.intp)
    if types.is_timedelta64_dtype(column.dtype):
        return np.asarray(column / pd.Timedelta(days=1))

    return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))


def counts(column: pd.Series) -> npt.NDArray[np.intp]:
    """How often each text of a column occurs."""
    codes = plain(column)
    return np.bincount(codes[codes >= 0], minlength=len(column.cat.categories))


def read_column(
    series: pd.Series, name: str, *, comma: bool = False, levels: bool = False, codes: bool = True
) -> tuple[pd.Series, list[Finding]]:
    """Understand the values of a column; also returns what had to be decided.

    ``comma`` for decimal commas in texts; with ``levels``, texts are levels even if they spell
    numbers; with ``codes``, numbers such as -999 may stand for missing values.
    """
    dtype = series.dtype
    if types.is_complex_dtype(dtype):
        value = f"values of type {dtype}"
        raise Refusal(f"column {name!r:.60}", "of real numbers or texts", value, "convert it")
    if isinstance(dtype, pd.PeriodDtype | pd.IntervalDtype):
        series = series.astype(str)
    elif types.is_object_dtype(dtype):
        if any(isinstance(value, list | dict | tuple | np.ndarray) for value in series):
            return series, []
        # Truth values with gaps.
        if types.infer_dtype(series, skipna=True) == "boolean":
            series = series.astype("boolean")
    if not isinstance(dtype, pd.CategoricalDtype):
        if types.is_bool_dtype(series.dtype):
            return series.astype("boolean"), []
        if types.is_numeric_dtype(dtype):
            values = series.to_numpy(dtype=np.float64, na_value=np.nan)
            return _numbers(name, values, codes)
        if types.is_datetime64_any_dtype(dtype):
            return _dates(name, pd.to_datetime(series, utc=True), "")
        if types.is_timedelta64_dtype(dtype):
            return _numbers(name, series.dt.total_seconds().to_numpy(), codes)

    texts = _texts(series)
    return (texts, []) if levels else _spelled(name, texts, comma, codes)


def _texts(series: pd.Series) -> pd.Series:
    """Texts without surplus blanks, missing values marked."""
    if isinstance(series.dtype, pd.CategoricalDtype):
        used = series.cat.remove_unused_categories()
        codes, found = used.cat.codes.to_numpy(), used.cat.categories
    else:
        codes, found = pd.factorize(series)

    texts = [" ".join(_text(value).split()) for value in found.tolist()]
    present = np.array([None if text in MISSING else text for text in texts], dtype=object)
    merged, categories = pd.factorize(present)
    # The code -1 of a missing value points to the entry at the end.
    return pd.Series(pd.Categorical.from_codes(np.append(merged, -1)[codes], categories))


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("latin-1")

    return f"{value:.17g}" if isinstance(value, float) else str(value)


def _spelled(
    name: str, column: pd.Series, comma: bool, codes: bool
) -> tuple[pd.Series, list[Finding]]:
    """A column of texts as numbers, dates, or yes and no, if the texts spell those."""
    texts = column.cat.categories.tolist()
    often = counts(column)
    values = numbers_in(texts, comma=comma)
    spells = ~np.isnan(values)
    if spells.any():
        blank = [text.lower() in MISSING_AMONG_NUMBERS for text in texts]
        strange = np.flatnonzero(~spells & ~np.array(blank))
        others = int(often[strange].sum())
        if others <= _STRANGE * (often[spells].sum() + others):
            numbers, notes = _numbers(name, np.append(values, np.nan)[plain(column)], codes)
            if others:
                shown = ", ".join(f"{texts[k]!r:.20}" for k in strange[:3])
                what = f"{others} entries are not numbers and count as missing ({shown})"
                notes.append(_note("missing", name, what, "correct them if they are not missing"))

            return numbers, notes

    dates = dates_in(texts)
    if dates is not None:
        moments, form = dates
        return _dates(name, moments.reindex(plain(column)), f" (read as {form})")

    folded = {text.lower() for text in texts[:_MOST_ANSWERS]}
    if 2 < len(texts) < _MOST_ANSWERS and folded <= YES | NO and not YES.isdisjoint(folded):
        answers = np.array([int(text.lower() in NO) for text in texts] + [-1])[plain(column)]
        merged = pd.Categorical.from_codes(answers, categories=["yes", "no"])
        what = f"{', '.join(repr(text) for text in texts)} were read as 'yes' and 'no'"
        return pd.Series(merged), [_note("spelling", name, what)]

    return column, []


def _numbers(name: str, values: FloatArray, codes: bool) -> tuple[pd.Series, list[Finding]]:
    """Numbers; infinite ones and codes such as -999 count as missing."""
    moments = packed_dates(values) if "date" in name.lower() else None
    if moments is not None:
        return _dates(name, moments, " (read as yyyymmdd)")

    notes = []
    # Most columns show by their sum that no value is infinite, without an array of marks.
    if not np.isfinite(values.sum()) and np.isinf(values).any():
        what = f"{np.isinf(values).sum()} infinite values count as missing"
        notes.append(_note("missing", name, what))
        values = np.where(np.isinf(values), np.nan, values)

    code = missing_code(values) if codes else None
    if code is not None:
        what = f"{code:g} was taken for a missing value ({np.sum(values == code)} times)"
        remedy = "replace the number in the file if it is a value"
        notes.append(_note("missing", name, what, remedy))
        values = np.where(values == code, np.nan, values)

    return pd.Series(values, copy=False), notes


def _dates(name: str, moments: pd.Series, read: str) -> tuple[pd.Series, list[Finding]]:
    what = f"column {name!r:.60} has dates: converted to days since the first{read}"
    since = (moments - moments.min()).reset_index(drop=True)
    return since, [Finding("dates", what, "", (name,))]


def _note(kind: str, name: str, what: str, remedy: str = "") -> Finding:
    return Finding(kind, f"column {name!r:.60}: {what}", remedy, (name,))


def is_row_number(name: str, column: pd.Series, position: int) -> bool:
    """Whether a column of numbers only numbers the rows.

    It does if it is whole and called so, or an identifier in which no number occurs twice, or the
    first column and 0, 1, 2, ... or 1, 2, 3, ... in order.
    """
    if not is_number(column) or len(column) < 2:
        return False

    label = name.strip().lower()
    unnamed = label in _NUMBERING or label.startswith("unnamed: ")
    identifier = label in _IDENTIFIERS or _ENDS_IN_ID.fullmatch(name.strip()) is not None
    values = column.to_numpy()
    # The first rows of most columns show that they do not count.
    start = values[:3] - values[0]
    counting = position == 0 and values[0] in (0.0, 1.0) and (start == np.arange(len(start))).all()
    if not (unnamed or identifier or counting) or (values != np.floor(values)).any():
        return False
    if unnamed or identifier:
        return unnamed or len(np.unique(values)) == len(values)

    in_order = len(values) >= _LONG and bool((np.diff(values) == 1.0).all())
    return in_order and label not in _TIMES


def names_rows(column: pd.Series) -> bool:
    """Whether a column of texts names the rows: nearly every row has its own text."""
    if not is_text(column):
        return False

    used = np.count_nonzero(counts(column))
    own = used == len(column) and len(column) > 2
    return bool(own or (used > _FEW_TEXTS and used > 0.5 * len(column)))
