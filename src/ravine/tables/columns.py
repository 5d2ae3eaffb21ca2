"""One column of a table: what its values are, whether it numbers the rows or is the target.

A column that was read is a pandas Series. Its type says what it holds: float64 numbers, boolean
truth values, timedelta64 dates (since the first), category texts, object lists and records.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api import types

from ravine.arguments import FloatArray, Refusal, in_words
from ravine.digits import counted
from ravine.tables.table import Finding
from ravine.tables.words import MISSING, dates_in, missing_code, numbers_in, packed_dates

_MISSING_AMONG_NUMBERS = "- -- . .. * none missing unknown na n.a. nd #value!"
"""Words, in lower case, for a missing value in a column of numbers; elsewhere they are levels."""
_YES = {"yes", "y", "true", "t"}
_NO = {"no", "n", "false", "f"}
"""Spellings, in lower case, of the two answers to a question."""
_STRANGE = 0.1
"""Share of words that a column of numbers may have; they count as missing."""
_NUMBERING = "rownames row.names row_names rowname index row rowid row_id #"
"""Names, in lower case, of columns that number the rows."""
_IDENTIFIERS = (
    "id obs observation no no. nr case caseno caseid sample serial sno s.no ident key idnum pid uid"
)
"""Names of columns that are identifiers if no number occurs twice."""
_ENDS_IN_ID = re.compile(r".*([_. ]id|[a-z]I[dD])|.*ID")
_TIMES = "t time trend year day week month quarter period date hour age x tt"
"""Names of columns that may count 1, 2, 3, ... and still carry information."""
_LONG = 10
"""From this many rows on, 0, 1, 2, ... in a first column of any other name numbers the rows."""
_MOST_ANSWERS = 30
"""More different texts than yes and no can be spelled."""
_MOSTLY_MISSING = 0.5
"""Share of missing values from which a column is dropped."""
_FEW_TEXTS = 10
"""A column with this many different texts can always be a category."""
_PLAIN_NAMES = "target y label labels class"
"""Names that can mean nothing else."""
_NAMES = (
    "outcome response survived species diagnosis price saleprice medv quality default churn "
    "charges salary"
)
"""Names, in lower case, of columns that are often the target, in the order they are looked for."""
MOST_LABELS = 20
"""Whole numbers with more different values than this are numbers, not labels."""
_ASIDE = (
    "year date time month quarter day week hour period id subject index group case weight weights"
)
"""Names of columns for a time or an identifier, which are rarely the target."""
ROWS_PER_LABEL = 5
"""Whole numbers are labels only if every value has this many rows: a class that is rarer cannot
be learned."""


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
    return np.asarray(column.value_counts(sort=False))


def as_series(values: Any, name: str, shape: tuple[int, ...]) -> pd.Series:
    """A target or weights, of any kind, as a Series with its own name if it has one."""
    if isinstance(values, pd.DataFrame) and values.shape[1] == 1:
        values = values.iloc[:, 0]
    if not isinstance(values, pd.Series):
        values = np.asarray(values)
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        elif values.ndim == 2 and values.dtype.kind in "fiub":
            # Classes may be one-hot encoded.
            one_hot = ((values == 0) | (values == 1)).all() and (values.sum(axis=1) == 1).all()
            values = values.argmax(axis=1) if one_hot else values

    if values.shape != shape:
        value = f"an array of shape {values.shape}"
        raise Refusal(name, f"of shape {shape}", value, "one value for each row")

    series = pd.Series(values)
    return series.rename(name if series.name is None else series.name)


def read_column(
    series: pd.Series, name: str, notes: list[Finding], comma: bool, levels: bool, codes: bool
) -> pd.Series:
    """Understand the values of a column, and note what had to be decided.

    ``comma`` for decimal commas in texts; with ``levels``, texts are levels even if they look like
    numbers; with ``codes``, numbers such as -999 may stand for missing values.
    """
    if types.is_complex_dtype(series.dtype):
        value = f"values of type {series.dtype}"
        raise Refusal(f"column {name!r:.60}", "of real numbers or texts", value, "convert it")
    if is_nested(series):
        if any(isinstance(value, list | dict | tuple | np.ndarray) for value in series):
            return series
        # Booleans, and numbers with missing values.
        series = series.infer_objects().convert_dtypes()
    if types.is_bool_dtype(series.dtype) and not is_text(series):
        return series.astype("boolean")
    if types.is_numeric_dtype(series.dtype):
        return _numbers(name, series.to_numpy(np.float64, na_value=np.nan), codes, notes)
    if types.is_datetime64_any_dtype(series.dtype):
        return _dates(name, pd.to_datetime(series, utc=True), "", notes)
    if types.is_timedelta64_dtype(series.dtype):
        return _numbers(name, series.dt.total_seconds().to_numpy(), codes, notes)

    texts = _texts(series)
    return texts if levels else _spelled(name, texts, comma, codes, notes)


def _texts(series: pd.Series) -> pd.Series:
    """Texts without extra blanks, in order of appearance, with missing values marked."""
    codes, distinct = pd.factorize(series)
    texts = [" ".join(_text(value).split()) for value in distinct.tolist()]
    present = np.array([None if text in MISSING else text for text in texts], dtype=object)
    merged, categories = pd.factorize(present)
    # The code -1 of a missing value points to the entry at the end.
    return pd.Series(pd.Categorical.from_codes(np.append(merged, -1)[codes], categories))


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("latin-1")

    return f"{value:.17g}" if isinstance(value, float) else str(value)


def _spelled(
    name: str, column: pd.Series, comma: bool, codes: bool, notes: list[Finding]
) -> pd.Series:
    """A column of texts as numbers, dates, or yes and no, if the texts represent those."""
    texts = column.cat.categories.tolist()
    often = counts(column)
    values = numbers_in(texts, comma=comma)
    spells = ~np.isnan(values)
    blank = _MISSING_AMONG_NUMBERS.split()
    words = [k for k in np.flatnonzero(~spells) if texts[k].lower() not in blank]
    others = int(often[words].sum())
    if spells.any() and others <= _STRANGE * (often[spells].sum() + others):
        numbers = _numbers(name, np.append(values, np.nan)[plain(column)], codes, notes)
        if others:
            shown = ", ".join(f"{texts[k]!r:.20}" for k in words[:3])
            what = f"what is not a number counts as missing ({counted(others, 'time')}: {shown})"
            notes.append(_note("missing", name, what, "correct the file if they are not missing"))

        return numbers

    dates = dates_in(texts)
    if dates is not None:
        moments, form = dates
        return _dates(name, moments.reindex(plain(column)), f" (read as {form})", notes)

    folded = {text.lower() for text in texts[:_MOST_ANSWERS]}
    if 2 < len(texts) < _MOST_ANSWERS and folded <= _YES | _NO and _YES & folded:
        what = f"{', '.join(repr(text) for text in texts)} were read as 'yes' and 'no'"
        notes.append(_note("spelling", name, what))
        merged = column.map(lambda x: "no" if x.lower() in _NO else "yes", na_action="ignore")
        return merged.astype(pd.CategoricalDtype(["yes", "no"]))

    return column


def _numbers(name: str, values: FloatArray, codes: bool, notes: list[Finding]) -> pd.Series:
    """Numbers; infinite ones and codes such as -999 count as missing."""
    moments = packed_dates(values) if "date" in name.lower() else None
    if moments is not None:
        return _dates(name, moments, " (read as yyyymmdd)", notes)

    infinite = np.isinf(values)
    if infinite.any():
        what = f"infinite values count as missing ({counted(infinite.sum(), 'time')})"
        notes.append(_note("missing", name, what))
        values = np.where(infinite, np.nan, values)

    code = missing_code(values) if codes else None
    if code is not None:
        what = f"{code:g} was read as a missing value ({counted(np.sum(values == code), 'time')})"
        notes.append(
            _note("missing", name, what, "replace the number in the file if it is a value")
        )
        values = np.where(values == code, np.nan, values)

    return pd.Series(values, copy=False)


def _dates(name: str, moments: pd.Series, read: str, notes: list[Finding]) -> pd.Series:
    what = f"column {name!r:.60} has dates: converted to days since the first{read}"
    notes.append(Finding("dates", what, "", (name,)))
    return (moments - moments.min()).reset_index(drop=True)


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
    values = column.to_numpy()
    unnamed = not label or label in _NUMBERING.split() or label.startswith("unnamed: ")
    identifier = label in _IDENTIFIERS.split() or _ENDS_IN_ID.fullmatch(name.strip()) is not None
    first = position == 0 and label not in _TIMES.split() and len(values) >= _LONG
    counting = first and values[0] in (0.0, 1.0) and (np.diff(values) == 1.0).all()
    numbering = unnamed or (identifier and column.is_unique) or counting
    return bool(numbering and (values == np.floor(values)).all())


def names_rows(column: pd.Series) -> bool:
    """Whether a column of texts names the rows: nearly every row has its own text."""
    if not is_text(column):
        return False

    used, rows = column.nunique(), len(column)
    return bool(used == rows > 2 or used > max(_FEW_TEXTS, 0.5 * rows))


def flaw(name: str, column: pd.Series, position: int) -> str:
    """Why a column carries no information: nested, names, index, missing; empty if it does."""
    if is_nested(column):
        return "nested"
    if names_rows(column):
        return "names"
    if is_row_number(name, column, position):
        return "index"

    return "missing" if column.isna().mean() > _MOSTLY_MISSING else ""


class TargetKind(StrEnum):
    """Kind of values of a target: numbers or labels."""

    NUMBERS = "numbers"
    LABELS = "labels"


def target_kind(y: npt.ArrayLike) -> TargetKind:
    """Tell whether a target has numbers, for a regression, or labels, for a classification.

    Texts and truth values are labels. Numbers are labels if they are whole and either there are
    two of them, or they are codes: at most 20 values without a gap between the least (0 or 1) and
    the largest, each in five rows or more. Counts have rare large values, so they stay numbers.

    Parameters
    ----------
    y
        The target, one value for each row.

    Returns
    -------
    TargetKind
        ``"numbers"`` or ``"labels"``.

    Examples
    --------
    >>> target_kind(["a", "b", "a"]).value, target_kind([0, 1, 1]).value
    ('labels', 'labels')
    >>> target_kind([0.5, 1.5]).value, target_kind([1947, 1948, 1949]).value
    ('numbers', 'numbers')
    """
    values = np.asarray(y)
    if values.dtype.kind not in "fiu":
        return TargetKind.LABELS

    different, rows = np.unique(values[np.isfinite(values)], return_counts=True)
    count = len(different)
    few = 2 < count <= MOST_LABELS and rows.min() >= ROWS_PER_LABEL
    codes = few and different[0] in (0, 1) and different[-1] - different[0] == count - 1
    labels = (count <= 2 or codes) and not (different % 1).any()
    return TargetKind.LABELS if labels else TargetKind.NUMBERS


def pick(names: Sequence[str], wanted: str | int, option: str) -> str:
    """The column with a name, or with a number counted from 0 or backwards."""
    text = str(wanted)
    same = [name for name in names if name.lower() == text.lower()]
    if text in names:
        return text
    if len(same) == 1:
        return same[0]
    if text.lstrip("-").isdigit() and -len(names) <= int(text) < len(names):
        return names[int(text)]

    shown = ", ".join(f"{name:.40}" for name in names[:8]) + (", ..." if len(names) > 8 else "")
    raise Refusal(option, f"one of the columns {shown}", in_words(wanted), "choose one")


def infer_target(columns: Mapping[str, pd.Series], most_classes: int) -> tuple[str, Finding]:
    """The target if none was given: a column with a common name, else the last that can be one."""
    if not columns:
        raise Refusal("DATA", "two columns or more", 1, "a target is needed")

    names = list(columns)
    folded = {name.strip().lower(): name for name in reversed(names)}
    if {"x", "y", "z"} <= folded.keys():
        # Here y is a coordinate.
        del folded["y"]

    # If no column can be a target, the last one is taken, and checked later.
    likely = [
        name
        for k, (name, column) in enumerate(columns.items())
        if _can_be_target(name, column, k, most_classes)
    ] or names[-1:]
    # A column called target is the target; problems with it are reported later.
    meant = [folded[x] for x in _PLAIN_NAMES.split() if x in folded]
    meant += [folded[x] for x in _NAMES.split() if folded.get(x) in likely]
    ordinary = [name for name in likely if name.strip().lower() not in _ASIDE.split()] or likely
    target = meant[0] if meant else ordinary[-1]
    why = "the last column" if target == names[-1] else "the last column that can be one"
    what = f"the target is {target!r:.60} ({'guessed from its name' if meant else why})"
    return target, Finding("target", what, "use --target to change it", (target,))


def _can_be_target(name: str, column: pd.Series, position: int, most_classes: int) -> bool:
    if flaw(name, column, position) or types.is_timedelta64_dtype(column.dtype):
        return False
    if is_text(column):
        return bool(2 <= column.nunique() <= most_classes)

    return bool(column.min() < column.max())
