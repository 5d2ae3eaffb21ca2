"""One column of a table: its values, and whether it numbers the rows or is the target."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ravine.arguments import FloatArray, Refusal, in_words
from ravine.digits import counted
from ravine.tables.table import Finding, Raw
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
"""A column with more different texts than this cannot be yes and no."""
_MOSTLY_MISSING = 0.5
"""Share of missing values from which a column is dropped."""
_FEW_TEXTS = 10
"""A column with this many different texts can always be a category."""
_PLAIN_NAMES = "target y label labels class"
"""Names that always mean the target."""
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


class Column:
    """A column of a table; its constructor interprets the values.

    Texts are read as numbers or dates if they represent those, unless they are levels of a
    category. In a frame, numbers such as -999 may stand for missing values.

    Attributes
    ----------
    kind
        "number", "truth", "date", "text" or "nested".
    values
        The numbers, codes of the texts, or days since the first date; NaN where one is missing.
    texts
        The different texts in order of appearance.
    notes
        Decisions about the column.
    """

    kind: str
    values: FloatArray

    def __init__(self, name: str, series: pd.Series, raw: Raw) -> None:
        self.name = name
        self.texts: list[str] = []
        self.notes: list[Finding] = []
        if series.dtype == object:
            if any(isinstance(value, list | dict | tuple | np.ndarray) for value in series):
                self.kind, self.values = "nested", np.where(series.isna(), np.nan, 0.0)
                return
            # Booleans, and numbers with missing values.
            series = series.infer_objects().convert_dtypes()

        codes = isinstance(raw.data, pd.DataFrame)
        match series.dtype.kind:
            case "c":
                rule, value = "of real numbers or texts", f"values of type {series.dtype}"
                raise Refusal(f"column {name!r:.60}", rule, value, "convert it")
            case "b":
                self.kind = "truth"
                self.values = series.to_numpy(np.float64, na_value=np.nan)
            case "i" | "u" | "f":
                self._take_numbers(series.to_numpy(np.float64, na_value=np.nan), codes)
            case "M":
                self._take_dates(pd.to_datetime(series, utc=True))
            case "m":
                self._take_numbers(series.dt.total_seconds().to_numpy(), codes)
            case _:
                levels = isinstance(series.dtype, pd.CategoricalDtype) and name not in raw.texts
                self._take_texts(series, raw.comma, levels, codes)

    @property
    def counts(self) -> npt.NDArray[np.intp]:
        """How often each text occurs."""
        codes = self.values[~np.isnan(self.values)].astype(np.intp)
        return np.bincount(codes, minlength=len(self.texts))

    def varies(self, rows: Any = ...) -> bool:
        """Whether some rows, in which none is missing, have two different values."""
        values = self.values[rows]
        return bool((values != values[:1]).any())

    def fill(self) -> None:
        """Replace missing values by the median or the most frequent text."""
        typical = self.counts.argmax() if self.kind == "text" else np.nanmedian(self.values)
        self.values = np.where(np.isnan(self.values), typical, self.values)

    def _note(self, kind: str, what: str, remedy: str = "") -> None:
        message = f"column {self.name!r:.60}: {what}"
        self.notes.append(Finding(kind, message, remedy, (self.name,)))

    def _take_numbers(self, values: FloatArray, codes: bool) -> None:
        """Numbers; infinite ones and codes such as -999 count as missing."""
        moments = packed_dates(values) if "date" in self.name.lower() else None
        if moments is not None:
            self._take_dates(moments, " (read as yyyymmdd)")
            return

        infinite = np.isinf(values)
        if infinite.any():
            times = counted(infinite.sum(), "time")
            self._note("missing", f"infinite values count as missing ({times})")
            values = np.where(infinite, np.nan, values)

        code = missing_code(values) if codes else None
        if code is not None:
            times = counted(np.sum(values == code), "time")
            remedy = "replace the number in the file if it is a value"
            self._note("missing", f"{code:g} was read as a missing value ({times})", remedy)
            values = np.where(values == code, np.nan, values)

        self.kind, self.values = "number", values

    def _take_dates(self, moments: pd.Series, read: str = "") -> None:
        what = f"column {self.name!r:.60} has dates: converted to days since the first{read}"
        self.notes.append(Finding("dates", what, "", (self.name,)))
        days = (moments - moments.min()) / pd.Timedelta(days=1)
        self.kind, self.values = "date", days.to_numpy()

    def _take_texts(self, series: pd.Series, comma: bool, levels: bool, codes: bool) -> None:
        """Texts without extra blanks, or the numbers, dates, or yes and no that they represent."""
        numbering, distinct = pd.factorize(series)
        texts = [" ".join(_text(value).split()) for value in distinct.tolist()]
        present = np.array([None if text in MISSING else text for text in texts], dtype=object)
        merged, categories = pd.factorize(present)
        # The code -1 of a missing value points to the entry at the end.
        which = np.append(merged, -1)[numbering]
        self.texts = categories.tolist()
        self.kind, self.values = "text", np.where(which < 0, np.nan, which)
        if levels or self._spell_numbers(which, comma, codes):
            return

        dates = dates_in(self.texts)
        if dates is not None:
            moments, form = dates
            self._take_dates(moments.reindex(which), f" (read as {form})")
            return

        folded = [text.lower() for text in self.texts[:_MOST_ANSWERS]]
        answers = set(folded)
        if 2 < len(folded) < _MOST_ANSWERS and answers <= _YES | _NO and _YES & answers:
            what = f"{', '.join(map(repr, self.texts))} were read as 'yes' and 'no'"
            self._note("spelling", what)
            self.texts = ["yes", "no"]
            self.values = np.append([text in _NO for text in folded], np.nan)[which]

    def _spell_numbers(self, which: npt.NDArray[np.intp], comma: bool, codes: bool) -> bool:
        """Read the texts as numbers if nearly all of them are."""
        often = self.counts
        values = numbers_in(self.texts, comma=comma)
        spells = ~np.isnan(values)
        blank = _MISSING_AMONG_NUMBERS.split()
        words = [k for k in np.flatnonzero(~spells) if self.texts[k].lower() not in blank]
        others = int(often[words].sum())
        if not spells.any() or others > _STRANGE * (often[spells].sum() + others):
            return False

        self._take_numbers(np.append(values, np.nan)[which], codes)
        if others:
            shown = ", ".join(f"{self.texts[k]!r:.20}" for k in words[:3])
            what = f"what is not a number counts as missing ({counted(others, 'time')}: {shown})"
            self._note("missing", what, "correct the file if they are not missing")

        return True

    def numbers_rows(self, position: int) -> bool:
        """Whether a column of numbers only numbers the rows.

        It does if its numbers are whole and it has such a name, or is an identifier without
        repeated numbers, or is the first column and counts 0, 1, 2, ... or 1, 2, 3, ... in order.
        """
        values = self.values
        if self.kind != "number" or len(values) < 2:
            return False

        label = self.name.strip().lower()
        unnamed = not label or label in _NUMBERING.split() or label.startswith("unnamed: ")
        identifier = label in _IDENTIFIERS.split() or _ENDS_IN_ID.fullmatch(self.name.strip())
        first = position == 0 and label not in _TIMES.split() and len(values) >= _LONG
        counting = first and values[0] in (0.0, 1.0) and (np.diff(values) == 1.0).all()
        unique = identifier and len(np.unique(values)) == len(values)
        return bool((unnamed or unique or counting) and (values == np.floor(values)).all())

    def flaw(self, position: int) -> str:
        """Why it has no information: nested, names, index, missing; empty if it has some.

        Texts name the rows if nearly every row has a different one.
        """
        used, rows = len(self.texts), len(self.values)
        if self.kind == "nested":
            return "nested"
        if self.kind == "text" and (used == rows > 2 or used > max(_FEW_TEXTS, 0.5 * rows)):
            return "names"
        if self.numbers_rows(position):
            return "index"

        return "missing" if np.isnan(self.values).mean() > _MOSTLY_MISSING else ""

    def can_be_target(self, position: int, most_classes: int) -> bool:
        """Whether it can be a target, of a regression or a classification."""
        if self.flaw(position) or self.kind == "date":
            return False
        if self.kind == "text":
            return 2 <= len(self.texts) <= most_classes

        return bool(np.nanmin(self.values) < np.nanmax(self.values))


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("latin-1")

    return f"{value:.17g}" if isinstance(value, float) else str(value)


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


def infer_target(columns: Mapping[str, Column], most_classes: int) -> tuple[str, Finding]:
    """The target if none was given: a column with a common name, else the last that can be one."""
    if not columns:
        raise Refusal("DATA", "two columns or more", 1, "a target is needed")

    names = list(columns)
    folded = {name.strip().lower(): name for name in reversed(names)}
    if {"x", "y", "z"} <= folded.keys():
        # Here y is a coordinate.
        del folded["y"]

    # If no column can be a target, the last one is taken, and checked later.
    fits = (column.can_be_target(k, most_classes) for k, column in enumerate(columns.values()))
    likely = list(compress(names, fits)) or names[-1:]
    # A column called target is the target; problems with it are reported later.
    meant = [folded[x] for x in _PLAIN_NAMES.split() if x in folded]
    meant += [folded[x] for x in _NAMES.split() if folded.get(x) in likely]
    ordinary = [name for name in likely if name.strip().lower() not in _ASIDE.split()] or likely
    target = meant[0] if meant else ordinary[-1]
    why = "the last column" if target == names[-1] else "the last column that can be one"
    what = f"the target is {target!r:.60} ({'guessed from its name' if meant else why})"
    return target, Finding("target", what, "use --target to change it", (target,))
