"""The bar appears on terminals alone, and an interrupt says how far the work came."""

import pytest

from ravine.engine import progress as module
from ravine.engine.progress import Progress


@pytest.fixture
def bars(monkeypatch):
    """Bars that were opened, with a clock that says that a second has passed."""
    opened = []
    clock = iter(range(0, 1000, 2))
    monkeypatch.setattr(module.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(Progress, "_open", lambda self: opened.append(self))
    return opened


def test_a_terminal_gets_a_bar(bars, monkeypatch):
    monkeypatch.setattr(module.sys.stderr, "isatty", lambda: True)
    with Progress(3) as progress:
        progress.advance()
        assert bars == [progress]


def test_a_file_gets_none(bars, monkeypatch):
    monkeypatch.setattr(module.sys.stderr, "isatty", lambda: False)
    with Progress(3) as progress:
        progress.advance()
    assert bars == []


def test_the_last_tile_opens_no_bar(bars, monkeypatch):
    monkeypatch.setattr(module.sys.stderr, "isatty", lambda: True)
    with Progress(1) as progress:
        progress.advance()
    assert bars == []


def interrupt(**options):
    with Progress(9, **options) as progress:
        progress.advance()
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({}, "stopped after 1 of 9 tiles\n"),
        (
            {"done": 3, "resumable": True},
            "stopped after 4 of 9 tiles: run it again with the same store to continue\n",
        ),
    ],
)
def test_an_interrupt_is_one_line(capsys, options, line):
    with pytest.raises(KeyboardInterrupt):
        interrupt(**options)
    assert capsys.readouterr().err == line
