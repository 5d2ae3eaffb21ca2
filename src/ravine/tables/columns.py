"""One column of a table: what its values are, and whether it only names or numbers the rows."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ravine.arguments import FloatArray, Refusal
from ravine.tables.finding import Finding
from ravine.tables.words import (
    MISSING,
    MISSING_AMONG_NUMBERS,
    NO,
    YES,
    dates_in,
    days_of,
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
_FEW_TEXTS = 10
"""Different texts that are never too many for a category."""


class ColumnKind(StrEnum):
    """What a column holds."""

    NUMBERS = "numbers"
    TRUTH = "truth values"
    DATES = "dates"
    TEXTS = "texts"
    NESTED = "nested"


@dataclass(frozen=True)
class Column:
    """A column whose values are understood.

    Attributes
    ----------
    name, kind
        What it is called, and what it holds.
    values
        Numbers, NaN where missing, or a pandas Categorical of texts; dates are in days.
    """

    name: str
    kind: ColumnKind
    values: Any

    @property
    def rows(self) -> int:
        """Length."""
        return len(self.values)

    @property
    def is_text(self) -> bool:
        """Whether the values are texts."""
        return self.kind is ColumnKind.TEXTS

    @property
    def plain(self) -> npt.NDArray[Any]:
        """Numbers, or codes of texts."""
        return np.asarray(self.values.codes if self.is_text else self.values)

    @property
    def missing(self) -> npt.NDArray[np.bool_]:
        """Where a value is missing."""
        return np.asarray(pd.isna(self.values))

    @property
    def counts(self) -> npt.NDArray[np.intp]:
        """How often each text occurs."""
        codes = self.values.codes
        return np.bincount(codes[codes >= 0], minlength=len(self.values.categories))

    def take(self, keep: npt.NDArray[np.bool_]) -> Column:
        """The same column with some of the rows."""
        return replace(self, values=self.values[keep])


def read_column(
    series: pd.Series, name: str, *, comma: bool = False, levels: bool = False, codes: bool = True
) -> tuple[Column, list[Finding]]:
    """Understand the values of a column; also returns what had to be decided.

    ``comma`` for decimal commas in texts; with ``levels``, texts are levels even if they spell
    numbers; with ``codes``, numbers such as -999 may stand for missing values.
    """
    dtype = series.dtype
    if pd.api.types.is_complex_dtype(dtype):
        value = f"values of type {dtype}"
        raise Refusal(f"column {name!r:.60}", "of real numbers or texts", value, "convert it")
    if isinstance(dtype, pd.PeriodDtype | pd.IntervalDtype):
        series = series.astype(str)
    if _is_truth(series):
        return Column(name, ColumnKind.TRUTH, _floats(series.astype("boolean"))), []
    if pd.api.types.is_numeric_dtype(dtype):
        return _numbers(name, _floats(series), codes)

    if pd.api.types.is_datetime64_any_dtype(dtype):
        days = days_of(pd.to_datetime(series, utc=True).dt.tz_localize(None))
        return _dates(name, days, "")
    if pd.api.types.is_timedelta64_dtype(dtype):
        return _numbers(name, series.dt.total_seconds().to_numpy(), codes)

    nested = (list, dict, tuple, np.ndarray)
    if pd.api.types.is_object_dtype(dtype) and any(isinstance(v, nested) for v in series):
        return Column(name, ColumnKind.NESTED, np.full(len(series), np.nan)), []

    column = Column(name, ColumnKind.TEXTS, _texts(series))
    return (column, []) if levels else _spelled(column, comma, codes)


def _is_truth(series: pd.Series) -> bool:
    if pd.api.types.is_object_dtype(series.dtype):
        return bool(pd.api.types.infer_dtype(series, skipna=True) == "boolean")

    # A category of truth values counts as one, but is a text here.
    is_category = isinstance(series.dtype, pd.CategoricalDtype)
    return bool(pd.api.types.is_bool_dtype(series.dtype)) and not is_category


def _floats(series: pd.Series) -> FloatArray:
    if isinstance(series.dtype, np.dtype):
        return np.asarray(series.to_numpy(), dtype=np.float64)

    return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))


def _texts(series: pd.Series) -> Any:
    """Texts without surplus blanks, missing values marked."""
    if isinstance(series.dtype, pd.CategoricalDtype):
        codes, found = series.cat.codes.to_numpy(), series.cat.categories
    else:
        codes, found = pd.factorize(series.array)

    # One entry more at the end: the code -1 of a missing value points to it.
    table = np.full(len(found) + 1, -1, dtype=np.int32)
    index: dict[str, int] = {}
    for k, value in enumerate(found.tolist()):
        text = " ".join(_text(value).split())
        if text not in MISSING:
            table[k] = index.setdefault(text, len(index))

    return pd.Categorical.from_codes(table[codes], categories=list(index))


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("latin-1")

    return f"{value:.17g}" if isinstance(value, float) else str(value)


def _spelled(column: Column, comma: bool, codes: bool) -> tuple[Column, list[Finding]]:
    """The column as numbers, dates, or yes and no, if its texts spell those."""
    texts = column.values.categories.tolist()
    counts = column.counts
    values = numbers_in(texts, comma=comma)
    spells = ~np.isnan(values)
    blank = np.array([text.lower() in MISSING_AMONG_NUMBERS for text in texts], dtype=bool)
    strange = ~spells & ~blank & (counts > 0)
    others = int(counts[strange].sum())

    if spells.any() and others <= _STRANGE * (counts[spells].sum() + others):
        plain, notes = _numbers(column.name, np.append(values, np.nan)[column.plain], codes)
        if others:
            shown = ", ".join(f"{texts[k]!r:.20}" for k in np.flatnonzero(strange)[:3])
            what = f"column {column.name!r:.60}: {others} entries are not numbers"
            what += f" and count as missing ({shown})"
            remedy = "correct them if they are not missing"
            notes.append(Finding("missing", what, remedy, (column.name,)))

        return plain, notes

    used = [text for text, count in zip(texts, counts, strict=True) if count]
    dates = dates_in(used)
    if dates is not None:
        days = np.full(len(texts) + 1, np.nan)
        days[:-1][counts > 0] = dates[0]
        return _dates(column.name, days[column.plain], f" (read as {dates[1]})")

    folded = [text.lower() for text in used]
    if len(used) > 2 and set(folded) <= YES | NO and not YES.isdisjoint(folded):
        answers = np.array([int(text.lower() in NO) for text in texts] + [-1])[column.plain]
        merged = pd.Categorical.from_codes(answers, categories=["yes", "no"])
        shown = ", ".join(repr(text) for text in used)
        what = f"column {column.name!r:.60}: {shown} were read as 'yes' and 'no'"
        return replace(column, values=merged), [Finding("spelling", what, "", (column.name,))]

    return column, []


def _numbers(name: str, values: FloatArray, codes: bool) -> tuple[Column, list[Finding]]:
    """Numbers; infinite ones and codes such as -999 count as missing."""
    days = packed_dates(values) if "date" in name.lower() else None
    if days is not None:
        return _dates(name, days, " (read as yyyymmdd)")

    notes = []
    # Most columns show by their sum that no value is infinite, without an array of marks.
    total = values.sum()
    if not np.isfinite(total) and np.isinf(values).any():
        what = f"column {name!r:.60}: {np.isinf(values).sum()} infinite values count as missing"
        notes.append(Finding("missing", what, "", (name,)))
        values = np.where(np.isinf(values), np.nan, values)

    code = missing_code(values) if codes else None
    if code is not None:
        count = np.count_nonzero(values == code)
        what = f"column {name!r:.60}: {code:g} was taken for a missing value ({count} times)"
        remedy = "replace the number in the file if it is a value"
        notes.append(Finding("missing", what, remedy, (name,)))
        values = np.where(values == code, np.nan, values)

    return Column(name, ColumnKind.NUMBERS, values), notes


def _dates(name: str, days: FloatArray, read: str) -> tuple[Column, list[Finding]]:
    first = np.nanmin(days, initial=np.inf)
    column = Column(name, ColumnKind.DATES, days - first if np.isfinite(first) else days)
    what = f"column {name!r:.60} has dates: converted to days since the first{read}"

    return column, [Finding("dates", what, "", (name,))]


def is_row_number(column: Column, position: int) -> bool:
    """Whether a column of numbers only numbers the rows.

    It does if it is whole and called so, or an identifier in which no number occurs twice, or the
    first column and 0, 1, 2, ... or 1, 2, 3, ... in order.
    """
    if column.kind is not ColumnKind.NUMBERS or column.rows < 2:
        return False

    name = column.name.strip()
    label = name.lower()
    unnamed = label in _NUMBERING or label.startswith("unnamed: ")
    identifier = label in _IDENTIFIERS or _ENDS_IN_ID.fullmatch(name) is not None
    values = column.values
    counts = bool(values[0] in (0.0, 1.0) and (values[1:3] - values[:-1][:2] == 1.0).all())

    if not (unnamed or identifier or (position == 0 and counts)):
        return False
    if not (values == np.floor(values)).all():
        return False
    if unnamed or identifier:
        return unnamed or len(np.unique(values)) == column.rows

    in_order = column.rows >= _LONG and bool((np.diff(values) == 1.0).all())
    return in_order and label not in _TIMES


def names_rows(column: Column) -> bool:
    """Whether a column of texts names the rows: nearly every row has its own text."""
    used = np.count_nonzero(column.counts)
    if used == column.rows and column.rows > 2:
        return True

    return bool(used > _FEW_TEXTS and used > 0.5 * column.rows)
