"""Kernels on disk that cannot be loaded do not count."""

import pickle
from types import SimpleNamespace

import pytest

from ravine.engine.cuda.source import KernelCache, kernel_folder


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    return tmp_path / "gpu_kernels"


def context(architecture=(13, (9, 0))):
    """What Numba calls a target context, as far as the cache asks it."""
    codegen = SimpleNamespace(magic_tuple=lambda: architecture)
    return SimpleNamespace(codegen=lambda: codegen)


def test_every_kernel_has_a_file_of_its_own(folder):
    names = {
        KernelCache(name).path_for(signature, architecture)
        for name in ("a", "b")
        for signature in ("(int32,)", "(int64,)")
        for architecture in ((13, (9, 0)), (13, (8, 0)))
    }
    assert len(names) == 8
    assert {path.parent for path in names} == {kernel_folder()} == {folder}


def test_what_cannot_be_rebuilt_is_compiled_anew():
    cache = KernelCache("a")
    path = cache.path_for("(int32,)", (13, (9, 0)))
    assert cache.load_overload("(int32,)", context()) is None
    path.parent.mkdir()
    for content in (b"", b"no pickle", pickle.dumps({"no": "kernel"})):
        path.write_bytes(content)
        assert cache.load_overload("(int32,)", context()) is None


def test_a_folder_that_cannot_be_written_is_no_error(folder):
    folder.write_text("a file where the folder should be", encoding="utf-8")
    kernel = SimpleNamespace(codegen=context().codegen(), _reduce_states=dict)
    KernelCache("a").save_overload("(int32,)", kernel)
    assert folder.read_text(encoding="utf-8").startswith("a file")


def test_a_kernel_is_written_under_its_name():
    kernel = SimpleNamespace(codegen=context().codegen(), _reduce_states=lambda: {"name": "k"})
    cache = KernelCache("a")
    cache.save_overload("(int32,)", kernel)
    path = cache.path_for("(int32,)", (13, (9, 0)))
    assert pickle.loads(path.read_bytes()) == {"name": "k"}
    assert list(path.parent.iterdir()) == [path]
