"""The bar appears on terminals alone, and an interrupt says how far the work came."""

from unittest.mock import MagicMock

import pytest

from ravine.engine import sweep as module
from ravine.engine.sweep import progress


@pytest.fixture
def bars(monkeypatch):
    """Totals of the bars that were opened, with a clock that says that a second has passed."""
    opened = []
    clock = iter(range(0, 1000, 2))
    monkeypatch.setattr(module.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(module, "_new_bar", lambda total: opened.append(total) or MagicMock())
    return opened


@pytest.mark.parametrize(
    ("terminal", "total", "expected"), [(True, 3, [3]), (False, 3, []), (True, 1, [])]
)
def test_a_terminal_gets_a_bar_before_the_last_tile(bars, monkeypatch, terminal, total, expected):
    monkeypatch.setattr(module.sys.stderr, "isatty", lambda: terminal)
    with progress(total) as advance:
        for _ in range(total):
            advance()
    assert bars == expected


def test_a_bar_shows_the_tiles_that_are_done():
    bar = module._new_bar(9)
    bar.update(bar.task_ids[0], completed=4)
    bar.stop()
    assert (bar.tasks[0].completed, bar.tasks[0].total) == (4, 9)


def interrupt(**options):
    with progress(9, **options) as advance:
        advance()
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
