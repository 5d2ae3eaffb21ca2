"""What MkDocs is told beyond mkdocs.yml: pages made from the code, formulas, links out of docs/."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs"))

from making import commands, formulas, python_reference  # noqa: E402

REPOSITORY_FILES = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
"""Files beside docs/ that are pages of the site as well."""

SEARCH_BOOST = {"Start": 8.0, "Guides": 8.0, "Reference": 2.0, "Project": 0.5}
"""By section: a reader who searches wants to be told what to do first, then the functions."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Leave out of the navigation what has no page (yet)."""
    made = {*REPOSITORY_FILES.values(), "reference/commands.md", *python_reference.PAGES}
    there = {str(p.relative_to(ROOT / "docs")) for p in (ROOT / "docs").rglob("*.md")} | made
    config["nav"] = _existing(config["nav"], there)
    return config


def _existing(entries: list[Any], there: set[str]) -> list[Any]:
    kept = []
    for entry in entries:
        ((title, target),) = entry.items()
        if isinstance(target, list):
            inner = _existing(target, there)
            if inner:
                kept.append({title: inner})
        elif target in there:
            kept.append(entry)
    return kept


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made: reference, commands, changelog, contributing."""
    for source, target in REPOSITORY_FILES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, target, content=inside_links(text)))

    for target, text in python_reference.pages().items():
        files.append(File.generated(config, target, content=text))

    files.append(File.generated(config, "reference/commands.md", content=commands.page()))
    return files


def inside_links(text: str) -> str:
    """Links of a file beside docs/, as a page in it has to write them.

    >>> inside_links("see [the packages](docs/architecture.md) and [this](CONTRIBUTING.md)")
    'see [the packages](architecture.md) and [this](contributing.md)'
    """
    text = re.sub(r"\]\(docs/", "](", text)
    for source, target in REPOSITORY_FILES.items():
        text = text.replace(f"]({source})", f"]({target})")
    return text


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Correct links from docs/ to a file beside it; list guides first in the search."""
    section = page.parent.title if page.parent else "Start"
    page.meta["search"] = {"boost": SEARCH_BOOST.get(section, 1.0)}
    for source, target in REPOSITORY_FILES.items():
        markdown = markdown.replace(f"](../{source})", f"]({target})")
    return markdown


def on_page_content(html: str, **_: Any) -> str:
    """Draw the formulas; write what docstrings say in Python's own markup as the site does."""
    html = re.sub(r":(?:func|class|meth|mod|attr|data):(?=<code)", "", html)
    html = re.sub(r"::(</p>\s*<(?:div|pre))", r":\1", html)
    return formulas.with_formulas(html)
