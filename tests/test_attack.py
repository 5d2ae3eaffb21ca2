"""The attack in small, and that it would notice what it looks for."""

import warnings

import numpy as np
import pytest
from attack import calls, command_lines
from attack.calls import Call
from attack.cases import ANSWERED, REFUSED, run_cases

SEED = 7
"""Of these cases; those of ``make attack`` are others."""


def test_command_lines():
    assert run_cases("command_lines", 60, SEED, workers=1) == 0


def test_calls():
    assert run_cases("calls", 200, SEED, workers=1) == 0


@pytest.mark.parametrize(
    ("code", "out", "err", "outcome"),
    [
        (0, "{}", "", ANSWERED),
        (2, "", "ravine: no\n", REFUSED),
        (0, '{"a": NaN}', "", "invalid JSON"),
        (0, "rate 1", "", "invalid JSON"),
        (2, "", "ravine: no\nand no\n", "long refusal"),
        (2, "", "no\n", "long refusal"),
        (1, "", "", "exit code"),
        (0, "{}", "x.py:1: RuntimeWarning: overflow", "warning"),
        (1, "", "Traceback (most recent call last):\n", "traceback"),
    ],
)
def test_the_end_of_a_command_line_is_judged(tmp_path, monkeypatch, code, out, err, outcome):
    monkeypatch.chdir(tmp_path)
    assert command_lines._judged("case", ["rate", "--json"], code, out, err).outcome == outcome


def test_half_written_files_are_noticed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out.svg").write_text("<svg>")
    assert command_lines._judged("case", [], 0, "", "").outcome == "half-written file"
    (tmp_path / "out.svg").write_text("<svg></svg>")
    assert command_lines._judged("case", [], 0, "", "").outcome == ANSWERED
    (tmp_path / ".out.part.svg").write_text("<svg>")
    assert command_lines._judged("case", [], 0, "", "").outcome == "half-written file"


def refuse():
    from ravine.arguments import Refusal

    raise Refusal("a", "b", "c", "d")


def warn():
    warnings.warn("overflow", RuntimeWarning, stacklevel=1)


@pytest.mark.parametrize(
    ("function", "outcome"),
    [
        (lambda: 1.0, ANSWERED),
        (refuse, REFUSED),
        (lambda: None.mu, REFUSED),
        (lambda: 1 // 0, "ZeroDivisionError"),
        (lambda: np.array([1.0, np.nan]), "nan"),
        (lambda: lambda: 1, "unhandy answer"),
        (warn, "warning"),
    ],
)
def test_the_end_of_a_call_is_judged(monkeypatch, function, outcome):
    monkeypatch.setattr(calls, "make_call", lambda seed, number: Call("f", function, {}))
    assert calls.attempt(0, 0).outcome == outcome


def test_cases_are_the_same_for_the_same_seed():
    assert command_lines.make_line(3, 5) == command_lines.make_line(3, 5)
    assert command_lines.make_line(3, 5) != command_lines.make_line(4, 5)
