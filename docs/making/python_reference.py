"""Pages of the Python reference, from the public names and their docstrings."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import ravine

PAGES = {
    "reference/python.md": (
        "Python",
        "Where to find what. Every name is reachable as `ravine.<name>`, unless its heading says "
        "otherwise.",
        (),
    ),
    "reference/rates.md": (
        "Rates",
        "How fast, on which class of problems: the ladder, from exact gradients to every finite "
        "sum in every order. Parameters broadcast like NumPy arrays.",
        ("ravine.curvature", "ravine.methods", "ravine.linear_method", "ravine.catalogue",
         "ravine.theory.bracket", "ravine.theory.ladder", "ravine.theory.joint_spectral_radius"),
    ),
    "reference/noise.md": (
        "Noise",
        "To what error: exact second moments under noise that does not depend on the point.",
        ("ravine.theory.noise",),
    ),
    "reference/finite-sums.md": (
        "Finite sums",
        "One given sum and one order of its terms.",
        ("ravine.sampling", "ravine.theory.finite_sums"),
    ),
    "reference/bounds.md": (
        "Bounds",
        "What the theorems promise: `ravine.bounds.<name>`, objects with a rate, a floor and an "
        "envelope.",
        ("ravine.bounds",),
    ),
    "reference/tuning.md": (
        "Tuning and data",
        "Parameters with a reason; a table of your own, diagnosed.",
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
        "`ravine.conventions.<name>`: the same method in the words of other libraries.",
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
            thing = getattr(_module(home), name)
            if not hasattr(thing, "__qualname__"):
                continue  # a constant: its value is in the page of what uses it
            lines += [f"::: {thing.__module__}.{thing.__qualname__}", ""]
    return "\n".join(lines)


def _contents() -> str:
    title, sentence, _ = PAGES["reference/python.md"]
    lines = [f"# {title}", "", sentence, "", "| page | names |", "|---|---|"]
    for file, (subject, _, homes) in PAGES.items():
        names = [name for home in homes for name in names_of(home)]
        if names:
            listed = ", ".join(f"`{name}`" for name in sorted(names, key=str.lower))
            lines.append(f"| [{subject}]({file.removeprefix('reference/')}) | {listed} |")
    return "\n".join(lines) + "\n"


def _module(home: str) -> Any:
    return ravine.bounds if home == "ravine.bounds" else import_module(home)
