import bz2
import gzip
import lzma
import os
import zipfile

import pytest

from ravine.tables import read_table
from ravine.tables.source import MAX_RATIO, Limits, Source

TEXT = b"a,y\n1,2\n3,4.5\n5,6\n"


def find(path, limits=None):
    return Source(path, path.name, limits or Limits())


def pack(path, kind):
    if kind == "gz":
        path.write_bytes(gzip.compress(TEXT))
    elif kind == "bz2":
        path.write_bytes(bz2.compress(TEXT))
    elif kind == "xz":
        path.write_bytes(lzma.compress(TEXT))
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("data.csv", TEXT)
            archive.writestr("__MACOSX/data.csv", b"clutter")


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz", "zip"])
def test_packed_files_give_their_content(tmp_path, kind):
    path = tmp_path / f"data.csv.{kind}"
    pack(path, kind)
    source = find(path)
    assert source.head == TEXT
    with source.open() as stream:
        assert stream.read() == TEXT


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("folder", "a file or one of"),
        ("pipe", "a file or one of"),
        ("device", "a file or one of"),
        ("loop", "a file or one of"),
        ("absent", "a file or one of"),
        ("empty", "it is empty"),
        ("zero byte", "a file or one of"),
        ("long name", "File name too long"),
    ],
)
def test_what_is_no_regular_file_is_refused_unopened(tmp_path, case, words):
    path = tmp_path / "thing.csv"
    if case == "folder":
        path.mkdir()
    elif case == "pipe":
        os.mkfifo(path)
    elif case == "device":
        path.symlink_to("/dev/zero")
    elif case == "loop":
        path.symlink_to(path)
    elif case == "empty":
        path.touch()
    elif case == "zero byte":
        path = tmp_path / "a\0b"
    elif case == "long name":
        path = tmp_path / ("x" * 300)
    with pytest.raises((ValueError, OSError), match=words):
        find(path)


def test_a_stream_stops_at_the_limit(tmp_path):
    path = tmp_path / "zeros.csv.gz"
    path.write_bytes(gzip.compress(b"1,2\n" * 2**20))
    limits = Limits.of(max_bytes=2**21)
    source = find(path, limits)
    with source.open() as stream, pytest.raises(ValueError, match="at most 2,097,152 bytes"):
        stream.read()


def test_a_file_that_grows_too_much_is_refused_unless_it_is_meant(tmp_path):
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"1,2\n" * (20 * 2**20)))
    source = find(path)
    with source.open() as stream, pytest.raises(ValueError, match="200 times its compressed"):
        stream.read()
    with find(path, Limits.of(max_bytes=2**30)).open() as stream:
        assert sum(len(part) for part in iter(lambda: stream.read(2**20), b"")) == 80 * 2**20


def test_an_archive_in_an_archive_and_one_of_many_files_are_refused(tmp_path):
    twice = tmp_path / "twice.gz"
    twice.write_bytes(gzip.compress(gzip.compress(TEXT)))
    with pytest.raises(ValueError, match="zero bytes"):
        read_table(twice)
    with zipfile.ZipFile(tmp_path / "inner.zip", "w") as archive:
        archive.writestr("a.csv", TEXT)
    twice.write_bytes(gzip.compress((tmp_path / "inner.zip").read_bytes()))
    with pytest.raises(ValueError, match="readable NPZ"):
        read_table(twice)
    many = tmp_path / "many.zip"
    with zipfile.ZipFile(many, "w") as archive:
        archive.writestr("a.csv", TEXT)
        archive.writestr("b.csv", TEXT)
    with pytest.raises(ValueError, match="an archive of 2 files"):
        find(many)


@pytest.mark.parametrize("cut", [5, 30])
def test_broken_archives_are_refused(tmp_path, cut):
    for kind in ("gz", "bz2", "xz", "zip"):
        path = tmp_path / f"data.csv.{kind}"
        pack(path, kind)
        path.write_bytes(path.read_bytes()[:-cut])
        with pytest.raises(ValueError, match="readable"):
            find(path)


def test_a_zip_archive_whose_member_starts_before_the_file_is_refused(tmp_path):
    path = tmp_path / "data.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data.csv", TEXT)
    # Bytes missing at the front move the start of the member below zero.
    with pytest.raises(ValueError, match="a readable data file"):
        read_table(b"PK\x03\x04" + path.read_bytes()[32:])


def test_foreign_formats_are_named(tmp_path):
    for content, words in ((b"\x80\x04data", "a pickle"), (b"<!DOCTYPE html>", "web page")):
        path = tmp_path / "data.bin"
        path.write_bytes(content)
        with pytest.raises(ValueError, match=words):
            find(path)


def test_lines_have_a_longest_length(tmp_path, monkeypatch):
    monkeypatch.setattr("ravine.tables.source.MAX_LINE", 10)
    path = tmp_path / "long.txt"
    path.write_bytes(b"short\r\n" + b"x" * 11 + b"\n" + b"y" * 2**21)
    with (
        find(path).open(lines=True) as stream,
        pytest.raises(ValueError, match="a line of more than 10 bytes"),
    ):
        stream.read()


def test_bytes_and_streams_are_sources_too(tmp_path):
    for kind in ("gz", "bz2", "xz", "zip"):
        path = tmp_path / f"data.csv.{kind}"
        pack(path, kind)
        content = path.read_bytes()
        assert Source(content, "data", Limits()).head == TEXT
        assert read_table(content).y.tolist() == [2, 4.5, 6]
        with path.open("rb") as stream:
            assert read_table(stream).name == path.name
    with pytest.raises(ValueError, match="it is empty"):
        read_table(b"")


def test_each_limit_names_the_option_that_raises_it():
    limits = Limits.of(max_rows=10, max_columns=10, max_classes=3, max_bytes=800)
    limits.check(rows=10, columns=10)
    for limit, value, option in (
        ("rows", 11, "--max-rows"),
        ("columns", 11, "--max-columns"),
        ("classes", 4, "--max-classes"),
        ("bytes", 801, "--max-bytes"),
    ):
        with pytest.raises(ValueError, match=option):
            limits.check(**{limit: value})
    with pytest.raises(ValueError, match="800 bytes, got 880"):
        Limits.of(max_bytes=800).check(rows=11, columns=10)


def test_growth_is_suspicious_unless_the_size_was_chosen():
    size = 100 * 2**20
    packed = size // MAX_RATIO - 1
    with pytest.raises(ValueError, match="use --max-bytes"):
        Limits().check(bytes=size, packed=packed)
    Limits().check(bytes=size, packed=packed + 2)
    Limits.of(max_bytes=size).check(bytes=size, packed=packed)
    # What is small may grow as it likes.
    Limits().check(bytes=2**20, packed=1)


def test_limits_are_counts():
    with pytest.raises(ValueError, match="max_rows must be at least 1"):
        Limits.of(max_rows=0)


def test_a_header_that_begins_with_a_tag_is_no_web_page(tmp_path):
    path = tmp_path / "tags.csv"
    path.write_text("<b>one</b>,two\n" + "".join(f"{i % 3},{i}\n" for i in range(12)))
    assert read_table(path, target="two").columns == ("<b>one</b>",)
