"""Options become curvatures, methods and JSON; what does not fit is refused in one line."""

import json

import pytest

from ravine import Curvature, Method, nesterov
from ravine.cli.options import (
    curvature_from,
    curvature_json,
    method_from,
    method_json,
    one_of,
)
from ravine.cli.output import print_json, rate_digits, say, table, wrote


def test_a_curvature_from_its_ends_or_its_ratio():
    ends = curvature_from(0.5, 4.0, None)
    assert (ends.mu, ends.L) == (0.5, 4.0)
    ratio = curvature_from(None, None, 8.0)
    assert (ratio.mu, ratio.L) == (1.0, 8.0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((1.0, None, None), "L must be given"),
        ((None, 1.0, None), "mu must be given"),
        ((1.0, None, 8.0), "Q must be given alone"),
        ((None, None, 0.5), "Q must be at least 1, got 0.5"),
    ],
)
def test_what_is_no_curvature(given, message):
    with pytest.raises(ValueError, match=message):
        curvature_from(*given)


def test_a_method_from_its_parameters_or_the_usual_one():
    curvature = Curvature(1.0, 8.0)
    for given, expected in (
        ((None, None, None), nesterov(curvature)),
        ((0.1, None, None), Method(0.1, 0.0)),
        ((0.1, 0.5, 0.25), Method(0.1, 0.5, 0.25)),
    ):
        assert method_json(method_from(curvature, *given)) == method_json(expected)
    with pytest.raises(ValueError, match="alpha must be given with beta or gamma"):
        method_from(curvature, None, 0.5, None)


def test_two_names_of_one_option():
    assert one_of("alpha", 0.1, "lr", None) == 0.1
    assert one_of("alpha", None, "lr", 0.2) == 0.2
    assert one_of("alpha", None, "lr", None) is None
    with pytest.raises(ValueError, match=r"lr must be left out beside alpha, got 0\.2"):
        one_of("alpha", 0.1, "lr", 0.2)


def test_infinite_numbers_become_null(capsys):
    print_json({"a": [1.0, float("inf")], "b": {"c": float("nan"), "d": -float("inf")}, "e": "x"})
    shown = json.loads(capsys.readouterr().out)
    assert shown == {"a": [1.0, None], "b": {"c": None, "d": None}, "e": "x"}


def test_keys_of_methods_and_curvatures():
    assert method_json(Method(0.1, 0.5)) == {"alpha": 0.1, "beta": 0.5, "gamma": 0.5}
    assert curvature_json(Curvature(2.0, 8.0)) == {"mu": 2.0, "L": 8.0, "Q": 4.0}


def test_a_table_wraps_its_cells_and_cuts_nothing(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    words = "a sentence that is much longer than the terminal is wide"
    table(("name", "rate", "note"), [("[bold]", "0.9", words)], words=["note"])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 40
    assert lines[1].startswith("[bold]   0.9")
    assert " ".join(" ".join(lines[1:]).split()).endswith("terminal is wide")


@pytest.mark.parametrize(
    ("rate", "shown"),
    [(0.9, "0.900"), (1.0, "1"), (1.2728, "1.27"), (0.99996, "0.99996"), (1.0001, "1.0001"),
     (1.0046, "1.005"), (0.4, "0.400"), (12345.0, "12300"), (float("inf"), "inf"),
     (1.0 - 1e-12, "1.000000000")],
)  # fmt: skip
def test_a_rate_is_told_from_one(rate, shown):
    assert rate_digits(rate) == shown


def test_lines_wrap_between_words_and_a_path_is_never_broken(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    path = "/" + "/".join(["a long-name"] * 12) + "/picture.png"
    wrote(path)
    say(f"- a list of words that does not fit beside {path.replace(' ', '')}", indent="  ")
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == f"Wrote {path}"
    assert lines[0] == "- a list of words that does not fit"
    assert lines[2] == "  " + path.replace(" ", "")
