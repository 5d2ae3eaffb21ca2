"""LIBSVM's sparse text: a label, then ``index:value`` for what is not zero."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ravine.arguments import FloatArray, Refusal
from ravine.tables.limits import Limits
from ravine.tables.source import Source, broken

_NUMBER = rb"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_ROW = re.compile(rb"\s*" + _NUMBER + rb"(?:\s+(?:qid|\d+):\S+)+\s*(?:#.*)?")
_LABEL = re.compile(rb"\s*" + _NUMBER + rb"\s*(?:#.*)?")
_CLUTTER = re.compile(rb"#[^\n]*|\bqid:\S+")
_BLOCK = 2**20
"""Bytes that are parsed at a time, up to the end of the line."""
_BLANKS = bytes.maketrans(b":", b" ")


def looks_like_libsvm(head: bytes) -> bool:
    """Whether the first lines are all a label with pairs, or a label alone."""
    lines = [line for line in head[:65_536].splitlines()[:50] if line.strip()]
    whole = lines[:-1] if len(lines) > 1 and len(head) >= 65_536 else lines
    pairs = sum(_ROW.fullmatch(line) is not None for line in whole)
    alone = sum(_LABEL.fullmatch(line) is not None for line in whole)

    return pairs > 0 and pairs + alone == len(whole)


def read_libsvm(source: Source, limits: Limits) -> tuple[Any, FloatArray]:
    """The rows as a scipy CSR matrix, and the labels; indices count from 1, or 0 if one is 0."""
    from scipy.sparse import csr_matrix

    parts = []
    entries = 0
    with source.open(limits, lines=True) as stream:
        while block := stream.read(_BLOCK):
            labels, counts, index, values = _parse(block + stream.readline(), source.name)
            limits.check_shape(0, int(index.max(initial=0)))
            parts.append((labels, counts, index.astype(np.int32), values))
            entries += len(index)
            limits.check_bytes(12 * entries, what="of numbers")

    labels, counts, columns, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    limits.check_shape(len(labels), 1)
    starts = np.concatenate([[0], np.cumsum(counts)])
    first = int(columns.min(initial=1))
    width = int(columns.max(initial=first - 1)) - first + 1
    X = csr_matrix((values, columns - first, starts), shape=(len(labels), width))
    X.sum_duplicates()

    return X, labels


def _parse(block: bytes, name: str) -> tuple[FloatArray, Any, Any, FloatArray]:
    """Labels, number of pairs in each row, and the pairs, of a block of whole lines."""
    if b"#" in block or b"qid" in block:
        block = _CLUTTER.sub(b"", block)

    lines = [line for line in block.split(b"\n") if line and not line.isspace()]
    pairs = np.array([line.count(b":") for line in lines], dtype=np.int64)
    words = b" ".join(lines).translate(_BLANKS).split()
    if len(words) != len(lines) + 2 * pairs.sum():
        raise broken(name, "LIBSVM", "a row that is not a label and pairs index:value")

    try:
        numbers = np.array(words, dtype=np.float64)
    except ValueError as error:
        raise broken(name, "LIBSVM", error) from None

    # Row k starts after k labels and the pairs before it.
    starts = np.arange(len(lines)) + 2 * (np.cumsum(pairs) - pairs)
    rest = np.ones(len(numbers), dtype=bool)
    rest[starts] = False
    inner = numbers[rest].reshape(-1, 2)
    wrong = inner[(inner[:, 0] < 0) | (inner[:, 0] != np.floor(inner[:, 0])), 0]
    if wrong.size:
        raise Refusal("DATA", "of whole indices, 0 or more", f"{wrong[0]:g}", f"correct {name}")

    return numbers[starts], pairs, inner[:, 0], inner[:, 1]
