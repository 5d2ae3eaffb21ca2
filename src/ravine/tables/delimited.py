"""Text tables, streamed block by block: CSV in all its dialects."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import IO, Any

from ravine.arguments import Refusal
from ravine.tables.column import Column, columns_from
from ravine.tables.dialect import BLANKS, Dialect, guess_dialect, guess_encoding, is_comment
from ravine.tables.finding import Finding
from ravine.tables.limits import MAX_LINE, Limits
from ravine.tables.source import Source, broken, long_line
from ravine.tables.words import MISSING

_BLOCK = 4 * 2**20
"""Bytes that are parsed at a time."""
_RETRIES = 8
"""Columns of numbers that may turn out to hold words before all are read as words."""
_WORDS = (*MISSING, *(f" {word}" for word in MISSING if word))


def read_delimited(
    source: Source,
    limits: Limits,
    *,
    sep: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
) -> tuple[list[Column], bool, list[Finding]]:
    """Columns of a text table, whether it has decimal commas, and how it was understood."""
    sample = _sample(source, limits)
    word = _known_encoding(encoding) or guess_encoding(sample, source.name)
    hint = "\t" if source.name.lower().endswith(".tsv") else ""

    while True:
        text = _decoded(sample, word, source.name)
        # Before the guesses, which split the lines many times over.
        first = text.lstrip().partition("\n")[0]
        limits.check_columns(1 + max(first.count(mark) for mark in (sep or ",;\t|")))
        dialect = guess_dialect(text, sep=sep, decimal=decimal, encoding=word, hint=hint)
        limits.check_columns(len(dialect.names))

        try:
            columns = _read(source, limits, dialect, sample)
        except UnicodeDecodeError as error:
            # The first megabyte was UTF-8, what follows is not.
            if encoding is not None or word == "cp1252":
                raise broken(source.name, "text", error) from None

            word = "cp1252"
            continue

        return columns, dialect.decimal == ",", _remarks(dialect)


def _known_encoding(encoding: str | None) -> str | None:
    if encoding is None:
        return None

    try:
        "".encode(encoding)
    except (LookupError, ValueError):  # the second one for a zero in the name
        remedy = "e.g. utf-8, utf-16 or cp1252"
        raise Refusal("encoding", "one that Python knows", repr(encoding), remedy) from None

    return encoding


def _sample(source: Source, limits: Limits) -> bytes:
    """The first megabyte and the line that it ends in, the two first lines at least."""
    head = source.head
    with source.open(limits) as stream:
        stream.read(len(head))
        head += stream.readline(MAX_LINE)
        if len(head) >= MAX_LINE and not head.endswith(b"\n"):
            raise long_line(source.name)
        if head.count(b"\n") < 2:
            head += stream.readline(MAX_LINE)

    return head


def _decoded(sample: bytes, encoding: str, name: str) -> str:
    # A sample of UTF-16 that was cut at a line's end lacks that character's second byte.
    text = sample.decode(encoding, errors="ignore" if encoding.startswith("utf") else "replace")
    if "\0" in text:
        raise Refusal("DATA", "a table of text", f"zero bytes in {name}", "write it again as CSV")

    return text


def _remarks(dialect: Dialect) -> list[Finding]:
    words = {"\t": "tabs", BLANKS: "blanks", ";": "semicolons", "|": "bars"}
    told = []
    if dialect.separator in words:
        told.append(f"columns stand apart by {words[dialect.separator]} (--sep)")
    if dialect.decimal == ",":
        told.append("numbers have a decimal comma (--decimal)")

    if dialect.encoding not in ("utf-8", "utf-8-sig", "ascii"):
        told.append(f"the encoding is {dialect.encoding} (--encoding)")

    if not dialect.headed:
        told.append("the first line has no names")
    elif dialect.skip > 1 and dialect.form == "text":
        told.append(f"the names stand in line {dialect.skip}")

    return [Finding("dialect", f"the text was read so: {'; '.join(told)}")] if told else []


def _read(source: Source, limits: Limits, dialect: Dialect, sample: bytes) -> list[Column]:
    """Read with the types that the sample speaks for; a column with a word below becomes text."""
    import pyarrow as pa

    text = pa.dictionary(pa.int32(), pa.string())
    longest = max(len(line) for line in sample.splitlines())
    # A row has to fit into a block, with room for longer ones below.
    block = max(_BLOCK, min(4 * longest, 2 * MAX_LINE))
    multiline = False
    types = _types(dialect, sample, block)
    retries = 0

    while True:
        try:
            with source.open(limits) as stream:
                plain = _rewritten(stream, dialect, source.name)
                batches = _batches(plain, dialect, types, block, multiline)
                names = dialect.names

                return columns_from(batches, names, limits, comma=dialect.decimal == ",")
        except pa.ArrowInvalid as error:
            message = str(error)
            column = re.search(r"In CSV column #(\d+)", message)
            if "invalid UTF8" in message:
                raise UnicodeDecodeError("utf-8", b"", 0, 1, "no UTF-8") from None
            if column:
                retries += 1
                which = int(column.group(1))
                for j in [which] if retries < _RETRIES else range(len(types)):
                    types[j] = text
            elif "Expected" in message and dialect.quote.encode() in sample and not multiline:
                multiline = True
            else:
                raise _refused(source, message) from None


def _refused(source: Source, message: str) -> Refusal:
    ragged = re.search(r"Expected (\d+) columns, got (\d+):? ?(.*)", message, re.DOTALL)
    if ragged:
        wished, given, line = ragged.groups()
        value = f"{given} fields instead of {wished} in the line {line.strip()!r:.60}"
        return Refusal("DATA", "a table with rows of one length", value, "mend it, or give --sep")

    if "straddl" in message:
        return long_line(source.name)
    if "Empty CSV" in message or "Could not skip" in message:
        return Refusal("DATA", "two rows or more", "0", "there is nothing to average over")

    return broken(source.name, "CSV", message)


def _options(dialect: Dialect, types: list[Any] | None, block: int, multiline: bool) -> Any:
    import pyarrow.csv as arrow_csv

    # Names of the file may repeat, so the columns get numbers here.
    numbered = [str(j) for j in range(len(dialect.names))]
    separator = "\t" if dialect.separator == BLANKS else dialect.separator
    return {
        "read_options": arrow_csv.ReadOptions(
            block_size=block, skip_rows=dialect.skip, column_names=numbered
        ),
        "parse_options": arrow_csv.ParseOptions(
            delimiter=separator, quote_char=dialect.quote, newlines_in_values=multiline
        ),
        "convert_options": arrow_csv.ConvertOptions(
            column_types=None if types is None else dict(zip(numbered, types, strict=True)),
            null_values=list(_WORDS), strings_can_be_null=True, decimal_point=dialect.decimal,
        ),
    }  # fmt: skip


def _types(dialect: Dialect, sample: bytes, block: int) -> list[Any]:
    """The type of each column in the sample: float64, truth values, dates, or texts."""
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    text = pa.dictionary(pa.int32(), pa.string())
    # Whole lines only: the last one may have been cut by the end of an odd encoding.
    decoded = _decoded(sample, dialect.encoding, "")
    whole = (decoded[: decoded.rfind("\n") + 1] or decoded).encode()

    try:
        plain = _rewritten(io.BytesIO(whole), replace(dialect, encoding="utf-8"), "")
        options = _options(dialect, None, max(block, 2 * len(whole)), multiline=False)
        schema = arrow_csv.read_csv(plain, **options).schema
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return [text] * len(dialect.names)

    kept = (pa.types.is_boolean, pa.types.is_date, pa.types.is_timestamp)
    types = []
    for kind in schema.types:
        if pa.types.is_integer(kind) or pa.types.is_floating(kind):
            types.append(pa.float64())
        else:
            types.append(kind if any(test(kind) for test in kept) else text)

    return types


def _batches(
    stream: Any, dialect: Dialect, types: list[Any], block: int, multiline: bool
) -> Iterator[Any]:
    import pyarrow.csv as arrow_csv

    yield from arrow_csv.open_csv(stream, **_options(dialect, types, block, multiline))


def _rewritten(stream: IO[bytes], dialect: Dialect, name: str) -> Any:
    """The stream itself if it is plain UTF-8, else one that is made so on the way."""
    plain = dialect.encoding.lower() in ("utf-8", "utf-8-sig", "ascii", "utf8")
    if plain and dialect.separator != BLANKS and not dialect.comment:
        return stream

    return io.BufferedReader(_Rewriter(stream, dialect, name), 2**20)


class _Rewriter(io.RawIOBase):
    """UTF-8 without comments, runs of blanks as tabs."""

    def __init__(self, stream: IO[bytes], dialect: Dialect, name: str) -> None:
        errors = "replace" if dialect.encoding == "cp1252" else "strict"
        self._text = io.TextIOWrapper(stream, encoding=dialect.encoding, errors=errors)
        self._dialect = dialect
        self._name = name
        self._ready = b""

    def readable(self) -> bool:
        """Whether it can be read: always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer with rewritten text."""
        while not self._ready:
            part = self._text.read(2**20)
            if not part:
                return 0

            part += self._text.readline(MAX_LINE)
            if len(part) > MAX_LINE:
                raise long_line(self._name)

            self._ready = self._rewrite(part).encode()

        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]

        return count

    def _rewrite(self, part: str) -> str:
        mark = self._dialect.comment
        if mark and mark in part:
            rows = part.splitlines(keepends=True)
            part = "".join(row for row in rows if not is_comment(row, mark))
        if self._dialect.separator == BLANKS:
            part = re.sub(r"[ \t]+", "\t", re.sub(r"(?m)^[ \t]+|[ \t]+$", "", part))

        return part
