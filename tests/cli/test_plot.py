import json

import numpy as np
import pytest
import xarray as xr

from ravine.engine.sweep import sweep
from ravine.problems import worst_case_quadratic


@pytest.fixture
def store(tmp_path):
    """A small sweep, kept; five tiles."""
    place = tmp_path / "sweep.zarr"
    axes = np.linspace(0.0, 0.3, 10), np.linspace(0.0, 0.9, 8)
    sweep(worst_case_quadratic(8, 4), *axes, steps=60, tile=16, store=place)
    return place


@pytest.mark.parametrize("name", ["a.png", "a.svg", "a.pdf"])
def test_pictures(ravine, store, tmp_path, name):
    out = tmp_path / "new" / name
    shown = ravine("plot", store, "--measure", "outcome", "--out", out)
    assert shown.code == 0
    said = f"Wrote {out}\noutcome of worst_case_quadratic, 100 % of the pixels\n"
    assert shown.out.startswith(said)
    assert shown.words.endswith("ravine map --Q 8")
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[name[-3:]]
    assert out.read_bytes().startswith(start)
    assert [path.name for path in out.parent.iterdir()] == [name]


def test_an_unfinished_store_is_drawn_as_far_as_it_is(ravine, store, tmp_path):
    (store / "tiles" / "00000001.json").unlink()
    out = tmp_path / "a.png"
    shown = json.loads(
        ravine("plot", store, "--measure", "diverged_at", "--out", out, "--json").out
    )
    assert set(shown) == {"store", "measure", "out", "share"}
    assert shown["measure"] == "diverged_at"
    assert shown["share"] == pytest.approx(0.8)


def test_a_netcdf_file_is_drawn_too(ravine, tmp_path):
    axes = np.linspace(0.0, 0.3, 4), np.linspace(0.0, 0.9, 4)
    data = sweep(worst_case_quadratic(8, 4), *axes, steps=60, measure=["rate", "floor"])
    data.to_netcdf(tmp_path / "sweep.nc", engine="scipy")
    shown = ravine("plot", tmp_path / "sweep.nc", "--out", tmp_path / "a.png")
    assert shown.code == 0
    assert "rate of worst_case_quadratic" in shown.words


def test_a_netcdf_file_that_is_no_sweep_is_one_line(refused, tmp_path):
    file = tmp_path / "sweep.nc"
    xr.Dataset({"rate": ("alpha", [0.5])}, {"alpha": [0.1]}).to_netcdf(file, engine="scipy")
    assert "a NetCDF file of a sweep, got" in refused("plot", file, "--out", tmp_path / "a.png")
    assert "without mu" in refused("plot", file, "--out", tmp_path / "a.png")
    file.write_bytes(file.read_bytes()[:60])
    assert "or it is damaged; write it again" in refused("plot", file, "--out", tmp_path / "a.png")


def test_a_damaged_store_is_one_line_with_the_remedy(refused, store, tmp_path):
    (store / "rate" / "c" / "1" / "0").write_bytes(b"")
    line = refused("plot", store, "--out", tmp_path / "a.png")
    assert "where tile 1 was changed: ravine sweep SPEC --out" in line
    assert line.rstrip().endswith("--resume computes it again")


def test_bad_input_is_one_line_and_leaves_no_file(refused, store, tmp_path):
    out = tmp_path / "a.png"
    assert "measure must be one of rate, " in refused("plot", store, "--measure", "x", "--out", out)
    assert "out must be a file ending in" in refused("plot", store, "--out", tmp_path / "a.doc")
    assert "there is no such" in refused("plot", tmp_path / "no.zarr", "--out", out)
    assert "there is no such" in refused("plot", tmp_path / "no.nc", "--out", out)
    assert not out.exists()
