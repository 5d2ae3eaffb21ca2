"""Text tables in all dialects: the dialect is guessed, and pandas parses the text."""

from __future__ import annotations

import codecs
import csv
import io
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from statistics import multimode
from typing import IO, Any

import pandas as pd

from ravine.tables.source import Source
from ravine.tables.table import Finding, Raw
from ravine.tables.words import MISSING, number

BLANKS = " "
"""The separator of files whose columns are separated by any number of blanks."""
_SEPARATORS = {";": "semicolons", "\t": "tabs", ",": "", "|": "bars", BLANKS: "blanks"}
"""Names of separators in messages, in order of preference if several fit: a comma may be a decimal
mark, and a blank part of a text."""
_COMMENTS = ("#", "%", "//")
_LOOKED_AT = 200
"""Lines on which the guess is based."""
_PREAMBLE = 40
"""Lines of title or remarks that may precede the table."""
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
_DECIMAL_POINT = re.compile(r"[+-]?\d+\.\d+")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+")
_SINGLE_QUOTES = re.compile(r"(?m)(?:^|[,;\t| ])'[^'\n]*'(?=[,;\t| ]|$)")
_DECLARED = re.compile(r'"?sep=(.)"?')
"""The first line in which Excel writes the separator."""
_PLAIN = ("utf-8-sig", "utf-8", "utf8", "ascii")
"""Encodings that the parser reads directly."""
_FOOTER = 10
"""Lines below the table that may hold notes."""


@dataclass(frozen=True)
class Dialect:
    """The format of a text file.

    Attributes
    ----------
    separator, quote, decimal
        Characters; the separator ``" "`` means any number of blanks.
    comment
        The start of comment lines, or nothing.
    names
        Names of the columns.
    skip
        Lines before the first row of the table, comment lines not counted.
    names_line
        The line with the names, 0 if they are in a header of their own, None if nowhere.
    """

    separator: str
    quote: str
    decimal: str
    comment: str
    names: tuple[str, ...]
    skip: int
    names_line: int | None


def guess_encoding(head: bytes) -> str:
    """The encoding of the first bytes: UTF-16 by its mark, UTF-8 if valid, else Windows-1252."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"

    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "cp1252"

    # With or without a byte order mark.
    return "utf-8-sig"


def guess_dialect(text: str, *, sep: str | None, decimal: str | None, hint: str = "") -> Dialect:
    """The dialect of a text from its first lines; ``hint`` is the separator of the file's ending.

    A separator fits if it splits the lines into equal numbers of fields. The first line has names
    if it has words above numbers, or words that do not occur again below.
    """
    arff = _guess_arff(text)
    if arff is not None:
        return arff

    lines = text.splitlines()[: _LOOKED_AT + _PREAMBLE]
    declared = _DECLARED.fullmatch(lines[0]) if lines else None
    if declared:
        sep = sep or declared.group(1)
        lines = lines[1:]

    comment = next((mark for mark in _COMMENTS if any(is_comment(x, mark) for x in lines)), "")
    remarks = [line for line in lines if is_comment(line, comment)]
    body = [line for line in lines if not is_comment(line, comment)]
    joined = "\n".join(body)
    quote = "'" if '"' not in joined and _SINGLE_QUOTES.search(joined) else '"'
    separator = sep or _guess_separator(body, quote, hint)
    rows = list(split(body, separator, quote))
    width = _usual_width(rows)
    first = next((k for k in range(len(rows)) if _starts_table(rows, k, width)), 0)
    mark = decimal or _guess_decimal(rows[first:], separator)
    headed = _has_names(rows[first:], mark == ",")
    header = rows[first] if headed else []
    if remarks and not headed:
        (words,) = split([remarks[-1].lstrip().removeprefix(comment)], separator, quote)
        header = words if len(words) == width else []

    names = [cell.strip() for cell in header] or [f"column {j}" for j in range(width)]
    if len(names) == width - 1:
        names = ["", *names]

    skip = first + headed + bool(declared)
    where = skip if headed else None
    return Dialect(separator, quote, mark, comment, tuple(names), skip, where)


def _guess_arff(text: str) -> Dialect | None:
    """Weka's format: names in its own header, then plain commas."""
    data = re.search(r"(?im)^@data[ \t]*$", text)
    if data is None or not re.search(r"(?im)^@relation", text[:20_000]):
        return None

    header = text[: data.end()]
    names = re.findall(r"(?im)^@attribute\s+('[^']+'|\"[^\"]+\"|\S+)", header)
    skip = sum(not is_comment(line, "%") for line in header.splitlines())
    plain = tuple(name.strip("'\"") for name in names)
    return Dialect(",", "'", ".", "%", plain, skip, 0) if plain else None


def is_comment(line: str, mark: str) -> bool:
    """Whether a line is a comment; a comment sign alone in its field is a name."""
    start = line.lstrip()
    alone = start[len(mark) : len(mark) + 1] in (",", ";", "\t", "|")
    return mark != "" and start.startswith(mark) and not alone


def split(lines: Iterable[str], separator: str, quote: str) -> Any:
    """A reader of the fields of each line; empty lines have none."""
    if separator == BLANKS:
        lines = (" ".join(line.split()) for line in lines)

    plain = (line if line.strip() else "" for line in lines)
    return csv.reader(plain, delimiter=separator, quotechar=quote, skipinitialspace=True)


def _usual_width(rows: Iterable[Sequence[str]]) -> int:
    return max(multimode(len(row) for row in rows if row), default=1)


def _guess_separator(lines: Sequence[str], quote: str, hint: str) -> str:
    best, score = hint or ",", 0.0
    for separator in _SEPARATORS:
        rows = [row for row in split(lines, separator, quote) if row]
        width = _usual_width(rows)
        equal = sum(len(row) == width for row in rows) / max(1, len(rows))
        # The separator of the file's ending wins against one that fits equally well. Blanks that
        # do not split the first line as well may be part of texts.
        equal += 0.01 * (separator == hint)
        equal -= 0.1 * (separator == BLANKS and width > 1 and len(rows[0]) < width)
        if width > 1 and equal > score + 1e-9:
            best, score = separator, equal

    return best


def _starts_table(rows: Sequence[Sequence[str]], k: int, width: int) -> bool:
    """Whether a line can be the first of the table: of full width, or names without row names."""
    if k > _PREAMBLE or len(rows[k]) == width:
        return True

    below = next((len(row) for row in rows[k + 1 :] if row), 0)
    return len(rows[k]) == width - 1 and below == width and width > 2


def _guess_decimal(rows: Sequence[Sequence[str]], separator: str) -> str:
    cells = [cell.strip() for row in rows for cell in row]
    commas = [cell for cell in cells if _DECIMAL_COMMA.fullmatch(cell)]
    points = any(_DECIMAL_POINT.fullmatch(cell) for cell in cells)
    grouped = all(_THOUSANDS.fullmatch(cell) for cell in commas)

    return "," if separator != "," and commas and not points and not grouped else "."


def _has_names(rows: Sequence[Sequence[str]], comma: bool) -> bool:
    """Whether the first row has names."""
    first, *others = [[cell.strip() for cell in row] for row in rows if row] or [[]]
    spelled = [number(cell, comma=comma) for cell in first]
    numbers = [value for value in spelled if value is not None]
    if not others:
        return bool(first) and not numbers
    if len(first) == len(others[0]) - 1:
        return True

    words = {j: cell for j, cell in enumerate(first) if cell and spelled[j] is None}
    below = {j: [row[j] for row in others if len(row) > j] for j in words}
    for j, cell in words.items():
        filled = [other for other in below[j] if other not in MISSING]
        numeric = sum(number(other, comma=comma) is not None for other in filled)
        # Eight of ten: a few words for missing values may stand among the numbers.
        if cell not in MISSING and numeric > 0.8 * len(filled):
            return True

    # Years next to a word are names too: 1990, 1991, 1992.
    years = len(numbers) > 2 and all(b - a == 1 for a, b in pairwise(numbers))
    if numbers and not (years and len(numbers) < len(first)):
        return False

    return not any(cell in below[j] for j, cell in words.items())


def read_text(source: Source, *, sep: str | None, encoding: str | None, decimal: str | None) -> Raw:
    """The columns of a text table."""
    with source.open(lines=True) as stream:
        sample = stream.read(len(source.head)) + stream.readline()
        # The names of many columns may fill it; then one row has to be seen too.
        sample += stream.readline() if sample.count(b"\n") < 2 else b""

    word = encoding or guess_encoding(sample)
    # A sample of UTF-16 that ends after a line lacks that character's second byte.
    text = sample.decode(word, errors="ignore" if word.startswith("utf") else "replace")
    if "\0" in text:
        raise ValueError("it has zero bytes; --encoding utf-16 may help")

    # Checked before the guesses, which split the lines several times.
    first = text.lstrip().partition("\n")[0]
    source.limits.check(columns=1 + max(first.count(mark) for mark in (sep or ",;\t|")))
    hint = "\t" if ".tsv" in source.name.lower() else ""
    dialect = guess_dialect(text, sep=sep, decimal=decimal, hint=hint)
    try:
        frame, notes = _parsed(source, dialect, word)
    except UnicodeDecodeError:
        # The first megabyte was UTF-8, but the rest is not.
        if encoding is not None:
            raise

        return read_text(source, sep=sep, encoding="cp1252", decimal=decimal)

    findings = [*_remarks(dialect, word), *notes]
    return Raw(frame, comma=dialect.decimal == ",", findings=findings)


def _remarks(dialect: Dialect, encoding: str) -> list[Finding]:
    """Describe how the text was read, if it differs from plain CSV."""
    parts = []
    if word := _SEPARATORS.get(dialect.separator):
        parts.append(f"columns are separated by {word} (--sep)")
    if dialect.decimal == ",":
        parts.append("numbers have a decimal comma (--decimal)")
    if encoding not in _PLAIN:
        parts.append(f"the encoding is {encoding} (--encoding)")
    if dialect.names_line is None:
        parts.append("the first line has no names")
    elif dialect.names_line > 1:
        parts.append(f"the names are in line {dialect.names_line}")

    return [Finding("dialect", f"how the text was read: {'; '.join(parts)}")] if parts else []


def _parsed(source: Source, dialect: Dialect, encoding: str) -> tuple[pd.DataFrame, list[Finding]]:
    """The table, without the notes below it, and notes on lines of other lengths."""
    frame, problem = None, None
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
        what = f"the notes below the table, from line {footer} on, were ignored"
        notes.append(Finding("footer", what))
    elif problem is not None:
        raise problem

    if short:
        lines = ", ".join(map(str, short[:5])) + ", ..." * (len(short) > 5)
        word = f"line {lines} is" if len(short) == 1 else f"lines {lines} are"
        what = f"{word} shorter than {len(dialect.names)} fields: the rest counts as missing"
        notes.append(Finding("short", what, "complete them if the values are known"))

    return frame, notes


def _parse(
    source: Source, dialect: Dialect, encoding: str, lines: int | None = None
) -> pd.DataFrame:
    """All rows in the first ``lines`` lines, or in the whole file."""
    with source.open(lines=True) as stream, warnings.catch_warnings(action="ignore"):
        kept = islice(_lines(stream, dialect, encoding), lines)
        frame = pd.read_csv(
            io.StringIO("".join(kept)) if dialect.comment or lines is not None else stream,
            sep=r"\s+" if dialect.separator == BLANKS else dialect.separator,
            header=None,
            names=range(len(dialect.names)),
            index_col=False,
            skiprows=dialect.skip,
            nrows=source.limits.rows + 1,
            quotechar=dialect.quote,
            skipinitialspace=True,
            decimal=dialect.decimal,
            na_values=MISSING,
            keep_default_na=False,
            encoding="utf-8" if encoding in _PLAIN else encoding,
            encoding_errors=_errors(encoding),
        )

    return frame.set_axis(list(dialect.names), axis=1)


def _errors(encoding: str) -> str:
    """What to do about bytes that cannot be decoded: Windows-1252 is only the fallback."""
    return "replace" if encoding == "cp1252" else "strict"


def _lines(stream: IO[bytes], dialect: Dialect, encoding: str) -> Iterator[str]:
    """The lines of a text, without comments."""
    for line in io.TextIOWrapper(stream, encoding=encoding, errors=_errors(encoding)):
        if not is_comment(line, dialect.comment):
            yield line


def _uneven_lines(source: Source, dialect: Dialect, encoding: str) -> tuple[list[int], int | None]:
    """The line numbers of short lines, and of the first note at the end, if there are any.

    Refuses a table with a line that is too long. Lines are counted from 1, without comments.
    """
    short: list[int] = []
    notes: list[int] = []
    with source.open(lines=True) as stream:
        below = islice(_lines(stream, dialect, encoding), dialect.skip, None)
        rows = split(below, dialect.separator, dialect.quote)
        for fields in filter(None, rows):
            line = dialect.skip + rows.line_num
            excess = len(fields) - len(dialect.names)
            # Texts alone, or a sentence with more commas than the table has columns.
            texts = fields if excess < 0 else fields[: 1 if excess else 0]
            is_note = texts and all(number(text) is None for text in texts)
            if is_note and len(notes) < _FOOTER:
                notes.append(line)
                continue

            # A row of the table, so the lines above it were not notes.
            short += notes + [line] * (excess < 0)
            notes = []
            if excess > 0:
                many = f"{len(fields)} fields instead of {len(dialect.names)} in line {line}"
                raise ValueError(f"{many}; another --sep may help")

    return short, notes[0] if notes else None
