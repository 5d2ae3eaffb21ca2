"""Compiled functions are cached by Numba, and work where it has no folder to write to."""

import os
import shutil
import subprocess
import sys

import pytest

# Prints values, and how often two of the functions were loaded from disk.
SCRIPT = """
from ravine.compilation import cached_njit
from ravine.engine.kernels.compiled import compiled

def double(x):
    return 2 * x

double = cached_njit(double)

def maker(factor):
    @compiled
    def times(x):
        return factor * x
    return times

def around(inside):
    @compiled
    def one_more(x):
        return inside(x) + 1
    return one_more

outer = around(double)

def hits(function):
    return sum(function.stats.cache_hits.values())

print(outer(21), maker(3)(7), maker(5)(7), double(21), hits(outer), hits(double))
"""


@pytest.fixture
def script(tmp_path):
    file = tmp_path / "tree" / "script.py"
    file.parent.mkdir()
    file.write_text(SCRIPT, encoding="utf-8")
    return file


def shown(script, **environment):
    done = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ) | environment,
    )
    assert done.stderr == ""
    return done.stdout.strip()


def test_a_second_process_loads_it_from_disk(script):
    assert shown(script) == "43 21 35 42 0 0"
    assert shown(script) == "43 21 35 42 1 1"


def test_functions_with_other_closures_have_other_files(script):
    # Two processes that compile at the same time then never write under one name.
    shown(script)
    indices = list((script.parent / "__pycache__").glob("*.nbi"))
    assert len(indices) == 4


def test_without_a_folder_to_write_to_it_is_compiled_in_each_process(script):
    # A file in the place of a folder keeps even those out who may write everywhere.
    shutil.rmtree(script.parent / "__pycache__", ignore_errors=True)
    (script.parent / "__pycache__").write_text("no folder", encoding="utf-8")
    home = str(script.parent / "script.py")
    for _ in range(2):
        assert shown(script, HOME=home, XDG_CACHE_HOME=home) == "43 21 35 42 0 0"
