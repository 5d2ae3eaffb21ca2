"""How much a table may ask for, checked before the memory is taken."""

from __future__ import annotations

from dataclasses import dataclass

from ravine.arguments import Refusal, whole

_MEBIBYTE = 2**20

MAX_ROWS = 50_000_000
"""Rows: two columns of them are the bytes below."""
MAX_COLUMNS = 100_000
"""Columns, text ones encoded: a vector of them is small, a file with more is mostly a mistake."""
MAX_CLASSES = 100
"""Classes of a target: each has its own weights, so the model grows with them."""
MAX_BYTES = 4 * 2**30
"""Bytes of unpacked text or of numbers: half of what a small computer has."""

MAX_LINE = 32 * _MEBIBYTE
"""Bytes of a line of text: the most columns at 300 bytes each."""
MAX_FOOTER = 64 * _MEBIBYTE
"""Bytes that a file may spend on describing itself: the most columns at 600 bytes each."""

MAX_RATIO = 200
"""Times that a file may grow when unpacked. Tables of text shrink 3 to 50 times; deflate stops at
1032, and what reaches for that holds next to nothing."""
_SMALL = 64 * _MEBIBYTE
"""Bytes below which growth is harmless."""


@dataclass(frozen=True)
class Limits:
    """How large a table may be.

    Attributes
    ----------
    rows, columns, classes
        The most that are read; text columns count as the columns they are encoded to.
    bytes
        The most that unpacked text, or the numbers of the table, may take.
    trusted
        Whether ``bytes`` was chosen by the user: then a file may grow to it from nothing.

    Examples
    --------
    >>> limits = Limits.of(max_columns=10)
    >>> limits.columns, limits.rows, limits.trusted
    (10, 50000000, False)
    """

    rows: int = MAX_ROWS
    columns: int = MAX_COLUMNS
    classes: int = MAX_CLASSES
    bytes: int = MAX_BYTES
    trusted: bool = False

    @classmethod
    def of(
        cls,
        *,
        max_rows: int | None = None,
        max_columns: int | None = None,
        max_classes: int | None = None,
        max_bytes: int | None = None,
    ) -> Limits:
        """Limits from options; the usual ones where None."""
        return cls(
            _limit("max_rows", max_rows, MAX_ROWS),
            _limit("max_columns", max_columns, MAX_COLUMNS),
            _limit("max_classes", max_classes, MAX_CLASSES),
            _limit("max_bytes", max_bytes, MAX_BYTES),
            trusted=max_bytes is not None,
        )

    def check_rows(self, rows: int) -> None:
        """Refuse too many rows."""
        if rows > self.rows:
            rule = f"at most {self.rows} rows long"
            raise Refusal("DATA", rule, rows, "raise it with --max-rows (max_rows=)")

    def check_columns(self, columns: int) -> None:
        """Refuse too many columns."""
        if columns > self.columns:
            rule = f"at most {self.columns} columns wide"
            raise Refusal("DATA", rule, columns, "raise it with --max-columns (max_columns=)")

    def check_classes(self, classes: int) -> None:
        """Refuse too many classes."""
        if classes > self.classes:
            rule = f"of at most {self.classes} classes"
            remedy = "pick another with --target, or raise it with --max-classes (max_classes=)"
            raise Refusal("the target", rule, classes, remedy)

    def check_bytes(self, size: int, *, packed: int | None = None, what: str = "unpacked") -> None:
        """Refuse a size in bytes, and one that is suspiciously larger than the ``packed`` one."""
        if size > self.bytes:
            rule = f"at most {amount(self.bytes)} {what}"
            remedy = "raise it with --max-bytes (max_bytes=), if the memory is there"
            raise Refusal("DATA", rule, amount(size), remedy)

        grown = packed is not None and size > _SMALL and size > MAX_RATIO * packed
        if grown and packed is not None and not self.trusted:
            rule = f"at most {MAX_RATIO} times its packed size"
            value = f"{amount(size)} or more from {amount(packed)}"
            remedy = f"allow it with --max-bytes {self.bytes}, if it is meant"
            raise Refusal("DATA", rule, value, remedy)

    def check_shape(self, rows: int, columns: int, *, packed: int | None = None) -> None:
        """Refuse a table of float64 numbers that is too long, too wide or too large."""
        self.check_columns(columns)
        self.check_rows(rows)
        # A float64 has 8 bytes.
        self.check_bytes(8 * rows * columns, packed=packed, what="of numbers")


def _limit(name: str, value: int | None, usual: int) -> int:
    if value is None:
        return usual

    return whole(name, value, 1, remedy=f"give a count, e.g. {usual}")


def amount(size: int) -> str:
    """A number of bytes in words."""
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"

    return f"{size} bytes"
