"""The prose of sources, README and docs uses the words that the field uses."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "src").rglob("*.py")),
]
INSTEAD = {
    r"\b(growth|rate|shrinks|falls|grows by [\d.]+|\d) a step\b": "rate per step",
    r"\bpulls?\b": "gradient",
    r"\bFate\b": "Outcome",
    r"\bwish(es|ed)?\b": "option, request",
    r"\bodd[ _](sum|term)s?\b": "inconsistent term",
    r"\b[Uu]sual (Nesterov|parameters)\b": "standard Nesterov, standard parameters",
    r"\bfor want of\b": "not computed within",
    r"\bmean-square safe\b": "stable in mean square",
    r"\bof no use\b": "does not learn",
}
"""Patterns that a reader stumbles over, and what to write."""


@pytest.mark.parametrize("pattern", INSTEAD)
def test_words_are_those_of_the_field(pattern):
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in FILES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(pattern, line)
    ]
    assert found == [], f"write {INSTEAD[pattern]!r} instead"
