"""A plan says what will be done, what is done already, and how long it took."""

import json

import pytest

from ravine.claims import CLAIMS
from ravine.figures.catalogue import FIGURES
from ravine.reproduction import MANIFEST, mark_of, plan_reproduction


def test_every_figure_unless_some_are_named(tmp_path):
    everything = plan_reproduction(out=tmp_path)
    assert list(everything.arguments) == list(FIGURES)
    assert everything.ready == ()
    assert f"{len(FIGURES)} figures at 100 x 100 pixels, and {len(CLAIMS)} claims" in (
        everything.sentence
    )
    some = plan_reproduction(("restart", "figure-2", "restart"), out=tmp_path)
    assert list(some.arguments) == ["restart", "figure-2"]


def test_arguments_are_those_of_the_settings(tmp_path):
    quick = plan_reproduction(("figure-1",), out=tmp_path, quick=True, seed=7, device="cpu")
    assert quick.arguments["figure-1"]["resolution"] == 24
    assert quick.arguments["figure-1"]["repeats"] == 16
    assert quick.arguments["figure-1"]["seed"] == 7
    assert quick.arguments["figure-1"]["device"] == "cpu"
    full = plan_reproduction(("figure-1", "nested-regions"), out=tmp_path, resolution=50)
    assert full.arguments["figure-1"] == {"resolution": 50, "seed": 0, "device": "auto"}
    assert full.arguments["nested-regions"] == {"resolution": 50}


def test_what_is_there_is_ready(tmp_path, fast, reproduce):
    reproduce(tmp_path)
    again = plan_reproduction(fast, out=tmp_path, quick=True)
    assert again.ready == fast
    assert "2 of them done already" in again.sentence
    assert "s for the claims last time" in again.sentence
    assert plan_reproduction(fast, out=tmp_path, quick=True, fresh=True).ready == ()


def test_other_settings_and_broken_files_are_not_ready(tmp_path, fast, reproduce):
    reproduce(tmp_path)
    assert plan_reproduction(("nested-regions",), out=tmp_path, resolution=12).ready == ()
    path = tmp_path / "nested-regions.nc"
    path.write_bytes(path.read_bytes()[:300])
    assert plan_reproduction(fast, out=tmp_path, quick=True).ready == ("turning-quadratics",)


def test_the_time_it_took_is_told_when_all_of_it_is_known(tmp_path):
    before = {"claims_seconds": 2.0, "figures": {"restart": {"seconds": 40.0}}}
    (tmp_path / MANIFEST).write_text(json.dumps(before))
    assert plan_reproduction(("restart",), out=tmp_path).sentence.endswith("42 s last time")
    more = plan_reproduction(("restart", "figure-3"), out=tmp_path)
    assert more.sentence.endswith("not run here before")


@pytest.mark.parametrize("text", ["", "[]", "no JSON"])
def test_a_manifest_that_cannot_be_read_is_no_manifest(tmp_path, text):
    (tmp_path / MANIFEST).write_text(text)
    assert plan_reproduction(out=tmp_path).last == {}


def test_marks_tell_arguments_apart():
    assert mark_of("restart", {"seed": 0}) == mark_of("restart", {"seed": 0})
    assert mark_of("restart", {"seed": 0}) != mark_of("restart", {"seed": 1})
    assert mark_of("restart", {}) != mark_of("figure-1", {})


def test_refusals_name_the_choices(tmp_path):
    with pytest.raises(ValueError, match=r"figure must be one of figure-1, .*got 'figure-9'"):
        plan_reproduction(("figure-9",), out=tmp_path)
    with pytest.raises(ValueError, match="device must be one of cpu, cuda, auto, got 'tpu'"):
        plan_reproduction(out=tmp_path, device="tpu")
    with pytest.raises(ValueError, match="resolution must be at least 8"):
        plan_reproduction(out=tmp_path, resolution=2)
    assert list(tmp_path.iterdir()) == []
