"""The versions that the Makefile installs run on every Python that ravine allows."""

import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

PROJECT = Path(__file__).parents[2]
PINS = [
    Requirement(line).name
    for line in (PROJECT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]


def oldest_python() -> str:
    """The first release that ``requires-python`` allows."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lowest = project["requires-python"].removeprefix(">=")
    return f"{lowest}.0"


def test_pins_run_on_the_oldest_python():
    asked = {}
    for name in PINS:
        try:
            asked[name] = metadata.metadata(name).get("Requires-Python") or ""
        except metadata.PackageNotFoundError:
            continue  # of a group, or for a Python, that is not installed here

    assert len(asked) > 50
    assert not {n: a for n, a in asked.items() if oldest_python() not in SpecifierSet(a)}
