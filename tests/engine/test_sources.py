"""Digests change with the sources that decide bits, and with no others."""

import shutil
from pathlib import Path

import pytest

import ravine
from ravine.engine.cuda.source import _SOURCES
from ravine.engine.draws.random import fill_streams
from ravine.engine.sources import COMPILED, DECIDING, digest
from ravine.engine.storage.fingerprint import numerics

PACKAGE = Path(ravine.__file__).parent


@pytest.fixture
def package(tmp_path):
    """A copy of the packages that the digests look at, to be edited."""
    for name in ("engine", "problems"):
        shutil.copytree(PACKAGE / name, tmp_path / name)
    shutil.copy(PACKAGE / "methods.py", tmp_path)
    return tmp_path


def edited(package, name):
    """Which of the two digests an edit of a file changes: that of compiled code, that of bits."""
    before = [digest(names, package) for names in (COMPILED, DECIDING)]
    file = package / name
    file.write_text(file.read_text(encoding="utf-8") + "# a comment\n", encoding="utf-8")
    after = [digest(names, package) for names in (COMPILED, DECIDING)]
    return [a != b for a, b in zip(before, after, strict=True)]


@pytest.mark.parametrize(
    "name",
    [
        "engine/kernels/finite_sum_kernel.py",
        "engine/draws/index_sampling.py",
        "engine/measures.py",
        "engine/restart.py",
        "problems/losses.py",
    ],
)
def test_kernels_and_their_constants_count(package, name):
    assert edited(package, name) == [True, True]


@pytest.mark.parametrize(
    "name",
    ["engine/cuda/group.py", "engine/run.py", "methods.py", "problems/linear_model.py"],
)
def test_what_else_decides_bits_leaves_compiled_code_alone(package, name):
    assert edited(package, name) == [False, True]


@pytest.mark.parametrize(
    "name",
    [
        "engine/sweep.py",
        "engine/storage/store.py",
        "engine/tiles.py",
        "engine/dataset.py",
        "engine/cluster.py",
        "engine/spec_file.py",
    ],
)
def test_what_shows_and_keeps_does_not_count(package, name):
    assert edited(package, name) == [False, False]


def test_a_file_more_or_less_counts(package):
    before = digest(COMPILED, package)
    (package / "engine" / "kernels" / "blas.py").rename(package / "engine" / "kernels" / "one.py")
    assert digest(COMPILED, package) != before


def test_kernels_of_the_gpu_change_with_the_numbers_of_their_reductions(package):
    before = digest(_SOURCES, package)
    file = package / "engine" / "repeats.py"
    file.write_text(file.read_text(encoding="utf-8") + "# a comment\n", encoding="utf-8")
    assert digest(_SOURCES, package) != before


def test_stores_and_the_cache_use_them():
    assert digest(DECIDING).hex()[:14] in numerics()["ravine"]
    assert fill_streams.__qualname__.endswith(digest(COMPILED).hex()[:14])
