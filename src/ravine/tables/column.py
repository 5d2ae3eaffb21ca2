"""One column of a table as it is read: numbers, or codes of texts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.tables.limits import Limits
from ravine.tables.words import numbers_in

_MOST_TEXTS = 100_000
"""Different texts of a column that are kept; beyond, it holds numbers in words or names."""
_DAY = 86_400_000_000
"""Microseconds in a day."""


class ColumnKind(StrEnum):
    """What a column holds."""

    NUMBERS = "numbers"
    TRUTH = "truth values"
    DATES = "dates"
    TEXTS = "texts"
    NAMES = "names"
    """Texts that are too many to be kept."""
    NESTED = "nested"


@dataclass
class Column:
    """A column with its missing values marked.

    Attributes
    ----------
    name, kind
        What it is called, and what it holds.
    numbers
        Float64, NaN where missing; dates as days since 1970. Empty for texts.
    codes, texts
        For texts: the index into ``texts`` of each row, -1 where missing.
    rows
        Length.
    spelled
        Whether texts may spell numbers or dates; not where the source says that they are levels.
    """

    name: str
    kind: ColumnKind
    rows: int
    numbers: FloatArray = field(default_factory=lambda: np.empty(0))
    codes: npt.NDArray[np.int32] = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    texts: tuple[str, ...] = ()
    spelled: bool = True

    @property
    def is_text(self) -> bool:
        """Whether the values are codes of texts."""
        return self.kind is ColumnKind.TEXTS

    @property
    def missing(self) -> npt.NDArray[np.bool_]:
        """Where a value is missing."""
        return self.codes < 0 if self.is_text else np.isnan(self.numbers)

    def take(self, keep: npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> Column:
        """The same column with some of the rows."""
        if self.is_text:
            codes = self.codes[keep]
            return replace(self, rows=len(codes), codes=codes)

        numbers = self.numbers[keep]
        return replace(self, rows=len(numbers), numbers=numbers)


class _Growing:
    """Numbers that are appended to in place, with an eighth of room to spare.

    The memory of a large array grows where it is, without a second copy beside it.
    """

    def __init__(self) -> None:
        self._buffer = np.empty(0)
        self._size = 0

    def extend(self, values: FloatArray) -> None:
        """Append the values."""
        size = self._size + len(values)
        if size > len(self._buffer):
            self._buffer.resize(size + size // 8, refcheck=False)

        self._buffer[self._size : size] = values
        self._size = size

    def finish(self) -> FloatArray:
        """All values, without the room."""
        self._buffer.resize(self._size, refcheck=False)
        return self._buffer


class ColumnBuilder:
    """A column that grows by Arrow arrays, as they are read."""

    def __init__(self, name: str, *, comma: bool = False, spelled: bool = True) -> None:
        self.name = name
        self._comma = comma
        self._spelled = spelled
        self._kinds: set[ColumnKind] = set()
        self._parts: list[_Growing | npt.NDArray[np.int32]] = []
        self._index: dict[str, int] = {}
        self._rows = 0

    def add(self, array: Any) -> None:
        """Append an Arrow array."""
        import pyarrow as pa

        self._rows += len(array)
        kind = array.type
        if pa.types.is_null(kind):
            self._add_numbers(np.full(len(array), np.nan))
        elif pa.types.is_nested(kind):
            self._kinds.add(ColumnKind.NESTED)
        elif ColumnKind.NESTED in self._kinds:
            return
        elif pa.types.is_dictionary(kind) or _is_text(kind):
            self._add_texts(array if pa.types.is_dictionary(kind) else array.dictionary_encode())
        else:
            word, values = _as_numbers(array)
            self._kinds.add(word)
            self._add_numbers(values)

    def _add_numbers(self, values: FloatArray) -> None:
        if not self._parts or not isinstance(self._parts[-1], _Growing):
            self._parts.append(_Growing())

        last = self._parts[-1]
        if isinstance(last, _Growing):
            last.extend(values)

    def _add_texts(self, array: Any) -> None:
        texts = [_text(value) for value in array.dictionary.to_pylist()]
        codes = array.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        if ColumnKind.NAMES in self._kinds:
            self._add_parsed(texts, codes)
            return

        self._kinds.add(ColumnKind.TEXTS)
        index = self._index
        # One entry more at the end: the code -1 of a missing value points to it.
        table = np.full(len(texts) + 1, -1, dtype=np.int32)

        for k, text in enumerate(texts):
            if text is not None:
                table[k] = index.setdefault(text, len(index))

        self._parts.append(table[codes])
        if len(index) > _MOST_TEXTS:
            self._parse_all()

    def _add_parsed(self, texts: list[str | None], codes: npt.NDArray[Any]) -> None:
        values = numbers_in([text or "" for text in texts], comma=self._comma)
        table = np.append(values, np.nan)
        self._add_numbers(table[codes])

    def _parse_all(self) -> None:
        """Keep only the numbers that the texts spell: there are too many texts for levels."""
        self._kinds.add(ColumnKind.NAMES)
        table = np.append(numbers_in(list(self._index), comma=self._comma), np.nan)
        parts = self._parts
        self._parts = []

        for part in parts:
            self._add_numbers(part.finish() if isinstance(part, _Growing) else table[part])

        self._index = {}

    def finish(self) -> Column:
        """The whole column; the parts are given up."""
        kinds = self._kinds
        if ColumnKind.NESTED in kinds:
            return Column(self.name, ColumnKind.NESTED, self._rows)

        if ColumnKind.NAMES in kinds:
            numbers = self._joined()
            spelled = np.count_nonzero(~np.isnan(numbers)) > 0.9 * self._rows
            kind = ColumnKind.NUMBERS if spelled else ColumnKind.NAMES

            return Column(self.name, kind, self._rows, numbers=numbers)

        if ColumnKind.TEXTS in kinds:
            return self._finish_texts()

        kind = ColumnKind.NUMBERS
        if len(kinds) == 1:
            (kind,) = kinds

        return Column(self.name, kind, self._rows, numbers=self._joined())

    def _joined(self) -> FloatArray:
        parts = [part.finish() for part in self._parts if isinstance(part, _Growing)]
        self._parts = []
        return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0), *parts])

    def _finish_texts(self) -> Column:
        """Numbers among texts become texts too, so that one rule reads them all."""
        parts: list[npt.NDArray[np.int32]] = []
        for part in self._parts:
            if not isinstance(part, _Growing):
                parts.append(part)
                continue

            values, inverse = np.unique(part.finish(), return_inverse=True)
            spelled = [None if np.isnan(v) else f"{v:.17g}" for v in values]
            table = np.array(
                [-1 if s is None else self._index.setdefault(s, len(self._index)) for s in spelled],
                dtype=np.int32,
            )
            parts.append(table[inverse])

        codes = np.concatenate(parts) if len(parts) != 1 else parts[0]
        texts = tuple(self._index)
        self._parts = []

        return Column(
            self.name, ColumnKind.TEXTS, self._rows,
            codes=codes, texts=texts, spelled=self._spelled,
        )  # fmt: skip


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view,
             pa.types.is_binary, pa.types.is_large_binary)  # fmt: skip
    return any(test(kind) for test in tests)


def _text(value: Any) -> str | None:
    if value is None:
        return None

    text = value.decode("latin-1") if isinstance(value, bytes) else str(value)
    return " ".join(text.split())


def _as_numbers(array: Any) -> tuple[ColumnKind, FloatArray]:
    """An Arrow array of numbers, truth values or times as float64, NaN where null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = array.type
    word = ColumnKind.NUMBERS
    scale = 1.0
    if pa.types.is_boolean(kind):
        word = ColumnKind.TRUTH
        array = pc.cast(array, pa.int8())
    elif pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        word = ColumnKind.DATES
        scale = 1.0 / _DAY
        array = pc.cast(pc.cast(array, pa.timestamp("us"), safe=False), pa.int64())
    elif pa.types.is_time(kind) or pa.types.is_duration(kind):
        array = pc.cast(array, pa.int64() if kind.bit_width == 64 else pa.int32())

    values = pc.cast(array, pa.float64(), safe=False)
    numbers = np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)
    return word, numbers if scale == 1.0 else numbers * scale


def columns_from(
    batches: Iterable[Any],
    names: Sequence[str],
    limits: Limits,
    *,
    comma: bool = False,
    levels: Collection[int] = (),
) -> list[Column]:
    """Columns from Arrow record batches, whose rows are counted against the limits.

    ``comma`` for decimal commas in texts; ``levels`` are the numbers of the columns whose texts
    the source declares to be levels.
    """
    builders = [
        ColumnBuilder(name, comma=comma, spelled=k not in levels) for k, name in enumerate(names)
    ]
    rows = 0

    for batch in batches:
        rows += batch.num_rows
        limits.check_shape(rows, len(names))
        for k, builder in enumerate(builders):
            builder.add(batch.column(k))

    return [builder.finish() for builder in builders]
