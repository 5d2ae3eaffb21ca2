"""Text tables, parsed by pandas: CSV in all its dialects."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Iterator
from itertools import islice
from typing import IO, Any

import pandas as pd

from ravine.arguments import Refusal
from ravine.tables.dialect import BLANKS, Dialect, guess_dialect, guess_encoding, is_comment, split
from ravine.tables.source import Source, broken
from ravine.tables.table import Finding
from ravine.tables.words import MISSING, number

_FOOTER = 10
"""Lines below the table that may hold notes."""
_SEPARATORS = {"\t": "tabs", BLANKS: "blanks", ";": "semicolons", "|": "bars"}
_PLAIN = ("utf-8-sig", "utf-8", "utf8", "ascii")
"""Encodings whose bytes the parser reads without decoding them first."""


def read_text(
    source: Source, *, sep: str | None, encoding: str | None, decimal: str | None
) -> tuple[pd.DataFrame, bool, list[Finding]]:
    """The columns of a text table, whether it has decimal commas, and how it was read."""
    with source.open(lines=True) as stream:
        sample = stream.read(len(source.head)) + stream.readline()
        # The names of many columns may fill it; then one row has to be seen too.
        sample += stream.readline() if sample.count(b"\n") < 2 else b""

    word = _known(encoding) or guess_encoding(sample)
    # A sample of UTF-16 that ends after a line lacks that character's second byte.
    text = sample.decode(word, errors="ignore" if word.startswith("utf") else "replace")
    if "\0" in text:
        value = f"zero bytes in {source.name}"
        raise Refusal("DATA", "a table of text", value, "write it again as CSV")

    try:
        # Before the guesses, which split the lines several times.
        first = text.lstrip().partition("\n")[0]
        source.limits.check_shape(0, 1 + max(first.count(mark) for mark in (sep or ",;\t|")))
        hint = "\t" if source.name.lower().endswith(".tsv") else ""
        dialect = guess_dialect(text, sep=sep, decimal=decimal, hint=hint)
        frame, notes = _parsed(source, dialect, word)
    except (pd.errors.ParserError, csv.Error) as error:
        raise broken(source.name, "CSV", error) from None
    except UnicodeDecodeError as error:
        # The first megabyte was UTF-8, what follows is not.
        if encoding is not None or word == "cp1252":
            raise broken(source.name, "text", error) from None

        return read_text(source, sep=sep, encoding="cp1252", decimal=decimal)

    return frame, dialect.decimal == ",", [*_remarks(dialect, word), *notes]


def _known(encoding: str | None) -> str | None:
    try:
        "".encode(encoding or "utf-8")
    except (LookupError, ValueError):  # a zero byte in the name gives a ValueError
        remedy = "e.g. utf-8, utf-16 or cp1252"
        raise Refusal("encoding", "one that Python knows", repr(encoding), remedy) from None

    return encoding


def _remarks(dialect: Dialect, encoding: str) -> list[Finding]:
    """How the text was read, where it differs from plain CSV."""
    said = []
    if dialect.separator in _SEPARATORS:
        said.append(f"columns are separated by {_SEPARATORS[dialect.separator]} (--sep)")
    if dialect.decimal == ",":
        said.append("numbers have a decimal comma (--decimal)")
    if encoding not in _PLAIN:
        said.append(f"the encoding is {encoding} (--encoding)")
    if dialect.names_line is None:
        said.append("the first line has no names")
    elif dialect.names_line > 1:
        said.append(f"the names are in line {dialect.names_line}")

    return [Finding("dialect", f"how the text was read: {'; '.join(said)}")] if said else []


def _parsed(source: Source, dialect: Dialect, encoding: str) -> tuple[pd.DataFrame, list[Finding]]:
    """The table, without the notes below it, and what was found about lines of other lengths."""
    problem: Exception | None = None
    try:
        frame = _parse(source, dialect, encoding)
        if not frame.iloc[:, -1].isna().any():
            return frame, []
    except pd.errors.ParserError as error:
        problem = error

    # A missing last value may be an empty field, a short line or a note below the table.
    short, footer = _uneven_lines(source, dialect, encoding)
    notes = []
    if footer:
        frame = _parse(source, dialect, encoding, lines=footer - 1)
        what = f"the notes below the table, from line {footer} on, were left out"
        notes.append(Finding("footer", what))
    elif problem is not None:
        raise problem

    if short:
        lines = ", ".join(str(line) for line in short[:5]) + (", ..." if len(short) > 5 else "")
        word = f"line {lines} is" if len(short) == 1 else f"lines {lines} are"
        what = f"{word} shorter than {len(dialect.names)} fields: the rest counts as missing"
        notes.append(Finding("short", what, "complete them if the values are known"))

    return frame, notes


def _parse(
    source: Source, dialect: Dialect, encoding: str, lines: int | None = None
) -> pd.DataFrame:
    """All rows in the first ``lines`` lines, or in the whole file."""
    with source.open(lines=True) as stream, warnings.catch_warnings(action="ignore"):
        file: Any = stream
        if dialect.comment or lines is not None:
            file = io.StringIO("".join(islice(_lines(stream, dialect, encoding), lines)))

        try:
            frame = pd.read_csv(
                file, sep=r"\s+" if dialect.separator == BLANKS else dialect.separator,
                header=None, names=range(len(dialect.names)), index_col=False,
                skiprows=dialect.skip, nrows=source.limits.rows + 1, quotechar=dialect.quote,
                skipinitialspace=True, decimal=dialect.decimal, na_values=list(MISSING),
                keep_default_na=False, encoding="utf-8" if encoding in _PLAIN else encoding,
                encoding_errors="replace" if encoding == "cp1252" else "strict",
            )  # fmt: skip
        except pd.errors.EmptyDataError:
            raise Refusal("DATA", "two rows or more", 0, "one row is not enough") from None

    source.limits.check_shape(*frame.shape)
    return frame.set_axis(list(dialect.names), axis=1)


def _lines(stream: IO[bytes], dialect: Dialect, encoding: str) -> Iterator[str]:
    """The lines of a text, without comments."""
    errors = "replace" if encoding == "cp1252" else "strict"
    for line in io.TextIOWrapper(stream, encoding=encoding, errors=errors):
        if not is_comment(line, dialect.comment):
            yield line


def _uneven_lines(source: Source, dialect: Dialect, encoding: str) -> tuple[list[int], int | None]:
    """The numbers of short lines, and of the first line of notes at the end, if there are any.

    Refuses a table with a line that is too long. Lines are counted from 1, comments left out.
    """
    short: list[int] = []
    notes: list[int] = []
    with source.open(lines=True) as stream:
        below = islice(_lines(stream, dialect, encoding), dialect.skip, None)
        rows = split(below, dialect.separator, dialect.quote)
        for fields in rows:
            line = dialect.skip + rows.line_num
            excess = len(fields) - len(dialect.names)
            is_note = len(fields) == 1 or excess > 0
            if not fields:
                continue
            if is_note and number(fields[0]) is None and len(notes) < _FOOTER:
                notes.append(line)
                continue

            # A row of the table: the lines above it were no notes.
            short += notes
            notes = []
            if excess > 0:
                value = f"{len(fields)} fields instead of {len(dialect.names)} in line {line}"
                remedy = "correct it, or give --sep"
                raise Refusal("DATA", "a table with rows of equal length", value, remedy)
            if excess < 0:
                short.append(line)

    return short, notes[0] if notes else None
