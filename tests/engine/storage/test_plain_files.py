import hashlib
import os

import pytest

from ravine.arguments import Refusal
from ravine.engine.storage.plain_files import Unreadable, read_plain, sum_of


def test_what_a_file_holds(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"content")
    assert read_plain(file, 7) == b"content"
    assert sum_of(file) == hashlib.sha256(b"content").hexdigest()
    with pytest.raises(Unreadable, match="is too large"):
        read_plain(file, 6)


def test_what_lies_in_the_place_of_a_file(tmp_path):
    """A pipe that nobody writes to would be waited for."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    reasons = {
        "missing": "is missing",
        "folder": "is a folder",
        "pipe": "is no file",
        "loop": r"cannot be read \(Too many levels of symbolic links\)",
        "file/below": r"cannot be read \(Not a directory\)",
    }
    for name, reason in reasons.items():
        with pytest.raises(Unreadable, match=reason):
            sum_of(tmp_path / name)


def test_a_file_that_may_not_be_read_is_not_damaged(tmp_path, monkeypatch):
    def forbidden(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", forbidden)
    with pytest.raises(Refusal, match=r"store must be readable, got .*/file, which is not: give"):
        sum_of(tmp_path / "file")
