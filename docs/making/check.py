"""Check the built site: every link leads to a page and an anchor, nothing is loaded from elsewhere.

``python docs/making/check.py`` after ``mkdocs build``; strict mode looks at the Markdown, this at
what a browser gets.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

SITE = Path(__file__).resolve().parents[2] / "build" / "site"


class _Page(HTMLParser):
    """What a page links to, what it loads, and the anchors that it has."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the addresses and the names of a tag."""
        values = {key: value or "" for key, value in attrs}
        self.anchors |= {values[key] for key in ("id", "name") if key in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag in ("script", "img", "iframe") and "src" in values:
            self.loaded.append(values["src"])
        elif tag == "link" and values.get("rel") not in ("canonical", "next", "prev"):
            self.loaded.append(values.get("href", ""))


def read(path: Path) -> _Page:
    """A page of the site."""
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def wrong(site: Path) -> list[str]:
    """What is wrong with a site, a line each."""
    pages = {path.resolve(): read(path) for path in sorted(site.rglob("*.html"))}
    lines = []
    for path, page in pages.items():
        name = str(path.relative_to(site.resolve()))
        elsewhere = [it for it in page.loaded if urlsplit(it).scheme not in ("", "data")]
        lines += [f"{name} loads {target}" for target in elsewhere]
        for target in [*page.links, *page.loaded]:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc or target.startswith("#__"):
                continue
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if name == "404.html" or parts.path.startswith("/"):
                there = (site / unquote(parts.path).lstrip("/")).resolve()
            if there.is_dir():
                there /= "index.html"
            anchor = unquote(parts.fragment)
            if not there.exists():
                lines.append(f"{name} leads to {target}, which is not there")
            elif anchor and there in pages and anchor not in pages[there].anchors:
                lines.append(f"{name} leads to {target}, an anchor that is not there")
    return lines


if __name__ == "__main__":
    errors = wrong(SITE)
    print("\n".join(errors) or f"{len(list(SITE.rglob('*.html')))} pages: all links resolve")
    sys.exit(bool(errors))
