"""Files are written whole or not at all."""

import pytest

from ravine.files import written_whole


def test_a_file_appears_when_it_is_complete(tmp_path):
    file = tmp_path / "map.tar.gz"
    with written_whole(file, flush=True) as part:
        part.write_bytes(b"new")
        assert not file.exists()
        assert part.suffix == file.suffix
    assert file.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [file]


def test_a_failure_leaves_what_was_there(tmp_path):
    file = tmp_path / "page.html"
    file.write_text("old")

    def fail():
        with written_whole(file) as part:
            part.write_text("half of the n")
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        fail()
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]
