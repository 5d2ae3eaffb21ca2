import json

import pandas as pd
import pytest
import xarray as xr


@pytest.mark.parametrize("name", ["map.png", "map.svg", "map.pdf"])
def test_pictures(ravine, tmp_path, name):
    shown = ravine("map", "--Q", 8, "--resolution", 20, "--out", tmp_path / "new" / name)
    assert shown.code == 0
    picture = (tmp_path / "new" / name).read_bytes()
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[name[-3:]]
    assert picture.startswith(start)
    assert [path.name for path in (tmp_path / "new").iterdir()] == [name]


def test_tables_hold_every_rung(ravine, tmp_path):
    for name in ("map.nc", "map.csv"):
        ravine("map", "--Q", 8, "--resolution", 5, "--out", tmp_path / name)
    data = xr.load_dataset(tmp_path / "map.nc", engine="scipy")
    assert dict(data.sizes) == {"alpha_L": 5, "beta": 5}
    assert data.attrs["Q"] == 8.0
    table = pd.read_csv(tmp_path / "map.csv")
    assert len(table) == 25
    for name in ("spectral_radius", "commuting_rate", "worst_case_rate", "contraction"):
        assert table[name].to_numpy() == pytest.approx(data[name].to_numpy().ravel())


def test_json_says_what_was_written(ravine, tmp_path):
    out = tmp_path / "m.csv"
    data = json.loads(ravine("map", "--Q", 8, "--resolution", 9, "--out", out, "--json").out)
    assert set(data) == {"Q", "out", "resolution", "share_below_1"}
    shares = data["share_below_1"]
    assert shares["spectral_radius"] >= shares["iid_rate"] >= shares["commuting_rate"]
    assert shares["commuting_rate"] >= shares["worst_case_rate"]
    assert shares["worst_case_rate"] >= shares["contraction"] > 0.0


def test_a_larger_batch_widens_the_region_of_random_batches(ravine, tmp_path):
    shares = []
    for size in (1, 100):
        arguments = ["--resolution", 20, "--L-max", 10, "--batch-size", size]
        out = tmp_path / f"{size}.csv"
        data = json.loads(ravine("map", "--Q", 8, *arguments, "--out", out, "--json").out)
        shares.append(data["share_below_1"]["iid_rate"])
    assert 0.0 < shares[0] < 0.5 * shares[1]


def test_bad_input_is_one_line_and_leaves_no_file(refused, tmp_path):
    out = tmp_path / "map.png"
    assert "Q must be at least 1" in refused("map", "--Q", 0.1, "--out", out)
    assert "resolution must be at least 2" in refused(
        "map", "--Q", 8, "--resolution", 1, "--out", out
    )
    assert "alpha_range must be two numbers, the smaller first" in refused(
        "map", "--Q", 8, "--alpha-range", 2, 1, "--out", out
    )
    assert "out must be a file ending in .png" in refused(
        "map", "--Q", 8, "--out", tmp_path / "map.doc"
    )
    assert "quantity must be one of regions" in refused(
        "map", "--Q", 8, "--quantity", "speed", "--out", out
    )
    assert "Missing option '--Q'" in refused("map")
    assert list(tmp_path.iterdir()) == []


def test_what_the_memory_cannot_hold_is_refused_before_it_is_tried(refused, tmp_path):
    line = refused("map", "--Q", 8, "--resolution", 10**7, "--out", tmp_path / "map.png")
    assert "resolution must be small enough for the memory, got 10000000" in line
    assert "which needs 12.8 PB of memory" in line
    assert not (tmp_path / "map.png").exists()


def test_the_map_is_in_units_of_L_so_the_ratio_is_L_max(ravine, refused, tmp_path):
    files = [tmp_path / "ratio.csv", tmp_path / "same.csv"]
    for file, option in zip(files, ("--L-max-ratio", "--L-max"), strict=True):
        ravine("map", "--Q", 8, option, 10, "--resolution", 8, "--out", file)
    assert files[0].read_text() == files[1].read_text()
    assert "L-max-ratio must be omitted" in refused(
        "map", "--Q", 8, "--L-max", 10, "--L-max-ratio", 10, "--out", files[0]
    )
