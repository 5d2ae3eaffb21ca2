import json
import subprocess
import sys

import numpy as np
import pytest
import xarray as xr

from ravine.engine.sweep import sweep
from ravine.problems import worst_case_quadratic

SPEC = """\
alphas = {start = 0.0, stop = 0.3, count = 9}
betas = {start = 0.0, stop = 0.9, count = 8}
steps = 60
tile = 16

[problem]
kind = "worst_case_quadratic"
Q = 8
d = 4
"""


@pytest.fixture
def spec(tmp_path):
    file = tmp_path / "spec.toml"
    file.write_text(SPEC, encoding="utf-8")
    return file


def test_a_file_becomes_a_store(ravine, spec, tmp_path):
    out = tmp_path / "new" / "sweep.zarr"
    shown = ravine("sweep", spec, "--out", out, "--threads", 1)
    assert shown.code == 0
    assert f"Wrote {out}\n9 x 8 pixels of worst_case_quadratic\n" in shown.out
    assert "converged" in shown.out
    expected = sweep(
        worst_case_quadratic(8, 4), np.linspace(0.0, 0.3, 9), np.linspace(0.0, 0.9, 8), steps=60
    )
    xr.testing.assert_identical(xr.open_zarr(out).load(), expected)


def test_a_store_is_resumed_only_when_told_to(ravine, refused, spec, tmp_path):
    out = tmp_path / "sweep.zarr"
    ravine("sweep", spec, "--out", out, "--resume")
    (out / "tiles" / "00000002.json").unlink()
    line = refused("sweep", spec, "--out", out)
    assert "out must be new" in line
    assert "with 4 finished tiles: add --resume" in line
    shown = json.loads(ravine("sweep", spec, "--out", out, "--resume", "--json").out)
    assert set(shown) == {"out", "sizes", "resumed", "outcomes"}
    assert shown["sizes"] == {"alpha": 9, "beta": 8}
    assert shown["resumed"] == 4
    assert sum(shown["outcomes"].values()) == pytest.approx(1.0)
    spec.write_text(SPEC.replace("steps = 60", "steps = 61"), encoding="utf-8")
    assert "made with steps 60, not 61" in refused("sweep", spec, "--out", out, "--resume")


def test_status_says_how_far_a_store_is(ravine, refused, spec, tmp_path):
    out = tmp_path / "sweep.zarr"
    ravine("sweep", spec, "--out", out)
    assert "5 of 5 tiles (100 %); complete" in ravine("sweep", "--status", out).words
    (out / "rate" / "c" / "1" / "0").write_bytes(b"")
    (out / "tiles" / "00000004.json").unlink()
    damaged = "3 of 5 tiles (60 %), 1 damaged (tile 1 was changed); continue"
    assert damaged in ravine("sweep", "--status", out).words
    shown = json.loads(ravine("sweep", "--status", out, "--json").out)
    assert set(shown) == {"store", "tiles", "finished", "damaged", "complete", "made_with"}
    assert (shown["tiles"], shown["finished"], shown["damaged"]) == (5, 3, 1)
    assert shown["complete"] is False
    assert shown["made_with"]["steps"] == "60"
    assert "there is no such" in refused("sweep", "--status", tmp_path / "nothing")


def test_bad_input_is_one_line(refused, spec, tmp_path):
    out = tmp_path / "sweep.zarr"
    assert "spec must be given" in refused("sweep", "--out", out)
    assert "out must be given" in refused("sweep", spec)
    assert "there is no such file" in refused("sweep", tmp_path / "none.toml", "--out", out)
    spec.write_text(SPEC.replace("Q = 8", "Q = 1"), encoding="utf-8")
    line = refused("sweep", spec, "--out", out)
    assert line.startswith("ravine: spec.toml: problem.Q must be more than 1, got 1")
    assert [path.name for path in tmp_path.iterdir()] == ["spec.toml"]


def test_a_missing_extra_is_one_line_with_the_remedy(spec, tmp_path):
    code = "import sys; sys.modules['zarr'] = None; from ravine.cli import main; main()"
    command = [sys.executable, "-c", code, "sweep", str(spec), "--out", str(tmp_path / "s")]
    shown = subprocess.run(command, capture_output=True, text=True, check=False)
    assert shown.returncode == 2
    line = "a store needs zarr, which is not installed: pip install 'ravine[store]'"
    assert shown.stderr == f"ravine: {line}\n"
