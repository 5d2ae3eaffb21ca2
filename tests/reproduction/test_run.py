"""The reproduction resumes, and leaves whole files only."""

import json
from dataclasses import replace

import pytest
import xarray as xr

from ravine import reproduction as running
from ravine.figures.catalogue import FIGURES
from ravine.reproduction import plan_reproduction


def test_writes_data_pictures_claims_and_manifest(tmp_path, fast, reproduce):
    done, _ = reproduce(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        *(f"{name}.{kind}" for name in fast for kind in ("nc", "png", "svg")),
        "claims.json",
        "manifest.json",
    }
    claims = json.loads((tmp_path / "claims.json").read_text())
    assert {claim["id"]: claim["verdict"] for claim in claims} == {
        "sufficient-not-necessary": "holds",
        "joint-spectral-radius-difficult": "holds with a correction",
    }
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert set(manifest["figures"]) == set(fast)
    assert manifest["verdicts"]["holds"] == 1
    assert {"ravine", "numpy", "numba", "python"} <= set(manifest["versions"])
    stored = xr.load_dataset(tmp_path / "turning-quadratics.nc", engine="scipy")
    xr.testing.assert_equal(stored, done.data["turning-quadratics"])


def test_resumes(tmp_path, reproduce):
    done, _ = reproduce(tmp_path)
    before = (tmp_path / "turning-quadratics.nc").read_bytes()
    again, lines = reproduce(tmp_path)
    assert sum("done already" in line for line in lines) == 2
    assert (tmp_path / "turning-quadratics.nc").read_bytes() == before
    assert [one.measurements for one in again.judged] == [one.measurements for one in done.judged]


def test_a_missing_picture_is_drawn_again(tmp_path, reproduce):
    reproduce(tmp_path)
    (tmp_path / "nested-regions.svg").unlink()
    _, lines = reproduce(tmp_path)
    assert (tmp_path / "nested-regions.svg").exists()
    assert any("drawn again" in line for line in lines)


@pytest.mark.parametrize("stage", ["compute", "draw"])
def test_an_interrupt_leaves_whole_files_only(tmp_path, monkeypatch, fast, reproduce, stage):
    def stop(*_, **__):
        raise KeyboardInterrupt

    whole = FIGURES["turning-quadratics"]
    monkeypatch.setitem(FIGURES, "turning-quadratics", replace(whole, **{stage: stop}))
    with pytest.raises(KeyboardInterrupt):
        reproduce(tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    data = {"turning-quadratics.nc"} if stage == "draw" else set()
    assert names == {f"nested-regions.{kind}" for kind in ("nc", "png", "svg")} | data

    monkeypatch.setitem(FIGURES, "turning-quadratics", whole)
    stored = {name.removesuffix(".nc") for name in names if name.endswith(".nc")}
    assert set(plan_reproduction(fast, out=tmp_path, quick=True).ready) == stored
    reproduce(tmp_path)
    assert (tmp_path / "turning-quadratics.png").exists()


def test_a_file_that_fails_half_way_is_not_left(tmp_path, monkeypatch, reproduce):
    def half(figure, path, **options):
        path.write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", half)
    with pytest.raises(OSError, match="disk full"):
        reproduce(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"nested-regions.nc"}


def test_a_picture_of_the_same_data_is_the_same_file(tmp_path, fast, reproduce):
    reproduce(tmp_path / "one")
    reproduce(tmp_path / "two")
    for name in fast:
        for kind in running.PICTURES:
            first = (tmp_path / "one" / f"{name}.{kind}").read_bytes()
            assert first == (tmp_path / "two" / f"{name}.{kind}").read_bytes()
