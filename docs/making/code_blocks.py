"""The code blocks of README and docs, run as a reader would run them.

A page's blocks run in order in one namespace and one empty folder.

- ``python`` blocks are executed. Where a line ends in a comment that begins with a value, as in
  ``f(x)  # 0.25  a remark``, the value is compared: numbers to the digits shown, ``...`` for what
  is ignored. ``>>>`` blocks are doctests.
- ``console`` blocks: every ``$ ravine ...`` runs in this process, must succeed, and must print what
  stands below it; a line ``...`` stands for any lines. Other commands are not run.
- ``toml`` blocks whose first line is a comment with a file's name are written to that file.

Comments of the page, invisible to its readers, say more:

- ``<!-- before: CODE -->`` is Python that runs first, for things that a reader brings along;
- ``<!-- heavy: REASON -->`` above a block: it runs with ``make docs`` only;
- ``<!-- not run: REASON -->`` above a block: it never runs.

``python -m making.code_blocks`` in docs/ runs the heavy ones; ``--list`` names what is set apart.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import doctest
import io
import os
import re
import shlex
import tempfile
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

RUN = ("python", "console", "toml")
"""Languages that are run, or written to a file."""

CODE = (*RUN, "sh", "bash", "pycon")
"""Languages in which a block that is not run has to say why."""

_PIECE = re.compile(
    r"^<!-- (?P<kind>before|heavy|not run):\s(?P<text>.*?) ?-->$"
    r"|^(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<code>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
_VALUE = re.compile(r"[-+]?\d|[(\['\"]|True\b|False\b|None\b|<|array\(|\.\.\.")
"""How a comment begins that shows a value rather than words."""

_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?(?![\w])")


@dataclass(frozen=True)
class Block:
    """A piece of code on a page: where, in which language, why it is not run, what it prints."""

    page: str
    line: int
    language: str
    code: str
    set_apart: str = ""
    reason: str = ""
    prints: str = ""

    @property
    def place(self) -> str:
        """Page and line."""
        return f"{self.page}:{self.line}"


class BlockError(AssertionError):
    """A block that does not do what its page says."""


def pages() -> list[Path]:
    """README and every page of docs."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks_of(page: Path) -> list[Block]:
    """The blocks of a page in order; what runs first has the language ``before``."""
    text = page.read_text(encoding="utf-8")
    name = str(page.relative_to(ROOT)) if page.is_relative_to(ROOT) else page.name
    blocks: list[Block] = []
    set_apart = ""
    reason = ""
    for match in _PIECE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        kind = match["kind"]
        if kind == "before":
            code = textwrap.dedent(match["text"]).strip() + "\n"
            blocks.append(Block(name, line, "before", code))
        elif kind:
            set_apart = kind
            reason = " ".join(match["text"].split())
        elif match["language"] == "text" and _is_output(text, match, blocks):
            blocks[-1] = replace(blocks[-1], prints=textwrap.dedent(match["code"]))
        else:
            code = textwrap.dedent(match["code"])
            blocks.append(Block(name, line, match["language"], code, set_apart, reason))
            set_apart = ""
            reason = ""
    return blocks


def _is_output(text: str, match: re.Match[str], blocks: list[Block]) -> bool:
    """Whether only an empty line stands between a block and the Python above it."""
    above = text[: match.start()].removesuffix("\n\n")
    return above.endswith("```") and bool(blocks) and blocks[-1].language == "python"


def set_apart() -> list[Block]:
    """Blocks that the tests do not run."""
    return [block for page in pages() for block in blocks_of(page) if block.set_apart]


def unexplained() -> list[Block]:
    """Blocks of code that never run and do not say why."""
    return [
        block
        for page in pages()
        for block in blocks_of(page)
        if block.language in CODE and block.language not in RUN and not block.set_apart
    ]


def run_page(page: Path, *, heavy: bool = False) -> int:
    """Run a page's blocks in an empty folder; returns how many ran.

    Raises
    ------
    BlockError
        A block failed, or shows something else than what comes out.
    """
    namespace: dict[str, Any] = {"__name__": "__main__"}
    ran = 0
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for block in blocks_of(page):
            wanted = not block.set_apart or (heavy and block.set_apart == "heavy")
            if wanted and block.language in ("before", *RUN):
                ran += _run(block, namespace)
    return ran


def _run(block: Block, namespace: dict[str, Any]) -> int:
    if block.language == "toml":
        _write(block)
    elif block.language == "console":
        _run_commands(block)
    elif block.language == "python" and ">>> " in block.code:
        _run_doctest(block, namespace)
    else:
        _run_python(block, namespace)
    return int(block.language != "before")


def _write(block: Block) -> None:
    named = re.match(r"# ([\w.-]+\.toml)\b", block.code)
    if named:
        Path(named[1]).write_text(block.code, encoding="utf-8")


def _run_doctest(block: Block, namespace: dict[str, Any]) -> None:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    test = doctest.DocTestParser().get_doctest(
        block.code, namespace, block.place, block.page, block.line
    )
    printed_text = io.StringIO()
    with _plain_numbers():
        failed = doctest.DocTestRunner(optionflags=flags).run(
            test, out=printed_text.write, clear_globs=False
        )
    namespace.update(test.globs)
    if failed.failed:
        raise BlockError(f"{block.place}: {printed_text.getvalue()}")


def _run_python(block: Block, namespace: dict[str, Any]) -> None:
    """Execute statement by statement; compare each value that a comment shows."""
    lines = block.code.splitlines()
    wrong = []
    printed = io.StringIO()
    for statement in ast.parse(block.code).body:
        source = ast.get_source_segment(block.code, statement) or ""
        last = lines[(statement.end_lineno or 1) - 1].encode()
        comment = last[statement.end_col_offset or 0 :].decode().strip()
        at = f"{block.page}:{block.line + statement.lineno}"
        try:
            with _plain_numbers(), contextlib.redirect_stdout(printed):
                if isinstance(statement, ast.Expr):
                    shown = repr(eval(compile(source, at, "eval"), namespace))
                else:
                    exec(compile(source, at, "exec"), namespace)
                    continue
        except Exception as error:
            raise BlockError(f"{at}: {source}\n{type(error).__name__}: {error}") from error

        expected = re.split(r" {2,}", comment.removeprefix("#").strip())[0]
        if comment.startswith("#") and _VALUE.match(expected) and not alike(expected, shown):
            wrong.append(f"{at}: {source} gives {shown}, the page shows {expected}")
    if not _prints(block.prints, printed.getvalue()):
        shown = printed.getvalue()
        wrong.append(f"{block.place} prints\n{shown}\nthe page shows\n{block.prints}")
    if wrong:
        raise BlockError("\n".join(wrong))


@contextlib.contextmanager
def _plain_numbers() -> Iterator[None]:
    """NumPy's scalars print as numbers, as a reader would write them."""
    import numpy as np

    with np.printoptions(legacy="1.25"):
        yield


def alike(expected: str, shown: str) -> bool:
    """Whether what came out begins as the page shows it, numbers to the digits shown.

    >>> alike("0.8232...", "0.82322330470336")
    True
    >>> alike("(True, 9.8e+19)", "(True, 9.8149e+19)")
    True
    >>> alike("80.49", "80.51")
    False
    """
    wanted = _NUMBER.findall(expected)
    given = _NUMBER.findall(shown)
    words = _NUMBER.sub("#", expected).replace("#...", "#")
    pattern = ".*".join(re.escape(part) for part in " ".join(words.split()).split("..."))
    if not re.match(pattern, " ".join(_NUMBER.sub("#", shown).split()), re.DOTALL):
        return False
    rounded = [expected[m.end() : m.end() + 3] != "..." for m in _NUMBER.finditer(expected)]
    return all(
        _same_digits(w, g, r) for w, g, r in zip(wanted, given, rounded, strict=False)
    ) and len(given) >= len(wanted)


def _same_digits(wanted: str, given: str, rounded: bool) -> bool:
    """Whether a number is another rounded to its digits, or cut off after them."""
    if not rounded:
        return given.startswith(wanted)
    mantissa, _, exponent = wanted.replace(",", "").partition("e")
    unit = 10.0 ** (-len(mantissa.partition(".")[2]) + int(exponent or 0))
    return abs(float(wanted.replace(",", "")) - float(given.replace(",", ""))) <= 0.5001 * unit


def _run_commands(block: Block) -> None:
    for command, expected in _commands(block.code):
        words = shlex.split(command, comments=True)
        if words[:1] != ["ravine"]:
            continue
        code, printed_text = _ravine(words[1:])
        if code != 0:
            raise BlockError(f"{block.place}: {command} exits with {code}\n{printed_text}")
        if not _prints(expected, printed_text):
            raise BlockError(
                f"{block.place}: {command} prints\n{printed_text}\nthe page shows\n{expected}"
            )


def _prints(shown: str, printed: str) -> bool:
    """Whether a page shows what was printed; spaces and line breaks may differ."""
    pattern = shown.replace("\n...\n", "\n...").strip()
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return not pattern or doctest.OutputChecker().check_output(pattern + "\n", printed, flags)


def _commands(code: str) -> Iterator[tuple[str, str]]:
    for part in re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]:
        joined = part.replace("\\\n", " ")
        command, _, expected = joined.partition("\n")
        yield command, expected


def _ravine(words: list[str]) -> tuple[int, str]:
    """Run a command in this process at 80 columns; returns the exit code and what was printed."""
    from ravine.cli import main

    printed_text = io.StringIO()
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "80"
    try:
        with contextlib.redirect_stdout(printed_text), contextlib.redirect_stderr(printed_text):
            main(words)
    except SystemExit as stop:
        return int(stop.code or 0), printed_text.getvalue()
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before
    return 0, printed_text.getvalue()


def main() -> None:
    """List what is set apart, or run the pages that have heavy blocks."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--list", action="store_true", help="name the blocks that no test runs")
    parser.add_argument("pages", nargs="*", type=Path, help="default: those with heavy blocks")
    options = parser.parse_args()

    apart = set_apart()
    for block in apart:
        print(f"{block.set_apart:8}  {block.place:32}  {block.reason}")
    heavy = {block.page for block in apart if block.set_apart == "heavy"}
    few = len([block for block in apart if block.set_apart == "heavy"])
    print(f"{few} heavy blocks, {len(apart) - few} that never run")

    if not options.list:
        for page in [p.resolve() for p in options.pages] or [ROOT / name for name in sorted(heavy)]:
            print(f"{page.name}: {run_page(page, heavy=True)} blocks ran", flush=True)


if __name__ == "__main__":
    main()
