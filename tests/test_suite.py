"""No test depends on how busy the machine is, and in CI all draw the same examples."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

TESTS = Path(__file__).parent


def test_no_example_has_a_deadline():
    assert settings.default.deadline is None
    assert HealthCheck.too_slow in settings.default.suppress_health_check


@pytest.mark.parametrize(("value", "expected"), [("true", "True"), ("", "False")])
def test_examples_are_the_same_every_time_in_ci(value, expected):
    code = "import conftest, hypothesis; print(hypothesis.settings.default.derandomize)"
    environment = {**os.environ, "CI": value}
    shown = subprocess.run(
        [sys.executable, "-c", code], cwd=TESTS.parent, env=environment, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    assert shown.stdout.strip() == expected


def test_no_test_sets_a_deadline_of_its_own():
    for path in TESTS.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "settings":
                assert "deadline" not in {word.arg for word in node.keywords}, path
