"""What a command of a bare installation may answer."""

import importlib.util
import sys
from pathlib import Path

import pytest

from ravine.cli import COMMANDS

PATH = Path(__file__).parents[2] / "release" / "wheel.py"


@pytest.fixture(scope="module")
def wheel():
    spec = importlib.util.spec_from_file_location("wheel_of_ravine", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look up their annotations
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def test_every_command_is_tried(wheel):
    tried = " ".join(wheel.COMMANDS)
    for name in COMMANDS:
        assert f"ravine {name}" in tried


@pytest.mark.parametrize(
    ("command", "code", "out", "err", "kind", "fine"),
    [
        ("ravine rate", 0, "a table\n", "", "works", True),
        ("ravine map", 2, "", "ravine: pip install 'ravine[plot]'\n", "names its extra", True),
        ("ravine map", 2, "", "ravine: no\n", "refuses", False),
        ("ravine rate --Q -3", 2, "", "ravine: Q must be at least 1\n", "refuses", True),
        ("ravine rate --Q -3", 0, "a table\n", "", "works", False),
        ("ravine map", 1, "", "Traceback\nImportError: matplotlib\n", "FAILS", False),
        ("python -c x", 1, "", "Traceback\npip install 'ravine[torch]'\n", "names its extra", True),
    ],
)
def test_answers_are_told_apart(wheel, command, code, out, err, kind, fine):
    answer = wheel.judge(command, code, out, err)
    assert answer.kind == kind
    assert answer.fine is fine
