"""What was compiled is taken from disk where it is whole, and compiled anew where it is not."""

import os
import shutil
import subprocess
import sys

import pytest

from ravine.compilation import CheckedFiles

# Prints its value, how often it was taken from disk, and whether it will be kept.
SCRIPT = """
from numba import njit
from ravine.compilation import is_kept, kept

@kept
@njit
def double(x):
    return 2 * x

print(double(21), sum(double.stats.cache_hits.values()), is_kept(double))
"""


@pytest.fixture
def script(tmp_path):
    file = tmp_path / "tree" / "script.py"
    file.parent.mkdir()
    file.write_text(SCRIPT, encoding="utf-8")
    return file


def shown(script, **environment):
    """What the script prints; a relative home is that of somebody who has none."""
    done = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        check=False,
        cwd=script.parent.parent,
        env=dict(os.environ) | environment,
    )
    assert done.stderr == ""
    return done.stdout.strip()


def test_a_second_run_takes_it_from_disk_and_a_cut_file_is_compiled_anew(script):
    assert shown(script) == "42 0 True"
    assert shown(script) == "42 1 True"
    (file,) = (script.parent / "__pycache__").glob("*.nbc")
    whole = file.read_bytes()
    file.write_bytes(whole[:-100])
    assert shown(script) == "42 0 True"
    assert len(file.read_bytes()) == len(whole)


HARMS = [lambda c: c[:-1], lambda c: b"", lambda c: c[:40] + b"x" + c[41:]]


@pytest.mark.parametrize("harm", HARMS, ids=["cut", "empty", "changed"])
def test_a_file_that_is_not_as_it_was_written_counts_as_missing(tmp_path, harm):
    files = CheckedFiles(tmp_path, "name", (1.0, 10))
    files.save("key", {"some": "value"})
    (file,) = tmp_path.iterdir()
    file.write_bytes(harm(file.read_bytes()))
    assert files.load("key") is None
    files.save("key", {"some": "value"})
    assert files.load("key") == {"some": "value"}


def test_without_a_folder_to_write_to_nothing_is_kept(script):
    # A file in the place of a folder keeps even those out who may write everywhere.
    shutil.rmtree(script.parent / "__pycache__", ignore_errors=True)
    (script.parent / "__pycache__").write_text("no folder", encoding="utf-8")
    home = script.parent / "script.py"
    assert shown(script, HOME=str(home), XDG_CACHE_HOME=str(home)) == "42 0 False"


def test_files_of_another_source_count_as_missing(tmp_path):
    files = CheckedFiles(tmp_path, "name", (1.0, 10))
    files.save("key", {"some": "value"})
    assert files.load("key") == {"some": "value"}
    assert files.load("other") is None
    assert CheckedFiles(tmp_path, "name", (2.0, 10)).load("key") is None
    files.flush()
    assert list(tmp_path.iterdir()) == []
