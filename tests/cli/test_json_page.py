"""docs/json.md against what the commands print: no key more, and none fewer."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "json.md"
SPEC = """
steps = 8
alphas = [0.1, 0.2]
betas = [0.0, 0.5]

[problem]
kind = "worst_case_quadratic"
Q = 8.0
d = 4
"""
COMMANDS = {
    "rate": ["rate", "--Q", 8],
    "recommend": ["recommend", "--Q", 8],
    "batch": ["batch", "--Q", 8, "--L-max", 16, "--batch-size", 4],
    "compare": ["compare", "--Q", 8, "--L-max", 16, "--batch-size", 4],
    "rescale": ["rescale", "--lr", 0.1, "--from-batch", 8, "--to-batch", 64],
    "map": ["map", "--Q", 8, "--resolution", 3, "--out", "map.csv"],
    "convert": ["convert", "--lr", 0.1, "--momentum", 0.9],
    "diagnose": ["diagnose", "table.csv", "--target", "y", "--epochs", 3, "--time", 2],
    "sweep": ["sweep", "spec.toml", "--out", "new.zarr"],
    "sweep --status": ["sweep", "--status", "store.zarr"],
    "plot": ["plot", "store.zarr", "--out", "plot.svg"],
    "reproduce": ["reproduce", "restart", "--quick", "--out", "made"],
}


def documented() -> dict[str, set[str]]:
    """The paths in the first column of the tables under the heading of each command."""
    pages = {}
    for part in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
        title = re.match(r"`ravine (.*) --json`", part)
        assert title, part[:40]
        cells = re.findall(r"^\| (`.*?) \|", part, flags=re.MULTILINE)
        pages[title[1]] = {path for cell in cells for path in re.findall(r"`([^`]+)`", cell)}

    return pages


def printed(value, path: str = "") -> set[str]:
    """The paths of a result; an empty list or a null in place of an object ends one."""
    if isinstance(value, dict) and value:
        inside = f"{path}." if path else ""
        return set().union(*(printed(item, f"{inside}{key}") for key, item in value.items()))
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        return set().union(*(printed(item, f"{path}[]") for item in value))

    return {path}


def starred(path: str, pages: set[str]) -> str:
    """The documented path with a star that stands for this one, or the path itself."""
    for page in pages:
        if page.endswith(".*") and (path.startswith(page[:-1]) or path == page[:-2]):
            return page

    return path


@pytest.fixture
def at_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 3))
    np.savetxt("table.csv", rows, delimiter=",", header="a,b,y", comments="")
    Path("spec.toml").write_text(SPEC, encoding="utf-8")
    return tmp_path


def without_running(monkeypatch):
    """Let a reproduction of one figure and one claim be done already."""
    verdict = SimpleNamespace(value="holds")
    judged = SimpleNamespace(claim=SimpleNamespace(id="one"), judgement=verdict)
    done = SimpleNamespace(
        data={"restart": None}, seconds={"restart": 1.0}, total_seconds=2.0, counts={"holds": 1},
        judged=[judged],
    )  # fmt: skip
    page = SimpleNamespace(write=lambda path: None)
    monkeypatch.setattr("ravine.reproduction.carry_out", lambda plan, say: done)
    monkeypatch.setattr("ravine.reproduction.reproduction_page", lambda done: page)


def test_every_command_with_json_has_a_section():
    assert set(documented()) == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_keys_are_those_of_the_page(name, at_work, ravine, monkeypatch):
    if name == "reproduce":
        without_running(monkeypatch)
    if "store.zarr" in COMMANDS[name]:
        assert ravine("sweep", "spec.toml", "--out", "store.zarr").code == 0

    shown = ravine(*COMMANDS[name], "--json")
    assert shown.code == 0, shown.err
    pages = documented()[name]
    seen = printed(json.loads(shown.out))
    named = {starred(path, pages) for path in seen}

    # A null or an empty list stands for everything that is documented inside it.
    gone = {page for page in pages if any(re.match(rf"{re.escape(p)}(\.|\[)", page) for p in seen)}
    within = {
        path for path in named if any(page.startswith((f"{path}.", f"{path}[")) for page in pages)
    }
    assert named - pages - within == set()
    assert pages - named - gone == set()
