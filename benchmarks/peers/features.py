"""Which software answers which question: the table of features, as data."""

from __future__ import annotations

QUESTIONS = {
    "exact": "rate with exact gradients",
    "functions": "classes beyond quadratics (convex, proximal, operators)",
    "sums": "worst case over every finite sum and sampling",
    "batches": "mean-square rate of given mini-batches",
    "floor": "noise floor, exactly",
    "maps": "a map of 10^6 parameters in seconds",
    "proof": "a certificate checked in rational arithmetic",
    "data": "an answer from a table of data",
    "network": "an answer for a PyTorch network",
    "runs": "runs the method to check itself",
}

ANSWERS = {
    "ravine": {
        "exact", "sums", "batches", "floor", "maps", "proof", "data", "network", "runs",
    },
    "AutoLyap": {"exact", "functions"},
    "PEPit": {"exact", "functions"},
    "cvxpy, by hand": {"exact", "sums"},
    "SciPy, by hand": {"floor"},
    "torch-lr-finder": {"network", "runs"},
    "Lightning's finder": {"network", "runs"},
    "curvlinops": set[str](),
}  # fmt: skip
"""Read from each one's documentation and tried in the comparisons of this folder."""


def table() -> list[str]:
    """Rows of a Markdown table: a question a row, a program a column."""
    names = list(ANSWERS)
    rows = ["| " + " | ".join(["", *names]) + " |", "|---" * (len(names) + 1) + "|"]
    for key, words in QUESTIONS.items():
        marks = ["yes" if key in ANSWERS[name] else "" for name in names]
        rows.append("| " + " | ".join([words, *marks]) + " |")
    return rows
