"""The page of the commands and the man page say what the commands say."""

from making import commands

from ravine.cli import COMMANDS


def test_every_command_and_option_is_there():
    page = commands.page()
    man = commands.man_page()
    for command in commands.commands():
        assert f"## ravine {command.name}\n" in page
        assert command.summary in page
        for option in command.options:
            assert f"`{option.written}" in page
            assert option.written.replace("-", "\\-") in man
    assert {command.name for command in commands.commands()} == set(COMMANDS)


def test_examples_are_kept_as_examples():
    rate = next(command for command in commands.commands() if command.name == "rate")
    assert rate.examples[0] == "ravine rate --mu 0.05 --L 100"
    assert rate.usage == "ravine rate [OPTIONS]"


def test_no_line_of_the_man_page_is_a_request_by_accident():
    requests = {".TH", ".SH", ".SS", ".TP", ".PP", ".B", ".I", ".nf", ".fi", ".RS", ".RE"}
    for line in commands.man_page().splitlines():
        if line.startswith((".", "'")):
            assert line.split()[0] in requests


def test_the_man_page_in_the_wheel_knows_every_command():
    written = commands.MAN_PAGE.read_text(encoding="utf-8")
    for name in COMMANDS:
        assert f".SS ravine {name} " in written


def test_values_have_the_names_of_the_help():
    page = commands.page()
    assert "`--method NAME`" in page
    assert "`--alpha-range FROM TO`" in page
