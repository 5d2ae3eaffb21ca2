"""Text tables, parsed by pandas: CSV in all its dialects."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import islice
from typing import IO, Any

import pandas as pd

from ravine.arguments import Refusal
from ravine.tables.dialect import BLANKS, Dialect, guess_dialect, guess_encoding, is_comment, split
from ravine.tables.finding import Finding
from ravine.tables.limits import Limits
from ravine.tables.source import Source, broken
from ravine.tables.words import MISSING, number

_FOOTER = 10
"""Lines below the table that may hold notes."""
_PLAIN = ("utf-8", "utf-8-sig", "utf8", "ascii")
"""Encodings whose bytes the parser reads without decoding them first."""


def read_text(
    source: Source, limits: Limits, *, sep: str | None, encoding: str | None, decimal: str | None
) -> tuple[pd.DataFrame, bool, list[Finding]]:
    """The columns of a text table, whether it has decimal commas, and how it was read."""
    sample = _sample(source, limits)
    word = _known_encoding(encoding) or guess_encoding(sample, source.name)
    hint = "\t" if source.name.lower().endswith(".tsv") else ""
    # A sample of UTF-16 that ends after a line lacks that character's second byte.
    text = sample.decode(word, errors="ignore" if word.startswith("utf") else "replace")
    if "\0" in text:
        value = f"zero bytes in {source.name}"
        raise Refusal("DATA", "a table of text", value, "write it again as CSV")

    # Before the guesses, which split the lines several times.
    first = text.lstrip().partition("\n")[0]
    limits.check_shape(0, 1 + max(first.count(mark) for mark in (sep or ",;\t|")))
    dialect = guess_dialect(text, sep=sep, decimal=decimal, encoding=word, hint=hint)
    limits.check_shape(0, len(dialect.names))

    try:
        frame, notes = _parsed(source, limits, dialect)
    except UnicodeDecodeError as error:
        # The first megabyte was UTF-8, what follows is not.
        if encoding is not None or word == "cp1252":
            raise broken(source.name, "text", error) from None

        return read_text(source, limits, sep=sep, encoding="cp1252", decimal=decimal)

    return frame, dialect.decimal == ",", [*_remarks(dialect), *notes]


def _known_encoding(encoding: str | None) -> str | None:
    try:
        "".encode(encoding or "utf-8")
    except (LookupError, ValueError):  # a zero byte in the name gives a ValueError
        remedy = "e.g. utf-8, utf-16 or cp1252"
        raise Refusal("encoding", "one that Python knows", repr(encoding), remedy) from None

    return encoding


def _sample(source: Source, limits: Limits) -> bytes:
    """The first megabyte to the end of its last line; at least the first two lines."""
    with source.open(limits, lines=True) as stream:
        head = stream.read(len(source.head)) + stream.readline()
        return head if head.count(b"\n") >= 2 else head + stream.readline()


def _remarks(dialect: Dialect) -> list[Finding]:
    """How the text was read, where it differs from plain CSV."""
    words = {"\t": "tabs", BLANKS: "blanks", ";": "semicolons", "|": "bars"}
    said = []
    if dialect.separator in words:
        said.append(f"columns are separated by {words[dialect.separator]} (--sep)")
    if dialect.decimal == ",":
        said.append("numbers have a decimal comma (--decimal)")
    if dialect.encoding not in _PLAIN:
        said.append(f"the encoding is {dialect.encoding} (--encoding)")
    if not dialect.headed:
        said.append("the first line has no names")
    elif dialect.skip > 1 and dialect.form == "text":
        said.append(f"the names are in line {dialect.skip}")

    return [Finding("dialect", f"how the text was read: {'; '.join(said)}")] if said else []


def _parsed(source: Source, limits: Limits, dialect: Dialect) -> tuple[pd.DataFrame, list[Finding]]:
    """The table, without the notes below it, and what was found about lines of other lengths."""
    problem = None
    try:
        frame = _parse(source, limits, dialect, None)
        if not len(frame) or not pd.isna(frame.iloc[:, -1]).any():
            return frame, []
    except pd.errors.ParserError as error:
        problem = error

    # A missing last value may be an empty field, a short line or a note below the table.
    short, footer = _odd_lines(source, limits, dialect)
    try:
        if footer:
            frame = _parse(source, limits, dialect, footer - 1)
        elif problem is not None:
            raise problem
    except pd.errors.ParserError as error:
        raise broken(source.name, "CSV", error) from None

    notes = []
    if footer:
        what = f"the notes below the table, from line {footer} on, were left out"
        notes.append(Finding("footer", what))

    if short:
        lines = ", ".join(str(line) for line in short[:5]) + (", ..." if len(short) > 5 else "")
        word = f"line {lines} is" if len(short) == 1 else f"lines {lines} are"
        what = f"{word} shorter than {len(dialect.names)} fields: the rest counts as missing"
        notes.append(Finding("short", what, "complete them if the values are known"))

    return frame, notes


def _parse(source: Source, limits: Limits, dialect: Dialect, lines: int | None) -> pd.DataFrame:
    """All rows in the first ``lines`` lines, or in the whole file."""
    encoding = "utf-8" if dialect.encoding in _PLAIN else dialect.encoding
    with source.open(limits, lines=True) as stream:
        file: Any = stream
        if dialect.comment or lines is not None:
            file = _Lines(islice(_text_lines(stream, dialect), lines))

        try:
            frame = pd.read_csv(
                file, sep=r"\s+" if dialect.separator == BLANKS else dialect.separator,
                header=None, names=range(len(dialect.names)), index_col=False,
                skiprows=dialect.skip, nrows=limits.rows + 1, quotechar=dialect.quote,
                skipinitialspace=True, decimal=dialect.decimal, na_values=list(MISSING),
                keep_default_na=False, encoding=encoding,
                encoding_errors="replace" if encoding == "cp1252" else "strict",
            )  # fmt: skip
        except pd.errors.EmptyDataError:
            raise Refusal("DATA", "two rows or more", 0, "one row is not enough") from None

    limits.check_shape(len(frame), frame.shape[1])
    frame.columns = list(dialect.names)
    return frame


def _text_lines(stream: IO[bytes], dialect: Dialect) -> Iterator[str]:
    """The lines of a text, without comments."""
    errors = "replace" if dialect.encoding == "cp1252" else "strict"
    mark = dialect.comment
    for line in io.TextIOWrapper(stream, encoding=dialect.encoding, errors=errors):
        if not mark or not is_comment(line, mark):
            yield line


class _Lines:
    """Lines as a file that pandas reads from."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines

    def read(self, size: int = -1) -> str:
        """Some of the lines; none at the end."""
        return "".join(islice(self._lines, 4096))

    def __iter__(self) -> Iterator[str]:
        return self._lines


def _odd_lines(source: Source, limits: Limits, dialect: Dialect) -> tuple[list[int], int | None]:
    """The numbers of short lines, and of the first line of notes at the end, if there are any.

    Refuses a table with a line that is too long. Lines are counted from 1, comments left out.
    """
    short: list[int] = []
    notes: list[int] = []
    inside = False

    with source.open(limits, lines=True) as stream:
        for k, line in enumerate(_text_lines(stream, dialect), 1):
            if k <= dialect.skip or not line.strip():
                continue
            if inside or line.count(dialect.quote) % 2:
                # A quoted text goes on in the next line.
                inside ^= bool(line.count(dialect.quote) % 2)
                continue

            fields = split([line.strip("\r\n")], dialect.separator, dialect.quote)[0]
            excess = len(fields) - len(dialect.names)
            is_note = number(fields[0]) is None and (len(fields) == 1 or excess > 0)
            if is_note and len(notes) < _FOOTER:
                notes.append(k)
                continue

            # A row of the table: the lines above it were no notes.
            short += notes
            notes = []
            if excess > 0:
                value = f"{len(fields)} fields instead of {len(dialect.names)} in line {k}"
                remedy = "correct it, or give --sep"
                raise Refusal("DATA", "a table with rows of equal length", value, remedy)
            if excess < 0:
                short.append(k)

    return short, notes[0] if notes else None
