"""How a text file is written: encoding, separator, quotes, decimal mark, comments, names."""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ravine.arguments import Refusal
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
_DECLARED = re.compile(r'"?sep=(.)"?')
"""The first line in which Excel writes the separator."""


@dataclass(frozen=True)
class Dialect:
    """How a text file is written.

    Attributes
    ----------
    encoding, separator, quote, decimal
        Names and characters; the separator ``" "`` means any number of blanks.
    comment
        The start of comment lines, or nothing.
    names
        Names of the columns.
    skip
        Lines before the first row of the table, comment lines not counted.
    headed
        Whether the names come from the file.
    form
        "text", or "ARFF" if the file starts with a header in that format.
    """

    encoding: str
    separator: str
    quote: str
    decimal: str
    comment: str
    names: tuple[str, ...]
    skip: int
    headed: bool
    form: str = "text"


def guess_encoding(head: bytes, name: str) -> str:
    """The encoding of the first bytes: by a mark, UTF-8 if they are valid, else Windows-1252."""
    for mark, word in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if head.startswith(mark):
            return word

    if b"\0" in head:
        # Plain letters in UTF-16 have a zero in every other byte.
        for first, word in ((1, "utf-16-le"), (0, "utf-16-be")):
            if head[first:2000:2].count(0) > 0.9 * len(head[first:2000:2]):
                return word

        raise Refusal("DATA", "a table of text", f"zero bytes in {name}", "write it again as CSV")

    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "cp1252"

    return "utf-8"


def guess_dialect(
    text: str, *, sep: str | None, decimal: str | None, encoding: str, hint: str = ""
) -> Dialect:
    """The dialect of a text from its first lines; ``hint`` is the separator of the file's ending.

    A separator fits if it splits the lines into equal numbers of fields. The first line has names
    if it has words above numbers, or words that do not occur again below.
    """
    arff = _guess_arff(text, encoding)
    if arff is not None:
        return arff

    lines = text.splitlines()[: _LOOKED_AT + _PREAMBLE]
    declared = _DECLARED.fullmatch(lines[0]) if lines else None
    if declared:
        sep = sep or declared.group(1)
        lines = lines[1:]

    comment = next((mark for mark in _COMMENTS if any(is_comment(x, mark) for x in lines)), "")
    remarks = [line for line in lines if comment and is_comment(line, comment)]
    body = [line for line in lines if not (comment and is_comment(line, comment))]
    quote = _guess_quote(body)
    separator = sep or _guess_separator(body, quote, hint)
    rows = split(body, separator, quote)
    width = _usual_width(rows)
    first = next((k for k, row in enumerate(rows) if _starts_table(rows, k, width)), 0)
    mark = decimal or _guess_decimal(rows[first:], separator)
    names: list[str] = []
    headed = _has_names(rows[first:], mark == ",")

    if headed:
        names = [cell.strip() for cell in rows[first]]
    elif remarks:
        words = split([remarks[-1].lstrip()[len(comment) :]], separator, quote)[0]
        names = [word.strip() for word in words] if len(words) == width else []

    if len(names) == width - 1:
        names = ["", *names]
    if not names:
        names = [f"column {j}" for j in range(width)]

    skip = first + headed + bool(declared)
    return Dialect(encoding, separator, quote, mark, comment, tuple(names), skip, headed)


def _guess_arff(text: str, encoding: str) -> Dialect | None:
    """Weka's format: names in its own header, then plain commas."""
    data = re.search(r"(?im)^@data[ \t]*$", text)
    if data is None or not re.search(r"(?im)^@relation", text[:20_000]):
        return None

    header = [line for line in text[: data.end()].splitlines() if not is_comment(line, "%")]
    names = re.findall(r"(?im)^@attribute\s+('[^']+'|\"[^\"]+\"|\S+)", text[: data.end()])
    plain = tuple(name.strip("'\"") for name in names)
    if not plain:
        return None

    return Dialect(encoding, ",", "'", ".", "%", plain, len(header), True, form="ARFF")


def is_comment(line: str, mark: str) -> bool:
    """Whether a line is a comment; a mark that stands alone in its field is a name."""
    start = line.lstrip()
    return start.startswith(mark) and start[len(mark) : len(mark) + 1] not in (",", ";", "\t", "|")


def _guess_quote(lines: Sequence[str]) -> str:
    joined = "\n".join(lines)
    if '"' in joined:
        return '"'

    single = re.search(r"(?m)(?:^|[,;\t| ])'[^'\n]*'(?=[,;\t| ]|$)", joined)
    return "'" if single else '"'


def split(lines: Sequence[str], separator: str, quote: str) -> list[list[str]]:
    """Split lines into fields; empty lines give none."""
    quoted = any(quote in line for line in lines)
    if separator == BLANKS:
        word = re.compile(rf"{quote}[^{quote}]*{quote}|\S+")
        return [
            [cell.strip(quote) for cell in word.findall(line)] if quoted else line.split()
            for line in lines
        ]

    if quoted:
        try:
            reader = csv.reader(
                [f"{line}\n" for line in lines],
                delimiter=separator, quotechar=quote, skipinitialspace=True,
            )  # fmt: skip
            return list(reader)
        except csv.Error:
            pass

    return [line.split(separator) if line.strip() else [] for line in lines]


def _usual_width(rows: Sequence[Sequence[str]]) -> int:
    counts = Counter(len(row) for row in rows if row)
    return max(counts, key=lambda width: (counts[width], width), default=1)


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
        if separator == hint:
            equal += 0.01
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
    if separator == ",":
        return "."

    cells = [cell.strip() for row in rows for cell in row]
    commas = [cell for cell in cells if _DECIMAL_COMMA.fullmatch(cell)]
    points = any(_DECIMAL_POINT.fullmatch(cell) for cell in cells)
    grouped = all(_THOUSANDS.fullmatch(cell) for cell in commas)

    return "," if commas and not points and not grouped else "."


def _has_names(rows: Sequence[Sequence[str]], comma: bool) -> bool:
    def is_number(cell: str) -> bool:
        return number(cell, comma=comma) is not None

    if len(rows) < 2:
        return bool(rows) and not any(is_number(cell) for cell in rows[0])

    first = [cell.strip() for cell in rows[0]]
    below = [[cell.strip() for cell in row] for row in rows[1:] if row]
    if below and len(first) == len(below[0]) - 1:
        return True

    for j, cell in enumerate(first):
        filled = [row[j] for row in below if len(row) > j and row[j] not in MISSING]
        # Eight of ten: a few words for missing values may stand among the numbers.
        numeric = sum(is_number(other) for other in filled) > 0.8 * len(filled)
        if filled and numeric and cell not in MISSING and not is_number(cell):
            return True

    numbers = [value for cell in first if (value := number(cell, comma=comma)) is not None]
    # Years are names too: 1990, 1991, 1992 beside a word.
    years = len(numbers) > 2 and all(b - a == 1 for a, b in pairwise(numbers))
    if numbers and not (years and len(numbers) < len(first)):
        return False

    words = [j for j, cell in enumerate(first) if cell and not is_number(cell)]
    return not any(first[j] in {row[j] for row in below if len(row) > j} for j in words)
