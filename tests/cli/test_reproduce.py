"""``ravine reproduce`` with its quick settings: all figures, all claims."""

import json

import pytest

from ravine.claims import CLAIMS
from ravine.cli import main
from ravine.figures.catalogue import FIGURES


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """One quick run of everything, with coarse pictures: others look at what they show."""
    out = tmp_path_factory.mktemp("quick")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ravine.figures.style.DPI", 30)
        with pytest.raises(SystemExit) as stop:
            main(["reproduce", "--quick", "--out", str(out)])
    assert not stop.value.code
    return out


def test_every_figure_and_every_claim(quick):
    names = {path.name for path in quick.iterdir()}
    assert names == {
        *(f"{name}.{kind}" for name in FIGURES for kind in ("nc", "png", "svg")),
        "claims.json",
        "manifest.json",
        "report.html",
    }
    claims = json.loads((quick / "claims.json").read_text())
    assert [claim["id"] for claim in claims] == [claim.id for claim in CLAIMS]


def test_verdicts(quick):
    """Those that follow from figures; the others are tested with the claims."""
    found = {c["id"]: c["verdict"] for c in json.loads((quick / "claims.json").read_text())}
    corrected, fails = "holds with a correction", "does not hold"
    expected = {
        "figure-1-rates": "holds",
        "figure-1-noise": corrected,
        "negative-momentum-guarantees": "holds",
        "erratum-5": corrected,
        "erratum-10": corrected,
        "erratum-12": fails,
        "corollary-4.2": "holds",
        "figure-3": corrected,
        "sufficient-not-necessary": "holds",
        "joint-spectral-radius-difficult": corrected,
        "restart": corrected,
        "negative-momentum": corrected,
    }
    assert {name: found[name] for name in expected} == expected
    assert found["figure-logistic"] != fails


def test_json_and_resuming(quick, ravine):
    shown = ravine("reproduce", "restart", "--quick", "--out", quick, "--json")
    assert shown.code == 0
    data = json.loads(shown.out)
    assert set(data) == {"out", "report", "figures", "seconds", "verdicts", "claims"}
    assert list(data["figures"]) == ["restart"]
    assert data["claims"]["restart"] == "holds with a correction"
    plan, *steps = shown.err.split("ravine: ")[1:]
    assert plan.startswith("1 figure at quick settings, 1 of them done already")
    assert "last time" in " ".join(plan.split())
    assert "done already" in steps[0]
    assert max(map(len, shown.err.splitlines())) <= 80


def test_the_list_names_every_figure_and_writes_nothing(ravine, tmp_path):
    shown = ravine("reproduce", "--list", "--out", tmp_path / "none")
    table, following = shown.out.split("\n\n")
    assert [line.split()[0] for line in table.splitlines()[1:]] == list(FIGURES)
    assert "ravine reproduce figure-2" in following
    assert not (tmp_path / "none").exists()


def test_refusals(refused, tmp_path):
    out = tmp_path / "none"
    assert "figure must be one of" in refused("reproduce", "figure-7", "--out", out)
    assert "resolution must be at least 8" in refused("reproduce", "--resolution", 1, "--out", out)
    assert "device must be one of" in refused("reproduce", "--device", "tpu", "--out", out)
    assert not out.exists()
