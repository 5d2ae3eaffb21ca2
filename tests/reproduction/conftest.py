"""Two figures that take no time, and the claims that they decide."""

from dataclasses import replace

import pytest
from matplotlib.figure import Figure

from ravine import reproduction as running
from ravine.claims import CLAIMS
from ravine.figures.catalogue import FIGURES
from ravine.reproduction import carry_out, plan_reproduction

FAST = ("nested-regions", "turning-quadratics")


@pytest.fixture
def fast():
    """Names of the two figures."""
    return FAST


@pytest.fixture
def few_claims(monkeypatch):
    """Only the claims that these figures decide."""
    kept = tuple(claim for claim in CLAIMS if set(claim.needs) & set(FAST))
    monkeypatch.setattr(running, "CLAIMS", kept)


def line(data):
    """A drawing of the data that takes no time."""
    figure = Figure(figsize=(2.0, 1.0))
    figure.add_subplot().plot(data["Q"], data["Q"])
    return figure


@pytest.fixture
def reproduce(few_claims, monkeypatch):
    """Carry out a quick reproduction of the two: what is done, and what it said."""
    for name in FAST:
        monkeypatch.setitem(FIGURES, name, replace(FIGURES[name], draw=line))

    def run(out, **options):
        lines = []
        plan = plan_reproduction(FAST, out=out, quick=True, **options)
        return carry_out(plan, lines.append), lines

    return run
