"""Pages of the Python reference, from the public names and their docstrings."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from typing import Any

import ravine

PAGES = {
    "reference/python.md": (
        "Python",
        "All public names. Each is reachable as `ravine.<name>`, unless its page says otherwise.",
        (),
    ),
    "reference/rates.md": (
        "Rates",
        "How fast a method converges on a class of problems: the ladder, from exact gradients to "
        "every finite sum in every order. Parameters broadcast like NumPy arrays.",
        ("ravine.curvature", "ravine.methods", "ravine.catalogue",
         "ravine.theory.bracket", "ravine.theory.ladder", "ravine.theory.joint_spectral_radius"),
    ),
    "reference/noise.md": (
        "Noise",
        "To what error a method converges: exact second moments under additive noise.",
        ("ravine.theory.noise",),
    ),
    "reference/finite-sums.md": (
        "Finite sums",
        "Growth and noise of one given sum of functions, for one order of its terms.",
        ("ravine.sampling", "ravine.theory.finite_sums"),
    ),
    "reference/bounds.md": (
        "Bounds",
        "What the theorems guarantee: `ravine.bounds.<name>`, objects with a rate, a noise floor "
        "and an envelope.",
        ("ravine.bounds",),
    ),
    "reference/tuning.md": (
        "Tuning and data",
        "Parameters with a guarantee; a diagnosis of your own table.",
        ("ravine.theory.tuning.recommend", "ravine.theory.tuning.batch_gain",
         "ravine.theory.tuning.useful_batch", "ravine.theory.tuning.rescale",
         "ravine.theory.tuning.league", "ravine.diagnosis", "ravine.tables", "ravine.web"),
    ),
    "reference/engine.md": (
        "Runs and sweeps",
        "Methods run on problems: one trajectory, or a plane of parameters.",
        ("ravine.engine.run", "ravine.engine.sweep", "ravine.engine.measures",
         "ravine.engine.restart", "ravine.engine.schedule"),
    ),
    "reference/problems.md": (
        "Problems",
        "`ravine.problems.<name>`: objectives that know their curvature, minimiser and terms.",
        ("ravine.problems",),
    ),
    "reference/torch.md": (
        "PyTorch",
        "`ravine.torch.<name>` (extra `torch`): advice, a monitor, an optimizer.",
        ("ravine.torch",),
    ),
    "reference/conventions.md": (
        "Conventions",
        "`ravine.conventions.<name>`: the same method in the conventions of other libraries.",
        ("ravine.conventions",),
    ),
}  # fmt: skip
"""File, title, a sentence, and the homes whose public names it shows."""

_NAMES = {"ravine.conventions": ("convert", "rule_of", "Conversion", "Rule")}
"""Public names of a module without ``__all__``."""


def names_of(home: str) -> tuple[str, ...]:
    """Public names that a home has: those of ``ravine``, else those of its ``__all__``."""
    if home in ravine._HOMES:
        return ravine._HOMES[home]

    if home in _NAMES:
        return _NAMES[home]

    return tuple(_module(home).__all__)


def pages() -> dict[str, str]:
    """Every page of the reference, by its file: headings and places of docstrings."""
    made = {}
    for file, (title, sentence, homes) in PAGES.items():
        if homes:
            made[file] = _page(title, sentence, [(home, names_of(home)) for home in homes])
    made["reference/python.md"] = _contents()
    return made


def _page(title: str, sentence: str, homes: list[tuple[str, tuple[str, ...]]]) -> str:
    lines = [f"# {title}", "", sentence, ""]
    for home, names in homes:
        for name in names:
            thing = _documented(home, name)
            if thing is not None:
                lines += [f"::: {_anchor(thing)}", ""]
    return "\n".join(lines)


def _contents() -> str:
    """Every public name with its first sentence, page by page, as a link to where it is shown."""
    title, sentence, _ = PAGES["reference/python.md"]
    lines = [f"# {title}", "", sentence, ""]
    for file, (subject, _, homes) in PAGES.items():
        page = file.removeprefix("reference/")
        rows = [row for home in homes for row in _rows(page, home)]
        if rows:
            lines += [f"## {subject}", "", f"[All of {subject}]({page})", ""]
            lines += ["| name | what it does |", "|---|---|", *sorted(rows, key=str.lower), ""]
    return "\n".join(lines)


def _rows(page: str, home: str) -> list[str]:
    rows = []
    for name in names_of(home):
        thing = _documented(home, name)
        if thing is not None:
            summary = " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())
            rows.append(f"| [`{name}`]({page}#{_anchor(thing)}) | {_in_a_cell(summary)} |")
    return rows


def _in_a_cell(summary: str) -> str:
    r"""A docstring's sentence as Markdown in a table: the star of x* is not emphasis.

    >>> _in_a_cell("Minimise E f - f* over ``mu | L``.")
    'Minimise E f - f\\* over `mu \\| L`.'
    """
    parts = summary.replace("|", r"\|").split("``")
    words = [part if k % 2 else _as_text(part) for k, part in enumerate(parts)]
    return "`".join(words)


def _as_text(words: str) -> str:
    return re.sub(r"([*_])", r"\\\1", words).replace("<", "&lt;")


def _documented(home: str, name: str) -> Any:
    """The thing behind a name; None for a constant, whose value is shown with what uses it."""
    thing = getattr(_module(home), name)
    return thing if hasattr(thing, "__qualname__") else None


def _anchor(thing: Any) -> str:
    return f"{thing.__module__}.{thing.__qualname__}"


def _module(home: str) -> Any:
    return ravine.bounds if home == "ravine.bounds" else import_module(home)
