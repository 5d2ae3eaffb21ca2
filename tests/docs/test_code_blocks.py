"""Every code block of README and docs does what its page says."""

from pathlib import Path

import pytest
from making import code_blocks
from making.code_blocks import BlockError, alike, blocks_of, pages, run_page

RUNNABLE = [
    page
    for page in pages()
    if any(b.language in ("python", "console") and not b.set_apart for b in blocks_of(page))
]


@pytest.mark.parametrize("page", RUNNABLE, ids=lambda page: page.name)
def test_the_blocks_of_a_page_run(page):
    assert run_page(page) > 0


def test_what_nobody_runs_says_why():
    assert [block.place for block in code_blocks.unexplained()] == []
    for block in code_blocks.set_apart():
        assert len(block.reason) > 10, block.place


def page_with(folder: Path, text: str) -> Path:
    page = folder / "page.md"
    page.write_text(text, encoding="utf-8")
    return page


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("```python\n1 + 1  # 3\n```\n", "gives 2, the page shows 3"),
        ("```python\n1 / 3  # 0.34  a third\n```\n", "the page shows 0.34"),
        ("```python\nx = 1\nx.y\n```\n", "AttributeError"),
        ("```python\n>>> 1 + 1\n3\n```\n", "Expected"),
        ("```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n", "prints\n2"),
        ("```console\n$ ravine rate --Q -3\n```\n", "exits with 2"),
        ("```console\n$ ravine --version\nravine 9\n```\n", "the page shows"),
    ],
)
def test_a_block_that_is_wrong_is_noticed(tmp_path, text, message):
    with pytest.raises(BlockError, match=message):
        run_page(page_with(tmp_path, text))


def test_blocks_share_a_namespace_and_what_the_reader_brings(tmp_path):
    text = (
        "<!-- before: x = 2 -->\n```python\ny = x + 1\n```\nwords\n\n```python\ny  # 3\n```\n"
        "<!-- heavy: a long one -->\n```python\n1 / 0\n```\n"
    )
    assert run_page(page_with(tmp_path, text)) == 2
    with pytest.raises(BlockError, match="ZeroDivisionError"):
        run_page(page_with(tmp_path, text), heavy=True)


@pytest.mark.parametrize(
    ("expected", "shown", "same"),
    [
        ("0.8232...", "0.82329", True),
        ("0.8232...", "0.82331", False),
        ("0.823", "0.8232", True),
        ("0.824", "0.8232", False),
        ("(True, 9.8e+19)", "(True, 9.7911e+19)", True),
        ("(True, 9.8e+19)", "(False, 9.7911e+19)", False),
        ("<Outcome.DIVERGED", "<Outcome.DIVERGED: 2>", True),
    ],
)
def test_numbers_are_compared_to_the_digits_shown(expected, shown, same):
    assert alike(expected, shown) is same
