"""The site's plan: every page has its place, every link of README and docs leads somewhere."""

import re
from importlib import import_module
from pathlib import Path

import pytest
from making import packages, python_reference
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
        assert f": {page.name}\n" in plan, page.name


def test_every_public_name_is_in_the_reference():
    shown = "\n".join(python_reference.pages().values())
    open_names = [name for home in ravine._OPEN for name in import_module(home).__all__]
    for name in [*ravine._HOME_OF, *open_names]:
        thing = getattr(ravine, name)
        if name.isupper():
            continue  # a constant
        assert f"::: {thing.__module__}.{thing.__qualname__}\n" in shown, name


def test_the_picture_of_the_packages_shows_the_imports_of_today():
    pairs = packages.imports()
    assert ("cli", "web") in pairs
    assert ("theory", "engine") not in pairs
    assert ("engine", "theory") not in pairs
    drawn = (packages.IMAGES / "packages.svg").read_text(encoding="utf-8")
    assert drawn == packages.drawing()
