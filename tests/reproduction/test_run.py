"""The reproduction resumes, and leaves whole files only."""

import json

import pytest
import xarray as xr

from ravine.figures.catalogue import FIGURES, Entry
from ravine.reproduction import run as reproduction
from ravine.reproduction.run import carry_out, plan

FAST = ("nested-regions", "turning-quadratics")


def run(out, **options):
    lines = []
    done = carry_out(plan(FAST, out=out, quick=True, **options), lines.append)
    return done, lines


@pytest.fixture(autouse=True)
def few_claims(monkeypatch):
    """Only the claims that these figures decide."""
    kept = tuple(claim for claim in reproduction.CLAIMS if set(claim.needs) & set(FAST))
    monkeypatch.setattr(reproduction, "CLAIMS", kept)


def test_writes_data_pictures_claims_and_manifest(tmp_path):
    done, _ = run(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        *(f"{name}.{kind}" for name in FAST for kind in ("nc", "png", "svg")),
        "claims.json",
        "manifest.json",
    }
    claims = json.loads((tmp_path / "claims.json").read_text())
    assert {claim["id"]: claim["verdict"] for claim in claims} == {
        "sufficient-not-necessary": "holds",
        "joint-spectral-radius-difficult": "holds with a correction",
    }
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert set(manifest["figures"]) == set(FAST)
    assert manifest["verdicts"]["holds"] == 1
    assert {"ravine", "numpy", "numba", "python"} <= set(manifest["versions"])
    stored = xr.load_dataset(tmp_path / "turning-quadratics.nc", engine="scipy")
    xr.testing.assert_equal(stored, done.data["turning-quadratics"])


def test_resumes_and_remembers_how_long_it_took(tmp_path):
    first = plan(FAST, out=tmp_path, quick=True)
    assert "not run here before" in first.sentence
    assert first.ready == ()
    done, _ = run(tmp_path)
    before = (tmp_path / "turning-quadratics.nc").read_bytes()
    second = plan(FAST, out=tmp_path, quick=True)
    assert second.ready == FAST
    assert "2 of them there already" in second.sentence
    assert "last time" in second.sentence
    again, lines = run(tmp_path)
    assert sum("there already" in line for line in lines) == 2
    assert (tmp_path / "turning-quadratics.nc").read_bytes() == before
    assert [j.data for j in again.judged] == [j.data for j in done.judged]
    assert plan(FAST, out=tmp_path, quick=True, fresh=True).ready == ()


def test_other_settings_and_broken_files_run_again(tmp_path):
    run(tmp_path)
    other = plan(("nested-regions",), out=tmp_path, resolution=12)
    assert other.ready == ()
    path = tmp_path / "nested-regions.nc"
    path.write_bytes(path.read_bytes()[:300])
    assert plan(FAST, out=tmp_path, quick=True).ready == ("turning-quadratics",)


def test_a_missing_picture_is_drawn_again(tmp_path):
    run(tmp_path)
    (tmp_path / "nested-regions.svg").unlink()
    _, lines = run(tmp_path)
    assert (tmp_path / "nested-regions.svg").exists()
    assert any("drawn again" in line for line in lines)


@pytest.mark.parametrize("stage", ["compute", "draw"])
def test_an_interrupt_leaves_whole_files_only(tmp_path, monkeypatch, stage):
    def stop(*_, **__):
        raise KeyboardInterrupt

    entry = FIGURES["turning-quadratics"]
    parts = {"compute": entry.compute, "draw": entry.draw, stage: stop}
    broken = Entry(entry.title, entry.caption, findings=entry.findings, seeded=False, **parts)
    monkeypatch.setitem(FIGURES, "turning-quadratics", broken)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    data = {"turning-quadratics.nc"} if stage == "draw" else set()
    assert names == {f"nested-regions.{kind}" for kind in ("nc", "png", "svg")} | data
    monkeypatch.setitem(FIGURES, "turning-quadratics", entry)
    assert set(plan(FAST, out=tmp_path, quick=True).ready) == {
        n[:-3] for n in names if n[-3:] == ".nc"
    }
    run(tmp_path)
    assert (tmp_path / "turning-quadratics.png").exists()


def test_a_file_that_fails_half_way_is_not_left(tmp_path, monkeypatch):
    def half(figure, path, kind):
        path.write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(reproduction, "save_picture", half)
    with pytest.raises(OSError, match="disk full"):
        run(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"nested-regions.nc"}


def test_refusals_name_the_choices(tmp_path):
    with pytest.raises(ValueError, match=r"figure must be one of figure-1, .*got 'figure-9'"):
        plan(("figure-9",), out=tmp_path)
    with pytest.raises(ValueError, match="device must be one of auto, cpu, cuda, got 'tpu'"):
        plan(out=tmp_path, device="tpu")
    with pytest.raises(ValueError, match="resolution must be at least 8"):
        plan(out=tmp_path, resolution=2)
    assert list(tmp_path.iterdir()) == []
