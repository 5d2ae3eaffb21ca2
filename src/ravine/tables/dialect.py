"""How a text file is written: encoding, separator, quotes, decimal mark, comments, names."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import multimode
from typing import Any

from ravine.tables.words import MISSING, number

BLANKS = " "
"""The separator of files whose columns are separated by any number of blanks."""
_SEPARATORS = (";", "\t", ",", "|", BLANKS)
"""In order of preference where several fit: a comma may be a decimal mark, a blank part of a
text."""
_COMMENTS = ("#", "%", "//")
_LOOKED_AT = 200
"""Lines that the guesses are based on."""
_PREAMBLE = 40
"""Lines of title or remarks that may precede the table."""
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
_DECIMAL_POINT = re.compile(r"[+-]?\d+\.\d+")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+")
_SINGLE_QUOTES = re.compile(r"(?m)(?:^|[,;\t| ])'[^'\n]*'(?=[,;\t| ]|$)")
_DECLARED = re.compile(r'"?sep=(.)"?')
"""The first line in which Excel writes the separator."""


@dataclass(frozen=True)
class Dialect:
    """How a text file is written.

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

    # With or without a mark.
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
    names: list[str] = []
    if headed:
        names = [cell.strip() for cell in rows[first]]
    elif remarks:
        said = remarks[-1].lstrip().removeprefix(comment)
        (words,) = split([said], separator, quote)
        names = [word.strip() for word in words] if len(words) == width else []

    if len(names) == width - 1:
        names = ["", *names]
    if not names:
        names = [f"column {j}" for j in range(width)]

    skip = first + headed + bool(declared)
    where = skip if headed else None
    return Dialect(separator, quote, mark, comment, tuple(names), skip, where)


def _guess_arff(text: str) -> Dialect | None:
    """Weka's format: names in its own header, then plain commas."""
    if not re.search(r"(?im)^@relation", text[:20_000]):
        return None
    data = re.search(r"(?im)^@data[ \t]*$", text)
    if data is None:
        return None

    header = text[: data.end()]
    names = re.findall(r"(?im)^@attribute\s+('[^']+'|\"[^\"]+\"|\S+)", header)
    skip = sum(not is_comment(line, "%") for line in header.splitlines())
    plain = tuple(name.strip("'\"") for name in names)

    return Dialect(",", "'", ".", "%", plain, skip, 0) if plain else None


def is_comment(line: str, mark: str) -> bool:
    """Whether a line is a comment; a mark that stands alone in its field is a name."""
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
    best = hint or ","
    score = 0.0
    for separator in _SEPARATORS:
        rows = [row for row in split(lines, separator, quote) if row]
        width = _usual_width(rows)
        if width < 2:
            continue

        equal = sum(len(row) == width for row in rows) / len(rows)
        # The separator of the file's ending wins against one that fits equally well.
        equal += 0.01 * (separator == hint)
        if equal > score + 1e-9:
            best = separator
            score = equal

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
    numbers = [value for cell in first if (value := number(cell, comma=comma)) is not None]
    if not others:
        return bool(first) and not numbers
    if len(first) == len(others[0]) - 1:
        return True

    for j, cell in enumerate(first):
        filled = [row[j] for row in others if len(row) > j and row[j] not in MISSING]
        numeric = sum(number(other, comma=comma) is not None for other in filled)
        is_word = cell not in MISSING and number(cell, comma=comma) is None
        # Eight of ten: a few words for missing values may stand among the numbers.
        if is_word and numeric > 0.8 * len(filled):
            return True

    # Years are names too: 1990, 1991, 1992 beside a word.
    years = len(numbers) > 2 and all(b - a == 1 for a, b in pairwise(numbers))
    if numbers and not (years and len(numbers) < len(first)):
        return False

    words = [j for j, cell in enumerate(first) if cell and number(cell, comma=comma) is None]
    return not any(first[j] in {row[j] for row in others if len(row) > j} for j in words)
