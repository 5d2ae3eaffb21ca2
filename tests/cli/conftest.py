"""Running the command line in this process."""

from collections.abc import Callable
from typing import NamedTuple

import pytest

from ravine.cli import main


class Shown(NamedTuple):
    """What a run of the command left behind."""

    code: int
    out: str
    err: str

    @property
    def words(self) -> str:
        """What was printed, however its lines were broken."""
        return " ".join(self.out.split())


@pytest.fixture
def ravine(capsys, monkeypatch) -> Callable[..., Shown]:
    """Run ``ravine ARGUMENTS`` at 80 columns; returns the exit code and what was printed."""
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments: object) -> Shown:
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        shown = capsys.readouterr()
        return Shown(int(stop.value.code or 0), shown.out, shown.err)

    return run


@pytest.fixture
def refused(ravine) -> Callable[..., str]:
    """Run a command that must be refused; returns its one line."""

    def run(*arguments: object) -> str:
        shown = ravine(*arguments)
        assert shown.code == 2
        assert shown.out == ""
        assert shown.err.count("\n") == 1
        assert shown.err.startswith("ravine: ")
        return shown.err.strip()

    return run
