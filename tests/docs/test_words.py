"""The prose of sources, README and docs uses the words that the field uses."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").glob("*.py")),
    *(
        path
        for ending in ("*.py", "*.toml", "*.js", "*.html")
        for path in sorted((ROOT / "src" / "ravine").rglob(ending))
        if "vendor" not in path.parts
    ),
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
    r"\bbend(s|ing)?\b": "Hessian-vector product, distort",
    r"\bcut anew\b|\brecut\b": "reshuffled every epoch",
    r"\bspreads?\b": "variance, range, noise scale or share",
    r"\b(has|the) room\b|\bhops?\b": "space, margin; package, module or call",
    r"\bwhat (was|is) found\b": "result, value, estimate",
    r"\blr \S+, decay\b": "linear decay",
    r"\b[Nn]obody\b": "no one does it: say what happens",
    r"\b(is|and) said\b": "is reported, is printed",
    r"\bare left in the end\b|\bexcess loss (is|are) left\b": "remain",
    r"\bin the words of\b": "in the convention of, translated to",
    r"\bwinner near its edge\b": "close to diverging",
    r"\bWhat came\b|\brisk said\b": "the observed frequency, the predicted risk",
    r"\bsum of itself\b|\bseals?\b": "checksum",
    r"\bis no floor\b|\bno floor\b": "no noise floor",
    r"\bWhose noise\b": "noise",
    r"\bclass Cut\b|\bcuts? anew\b": "batching",
    r"(?<!def )\btold\(": "request, answer",
    r"\bin the house\b|\bof the house\b|\b(sub-)?rooms?\b(?! =|\)|,)": "package, module, margin",
    r"\bsafe in mean square\b": "stable in mean square",
    r"\b[Uu]sual(ly)? (textbook|setting)\b": "textbook, standard",
    r"\bis lowered\b": "is reduced",
    r"\bspeaks? of\b": "covers, describes, is about",
    r"\banew\b": "again",
    r"\bmends?\b": "repair, correct",
    r"\bwhat was asked\b": "the request, the given values",
    r"\bfound( =|: |\.|\[)": "result, minima, values: say which",
    r"\busual( =|: |\(|\[)": "default, standard, common",
    r"\b(said|told)( =|\.[a-z]|\[)": "message, reply, state",
    r"\b(told|tell) apart\b": "distinguish",
    r"\bput down to\b": "attributed to",
    r"\basked for\b": "requested, on first use",
    r"\bon the way\b": "temporary",
    r"\bthe more so\b": "and more so",
    r"\ba (thread|row|step|batch|number) a (coordinate|trajectory|step|lane|row)\b": "per",
    r"\bleast (expected|guaranteed|loss|error|rate|variance|curvature)\b": "smallest",
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
