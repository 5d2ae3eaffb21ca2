"""How large a table may be; checked before the memory is taken."""

from __future__ import annotations

from dataclasses import dataclass

from ravine.arguments import Refusal, whole

_MEBIBYTE = 2**20

MAX_ROWS = 50_000_000
"""Rows: two columns of them are the bytes below."""
MAX_COLUMNS = 100_000
"""Columns, text columns counted after encoding."""
MAX_CLASSES = 100
"""Classes of a target: each has its own weights, so the model grows with them."""
MAX_BYTES = 4 * 2**30
"""Bytes of unpacked text or of numbers: half the memory of a small computer."""

MAX_LINE = 32 * _MEBIBYTE
"""Bytes of a line of text: the most columns at 300 bytes each."""
MAX_RATIO = 200
"""Largest allowed growth of a file when it is unpacked. Tables of text shrink 3 to 50 times when
packed; a file that approaches deflate's limit of 1032 holds next to no information."""
_SMALL = 64 * _MEBIBYTE
"""Bytes below which any growth is harmless."""


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
        Whether the user chose ``bytes``: then a packed file may grow to it at any ratio.

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
    def of(cls, **most: int | None) -> Limits:
        """Limits from options ``max_rows``, ``max_columns``, ...; the defaults where None."""
        chosen = {
            name.removeprefix("max_"): whole(name, value, 1, remedy="give a count, e.g. 1000000")
            for name, value in most.items()
            if value is not None
        }
        return cls(**chosen, trusted="bytes" in chosen)

    def check_classes(self, classes: int) -> None:
        """Refuse too many classes."""
        if classes > self.classes:
            rule = f"of at most {self.classes} classes"
            remedy = "choose another with --target, or raise the limit with --max-classes"
            raise Refusal("the target", rule, classes, f"{remedy} (max_classes=)")

    def check_bytes(self, size: int, *, packed: int | None = None, what: str = "unpacked") -> None:
        """Refuse a size in bytes, and one that is suspiciously larger than the ``packed`` one."""
        if size > self.bytes:
            rule = f"at most {amount(self.bytes)} {what}"
            remedy = "raise the limit with --max-bytes (max_bytes=) if the memory is there"
            raise Refusal("DATA", rule, amount(size), remedy)

        if packed is not None and size > max(_SMALL, MAX_RATIO * packed) and not self.trusted:
            rule = f"at most {MAX_RATIO} times its packed size"
            value = f"{amount(size)} or more from {amount(packed)}"
            remedy = f"use --max-bytes {self.bytes} to allow it"
            raise Refusal("DATA", rule, value, remedy)

    def check_shape(self, rows: int, columns: int, *, packed: int | None = None) -> None:
        """Refuse a table of float64 numbers that is too long, too wide or too large."""
        for count, most, word in (
            (columns, self.columns, "columns"),
            (rows, self.rows, "rows"),
        ):
            if count > most:
                remedy = f"raise the limit with --max-{word} (max_{word}=)"
                raise Refusal("DATA", f"a table of at most {most} {word}", count, remedy)

        # A float64 has 8 bytes.
        self.check_bytes(8 * rows * columns, packed=packed, what="of numbers")


def amount(size: int) -> str:
    """A number of bytes in words."""
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"

    return f"{size} bytes"
