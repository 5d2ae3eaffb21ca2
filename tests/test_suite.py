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


@pytest.fixture
def conftest(pytestconfig):
    """The file of settings beside ``tests``."""
    return pytestconfig.pluginmanager.get_plugin(str(TESTS.parent / "conftest.py"))


def test_what_is_costly_to_make_is_made_by_one_worker(conftest):
    for start in conftest.TOGETHER:
        assert (TESTS.parent / start).exists(), start
    alone = "tests/theory/test_blocks.py::test_lemma_1"
    assert conftest.group_of("tests/engine/cuda/test_quadratic.py::test_a[x]") == "kernels"
    assert conftest.group_of("src/ravine/engine/run.py::ravine.engine.run.run") == "kernels"
    assert conftest.group_of("tests/engine/kernels_of_others.py::test_a") != "kernels"
    assert conftest.group_of(alone) == alone


def test_devices_are_compared_when_the_kernels_are_on_disk(request):
    """The order in which tests are collected: files of ``tests/engine/cuda`` come last."""
    late = ["tests/engine/cuda" in item.path.as_posix() for item in request.session.items]
    assert late == sorted(late)
