"""Kernels on disk are whole or do not count."""

import pickle
from types import SimpleNamespace

import pytest

from ravine.engine.cuda.kernel_cache import KernelCache, kernel_folder, read_sealed, write_sealed


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    return tmp_path / "gpu_kernels"


def context(architecture=(13, (9, 0))):
    """What Numba calls a target context, as far as the cache asks it."""
    codegen = SimpleNamespace(magic_tuple=lambda: architecture)
    return SimpleNamespace(codegen=lambda: codegen)


def test_what_was_written_is_read(folder):
    write_sealed(folder / "a.kernel", b"machine code")
    assert read_sealed(folder / "a.kernel") == b"machine code"
    assert [file.name for file in folder.iterdir()] == ["a.kernel"]


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 500])
def test_other_files_do_not_count(folder, content):
    folder.mkdir()
    (folder / "a.kernel").write_bytes(content)
    assert read_sealed(folder / "a.kernel") is None
    assert read_sealed(folder / "missing.kernel") is None


def test_a_file_that_was_cut_short_does_not_count(folder):
    write_sealed(folder / "a.kernel", b"machine code" * 50)
    whole = (folder / "a.kernel").read_bytes()
    (folder / "a.kernel").write_bytes(whole[:-1])
    assert read_sealed(folder / "a.kernel") is None
    write_sealed(folder / "a.kernel", b"machine code" * 50)
    assert (folder / "a.kernel").read_bytes() == whole


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
    write_sealed(path, b"no pickle")
    assert cache.load_overload("(int32,)", context()) is None
    write_sealed(path, pickle.dumps({"no": "kernel"}))
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
    body = read_sealed(cache.path_for("(int32,)", (13, (9, 0))))
    assert pickle.loads(body) == {"name": "k"}
