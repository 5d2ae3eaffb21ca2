import ast
import os
import subprocess
import sys

import pytest

import ravine as package
from ravine.cli import COMMANDS


def test_alone_it_shows_four_questions_and_every_command(ravine):
    shown = ravine()
    assert shown.code == 0
    assert ravine("--help").out == shown.out
    questions = {command.question for command in COMMANDS.values()}
    assert len(questions) == 4
    assert {line for line in shown.out.splitlines() if line.endswith("?")} == questions
    for name, command in COMMANDS.items():
        assert f"  {name:10} {command.answer}\n" in shown.out


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize(("columns", "limit"), [("80", 80), ("140", 100)])
def test_help_has_examples_and_fits(ravine, monkeypatch, name, columns, limit):
    monkeypatch.setenv("COLUMNS", columns)
    lines = ravine(name, "--help").out.splitlines()
    assert max(map(len, lines)) <= limit
    assert sum(line.startswith(f"  • ravine {name}") for line in lines) >= 2
    assert not any("…" in line for line in lines)


def test_a_command_loads_its_own_modules_only():
    code = (
        "import sys; from ravine.cli import main\n"
        "try: main(['rate', '--Q', '100', '--json'])\n"
        "except SystemExit: pass\n"
        "print([n for n in sys.modules if n.startswith('ravine.')], file=sys.stderr)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = ast.literal_eval(shown.stderr)
    assert len(loaded) <= 55
    for part in ("engine", "figures", "problems", "diagnosis", "cli.batch"):
        assert not any(name.startswith(f"ravine.{part}") for name in loaded)


def test_version(ravine):
    assert ravine("--version").out == f"ravine {package.__version__}\n"


def test_an_unknown_command_is_one_line(refused):
    assert "No such command 'ratte'" in refused("ratte")


def test_the_installed_command_prints_no_traceback():
    command = [sys.executable, "-c", "from ravine.cli import main; main()", "rate", "--Q", "-3"]
    shown = subprocess.run(command, capture_output=True, text=True, check=False)
    assert shown.returncode == 2
    assert shown.stderr == "ravine: Q must be at least 1, got -3: it is L/mu\n"


def test_the_shell_completes_commands_and_options():
    command = [sys.executable, "-c", "from ravine.cli import main; main()"]
    for words, expected in (
        ("ravine re", ["recommend", "rescale", "reproduce"]),
        ("ravine rate --be", ["--beta"]),
    ):
        asked = {
            **os.environ,
            "_RAVINE_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(words.count(" ")),
        }
        shown = subprocess.run(command, capture_output=True, text=True, check=True, env=asked)
        assert shown.stdout.split() == expected


def test_an_option_does_not_take_the_next_one_for_its_value(refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line = refused("map", "--Q", 8, "--resolution", 4, "--out", "--json")
    assert "--out must be followed by a value, got --json" in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("columns", [20, 80, 120])
@pytest.mark.parametrize(
    "line",
    [
        ["rate", "--Q", "100"],
        ["recommend", "--Q", "100"],
        ["batch", "--Q", "100", "--L-max", "2000", "--batch-size", "32"],
        ["convert", "--lr", "0.1", "--momentum", "0.9", "--nesterov"],
        ["map", "--Q", "8", "--resolution", "4", "--out", "map.csv"],
    ],
    ids=lambda line: line[0],
)
def test_answers_fit_the_terminal_and_end_with_the_next_command(
    ravine, monkeypatch, tmp_path, columns, line
):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.chdir(tmp_path)
    shown = ravine(*line)
    *answer, following = shown.out.splitlines()
    assert following.startswith("  ravine ")
    # Code and the next command are not broken, so that they can be copied.
    assert all(len(text) <= min(columns, 100) for text in answer if "Method(" not in text)
    assert "…" not in shown.out
    assert ravine(*following.split()[1:]).code == 0
