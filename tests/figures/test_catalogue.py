"""Every figure is in the catalogue, under its own name."""

from ravine.figures.catalogue import FIGURES


def test_names_are_those_of_the_paper_then_ours():
    assert list(FIGURES)[:5] == ["figure-1", "figure-2", "figure-3", "least-squares", "logistic"]
    assert len({entry.title for entry in FIGURES.values()}) == len(FIGURES)
