"""The site's plan: every page has its place, every link of README and docs leads somewhere."""

import doctest
import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from making import code_blocks, formulas, packages, python_reference
from making.code_blocks import ROOT, pages

import ravine

PAGES = [*pages(), *(ROOT / name for name in ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"))]


def targets_of(text: str) -> list[str]:
    """Links and pictures of a page, code left out."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
    return re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'src="([^"]+)"', text)


def anchors_of(page: Path) -> set[str]:
    """The anchors that headings of a page get, here and on the site."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", heading.lower()).strip() for heading in headings]
    return {re.sub(r"[ ]+", "-", heading) for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in targets_of(page.read_text(encoding="utf-8")):
        if target.startswith(("http://", "https://")):
            continue
        file, _, anchor = target.partition("#")
        there = (page.parent / file).resolve() if file else page
        assert there.exists(), f"{page.name}: {target}"
        if anchor:
            assert anchor in anchors_of(there), f"{page.name}: {target}"


def test_every_page_has_a_place():
    plan = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in pages()[1:]:
        assert f": {page.relative_to(ROOT / 'docs')}\n" in plan, page.name


def test_every_public_name_is_in_the_reference():
    made = python_reference.pages()
    shown = "\n".join(made.values())
    index = made["reference/python.md"]
    open_names = [name for home in ravine._OPEN for name in import_module(home).__all__]
    for name in [*ravine._HOME_OF, *open_names]:
        thing = getattr(ravine, name)
        if name.isupper():
            continue  # a constant
        place = f"{thing.__module__}.{thing.__qualname__}"
        assert f"::: {place}\n" in shown, name
        assert re.search(
            rf"^\| \[`{name}`\]\(\w[\w-]*\.md#{re.escape(place)}\) \| \w", index, re.MULTILINE
        )


def test_the_picture_of_the_packages_shows_the_imports_of_today():
    pairs = packages.imports()
    assert ("cli", "web") in pairs
    assert ("theory", "engine") not in pairs
    assert ("engine", "theory") not in pairs
    drawn = (packages.IMAGES / "packages.svg").read_text(encoding="utf-8")
    assert drawn == packages.drawing()


@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs" / "measured").glob("*.md")), ids=lambda p: p.stem
)
def test_a_measured_page_ends_with_the_command_that_reproduces_it(page):
    text = page.read_text(encoding="utf-8")
    last_section = re.split(r"^#+ ", text, flags=re.MULTILINE)[-1]
    assert re.search(r"python -m benchmarks\.|make bench", last_section)
    for module in re.findall(r"python -m (benchmarks[\w.]*)", text):
        assert find_spec(module.rstrip(".")), module


@pytest.mark.parametrize(
    "module", [code_blocks, formulas, python_reference], ids=lambda m: m.__name__
)
def test_the_examples_in_what_makes_the_site_are_right(module):
    failed, tried = doctest.testmod(module)
    assert tried > 0
    assert failed == 0
