"""The check of the built site notices what is broken."""

import pytest
from making.check import wrong


def site_with(folder, body):
    (folder / "index.html").write_text(f"<html><body>{body}</body></html>", encoding="utf-8")
    (folder / "other.html").write_text("<h1 id='top'>Other</h1>", encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("<a href='none.html'>x</a>", "not there"),
        ("<a href='other.html#low'>x</a>", "an anchor that is not there"),
        ("<a href='#low'>x</a>", "an anchor that is not there"),
        ("<img src='none.png'>", "not there"),
        ("<script src='https://elsewhere.example/x.js'></script>", "loads https"),
        ("<link rel='stylesheet' href='https://elsewhere.example/x.css'>", "loads https"),
    ],
)
def test_what_is_broken_is_named(tmp_path, body, complaint):
    (line,) = wrong(site_with(tmp_path, body))
    assert complaint in line


def test_a_whole_site_passes(tmp_path):
    body = "<a href='other.html#top'>x</a><a href='https://elsewhere.example'>y</a>"
    assert wrong(site_with(tmp_path, body)) == []
