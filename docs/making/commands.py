"""The command line as a page of the site and as a man page, from the commands themselves.

``python docs/making/commands.py`` writes docs/man/ravine.1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

import ravine
from ravine.cli import app

MAN_PAGE = Path(__file__).resolve().parents[1] / "man" / "ravine.1"
DATE = "2026-11-18"  # of the release that the man page is printed in

_PURPOSE = "whether SGD with momentum converges, how fast, and which settings are safe"


@dataclass(frozen=True)
class Option:
    """One option or argument: how it is written, what it takes, what it is for."""

    written: str
    takes: str
    meaning: str


@dataclass(frozen=True)
class Command:
    """One command: its sentence, what more there is to say, its examples and its options."""

    name: str
    summary: str
    details: tuple[str, ...]
    examples: tuple[str, ...]
    options: tuple[Option, ...]

    @property
    def usage(self) -> str:
        """How it is called."""
        arguments = [o.written for o in self.options if not o.written.startswith("-")]
        return " ".join(["ravine", self.name, *arguments, "[OPTIONS]"])


def commands() -> list[Command]:
    """All commands, in the order of ``ravine --help``."""
    group: Any = typer.main.get_command(app)
    return [_command(name, group.get_command(None, name)) for name in group.list_commands(None)]


def _command(name: str, command: Any) -> Command:
    paragraphs = [" ".join(part.split()) for part in command.help.split("\n\n")]
    examples = [part for part in paragraphs if re.fullmatch(r"- `.*`.*", part)]
    words = [p for p in paragraphs[1:] if p not in examples and p != "For example:"]
    options = tuple(_option(parameter) for parameter in command.params if not parameter.hidden)
    return Command(
        name,
        paragraphs[0],
        tuple(words),
        tuple(e.removeprefix("- ").strip("`") for e in examples),
        options,
    )


def _option(parameter: Any) -> Option:
    argument = parameter.param_type_name == "argument"
    names = [*parameter.opts, *parameter.secondary_opts]
    written = parameter.name.upper() if argument else ", ".join(names)
    takes = "" if argument or getattr(parameter, "is_flag", False) else parameter.metavar
    return Option(written, takes, parameter.help or "")


def page() -> str:
    """The page of the site."""
    lines = [
        "# Commands", "",
        "`ravine COMMAND --help` and `man ravine` show the same. `ravine --install-completion` "
        "turns on completion in your shell. Every command except `explore` takes `--json`, with "
        "[stable keys](../json.md).", "",
        "Exit codes: 0 success; 2 bad input, with one line on stderr that names the parameter, "
        "the rule, the value and the remedy; 130 interrupted.", "",
    ]  # fmt: skip

    for command in commands():
        lines += [f"## ravine {command.name}", "", command.summary, ""]
        for words in command.details:
            lines += [words, ""]
        if command.examples:
            lines += ["```sh", *command.examples, "```", ""]
        lines += ["| option | meaning |", "|---|---|"]
        for option in command.options:
            takes = f" {option.takes}" if option.takes else ""
            meaning = option.meaning.replace("|", "\\|")
            lines.append(f"| `{option.written}{takes}`".replace("|", "\\|")[1:] + f" | {meaning} |")
        lines.append("")
    return "\n".join(lines)


def man_page() -> str:
    """The man page, in roff."""
    lines = [
        f'.TH RAVINE 1 "{DATE}" "ravine {ravine.__version__}" "User Commands"',
        ".SH NAME", f"ravine \\- {_PURPOSE}",
        ".SH SYNOPSIS", ".B ravine", ".I COMMAND", "[OPTIONS]",
        ".SH DESCRIPTION",
        _roff("Takes the curvature of a problem or a table of data, a step size and a momentum. "
              "Tells what is guaranteed, what is likely, and what to use instead."),
    ]  # fmt: skip

    lines.append(".SH COMMANDS")
    for command in commands():
        lines += [f".SS {_roff(command.usage)}", _roff(command.summary)]
        for words in command.details:
            lines += [".PP", _roff(words)]
        for option in command.options:
            takes = f" \\fI{_roff(option.takes)}\\fR" if option.takes else ""
            lines += [".TP", f"\\fB{_roff(option.written)}\\fR{takes}", _roff(option.meaning)]
        if command.examples:
            lines += [".PP", "Examples:", ".PP", ".nf", ".RS"]
            lines += [*(_roff(example) for example in command.examples), ".RE", ".fi"]

    lines += [
        ".SH EXIT STATUS",
        ".TP", "0", "success",
        ".TP", "2", "bad input: one line on stderr names the parameter, the rule, the value and "
        "the remedy",
        ".TP", "130", "interrupted",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _roff(text: str) -> str:
    """Text that roff prints as it is: no line begins a request, a dash stays a dash."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


if __name__ == "__main__":
    MAN_PAGE.parent.mkdir(exist_ok=True)
    MAN_PAGE.write_text(man_page(), encoding="utf-8")
    print(f"wrote {MAN_PAGE}")
