"""Options become curvatures, methods and JSON; what does not fit is refused in one line."""

import json
import re

import pytest
import typer

from ravine import Curvature, Method
from ravine.cli import app
from ravine.cli.options import curvature_from, one_of, spelled
from ravine.cli.output import Answer, as_json, print_json, rate_digits, table, wrote
from ravine.figures.parameter_map import QUANTITIES
from ravine.problems.losses import LOSSES
from ravine.sampling import Sampling
from ravine.theory.error_quantity import ErrorQuantity
from ravine.theory.tuning.recommend import Setting


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


def test_two_names_of_one_option():
    assert one_of("alpha", 0.1, "lr", None) == 0.1
    assert one_of("alpha", None, "lr", 0.2) == 0.2
    assert one_of("alpha", None, "lr", None) is None
    with pytest.raises(ValueError, match=r"lr must be omitted with alpha, got 0\.2"):
        one_of("alpha", 0.1, "lr", 0.2)


def test_infinite_numbers_become_null(capsys):
    print_json({"a": [1.0, float("inf")], "b": {"c": float("nan"), "d": -float("inf")}, "e": "x"})
    shown = json.loads(capsys.readouterr().out)
    assert shown == {"a": [1.0, None], "b": {"c": None, "d": None}, "e": "x"}


def test_keys_of_methods_and_curvatures():
    assert as_json(Method(0.1, 0.5)) == {"alpha": 0.1, "beta": 0.5, "gamma": 0.5}
    assert as_json(Curvature(2.0, 8.0)) == {"mu": 2.0, "L": 8.0, "Q": 4.0}


def test_a_table_wraps_its_cells_and_cuts_nothing(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    words = "a sentence that is much longer than the terminal is wide"
    Answer({}, table(("name", "rate", "note"), [("[bold]", "0.9", words)], words=["note"])).show()
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 40
    assert lines[1].startswith("[bold]   0.9")
    assert " ".join(" ".join(lines[1:]).split()).endswith("terminal is wide")


@pytest.mark.parametrize(
    ("rate", "shown"),
    [(0.9, "0.900"), (1.0, "1"), (1.2728, "1.27"), (0.99996, "0.99996"), (1.0001, "1.0001"),
     (1.0046, "1.005"), (0.4, "0.400"), (12345.0, "12300"), (float("inf"), "inf"),
     (1.0 - 1e-12, "1 - 1e-12")],
)  # fmt: skip
def test_a_rate_is_told_from_one(rate, shown):
    assert rate_digits(rate) == shown


def test_lines_wrap_between_words_and_a_path_is_never_broken(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    path = "/" + "/".join(["a long-name"] * 12) + "/picture.png"
    entry = f"- a list of words that does not fit beside {path.replace(' ', '')}"
    Answer({}, *wrote(path), entry).show()
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == f"Wrote {path}"
    assert lines[0] == "- a list of words that does not fit"
    assert lines[2] == "  " + path.replace(" ", "")


@pytest.mark.parametrize(
    ("command", "option", "choices"),
    [
        ("diagnose", "--sampling", list(Sampling)),
        ("diagnose", "--loss", list(LOSSES)),
        ("map", "--quantity", list(QUANTITIES)),
        ("recommend", "--setting", list(Setting)),
        ("recommend", "--quantity", list(ErrorQuantity)),
    ],
)
def test_the_help_lists_every_choice(command, option, choices):
    group = typer.main.get_command(app)
    [found] = [p for p in group.get_command(None, command).params if option in p.opts]
    listed = re.split(r", | or ", found.help.split(". ")[0].rstrip(".").split(": ")[-1])
    assert listed == choices


def test_options_as_they_are_typed():
    words = spelled(drop=["a", "b c"], raw=True, lr=1e-6, target=None, in_order=False, epochs=5)
    assert words == " --drop a --drop 'b c' --raw --lr 1e-06 --epochs 5"


def test_the_largest_curvature_by_its_ratio(ravine, refused):
    problem = ["rate", "--mu", 0.5, "--L", 20]
    ratio = ravine(*problem, "--L-max-ratio", 10, "--json").out
    assert ratio == ravine(*problem, "--L-max", 200, "--json").out
    given = ["rescale", "--lr", 0.1, "--from-batch", 1, "--to-batch", 2, "--L-max-ratio", 3]
    assert "L-max-ratio must be given with a curvature" in refused(*given)
    assert "L-max-ratio must be omitted" in refused(*problem, "--L-max", 9, "--L-max-ratio", 3)
