import os
import subprocess
import sys

import ravine as package
from ravine.cli import COMMANDS


def test_without_arguments_the_help_is_shown(ravine):
    shown = ravine()
    assert shown.code == 0
    for command in COMMANDS:
        assert f"│ {command} " in shown.out


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
        ("ravine re", ["recommend", "reproduce"]),
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
