"""A tiny store, made once and copied for each test."""

import shutil

import pytest
from attack.tiny_sweep import tiny_sweep


@pytest.fixture(scope="session")
def tiny():
    """Values of the tiny sweep, computed without a store."""
    return tiny_sweep()


@pytest.fixture(scope="session")
def pristine(tmp_path_factory):
    """A whole store, to be looked at only."""
    store = tmp_path_factory.mktemp("pristine") / "sweep.zarr"
    tiny_sweep(store)
    return store


@pytest.fixture
def store(pristine, tmp_path):
    """A whole store, to be harmed."""
    return shutil.copytree(pristine, tmp_path / "sweep.zarr")
