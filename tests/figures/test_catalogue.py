"""Every figure is in the catalogue, under its own name."""

from pathlib import Path

import ravine.figures
from ravine.figures.catalogue import FIGURES


def test_names_are_those_of_the_paper_then_ours():
    assert list(FIGURES)[:5] == ["figure-1", "figure-2", "figure-3", "least-squares", "logistic"]
    assert all(entry.name == name for name, entry in FIGURES.items())
    assert len({entry.title for entry in FIGURES.values()}) == len(FIGURES)


def test_every_entry_is_listed():
    """A figure that is written but not listed would never be made."""
    folder = Path(ravine.figures.__file__).parent
    written = sum(path.read_text("utf-8").count(" = FigureEntry(") for path in folder.glob("*.py"))
    assert written == len(FIGURES)
