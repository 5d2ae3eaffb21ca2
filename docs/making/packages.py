"""Draw the packages of ravine and their imports as SVG.

``python docs/making/packages.py`` writes docs/images/packages.svg. The imports are read from the
sources: a line from one package to another is an import that is there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "ravine"
IMAGES = ROOT / "docs" / "images"

PACKAGES = {
    "roots": ("methods, curvature", "the basic objects", 0, 1),
    "theory": ("theory", "reasons", 1, 0),
    "problems": ("problems", "objectives and data", 1, 2),
    "engine": ("engine", "runs", 2, 1),
    "tables": ("tables", "reads files", 2, 2),
    "figures": ("figures", "data, then drawing", 3, 1),
    "diagnosis": ("diagnosis", "a verdict on data", 4, 2),
    "sklearn": ("sklearn", "estimators", 5, 0),
    "torch": ("torch", "real training runs", 2, 0),
    "claims": ("claims", "the paper, judged", 4, 1),
    "report": ("report", "HTML pages", 1, 1),
    "reproduction": ("reproduction", "the whole paper", 5, 1),
    "web": ("web", "the page", 5, 2),
    "cli": ("cli", "the commands", 6, 1),
}
"""Package: title, purpose, and its place: row from the top, column of three."""

_STYLE = (
    "text{font-family:system-ui,sans-serif;fill:#1d2733} .title{font-size:15px;font-weight:600}"
    " .small{font-size:11.5px;fill:#5a6877}"
    " .code{font-family:ui-monospace,monospace;font-size:12px}"
    " rect{fill:#f3f7fb;stroke:#3d85bd;stroke-width:1.2} .witness{fill:#fdf3e0;stroke:#d08a00}"
    " path{fill:none;stroke:#9fb2c4;stroke-width:1.1}"
)
_WIDTH, _HEIGHT = 210, 46  # of a package, in pixels
_ACROSS, _DOWN = 250, 82  # from one corner to the next


def imports() -> set[tuple[str, str]]:
    """Pairs (from, to) of packages of which the first imports the second."""
    pairs = set()
    for path in SOURCE.rglob("*.py"):
        package = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if package not in PACKAGES:
            continue
        for name in _imported(path):
            other = name.split(".")[1]
            target = other if other in PACKAGES else "roots"
            if target != package:
                pairs.add((package, target))
    return pairs


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("ravine."):
            yield node.module


def drawing() -> str:
    """The packages and their imports, without those that follow from a chain of others."""
    pairs = imports()
    lines = []
    for source, target in sorted(pairs):
        if not _implied(source, target, pairs):
            lines.append(_line(source, target))
    boxes = [
        _box(*PACKAGES[package], witness=package in ("theory", "engine")) for package in PACKAGES
    ]
    note = (
        '<text x="20" y="588" class="small">A line: the lower package imports the upper one, and '
        'what that one imports.</text><text x="20" y="605" class="small">theory and engine never '
        "import each other: they are two witnesses, and the tests compare them.</text>"
    )
    return _svg(760, 620, "Packages of ravine", [*lines, *boxes, note])


def _implied(source: str, target: str, pairs: set[tuple[str, str]]) -> bool:
    """Whether the target is reached through another import of the source."""
    ahead = [b for a, b in pairs if a == source and b != target]
    seen = set()
    while ahead:
        package = ahead.pop()
        if package == target:
            return True
        if package not in seen:
            seen.add(package)
            ahead += [b for a, b in pairs if a == package]
    return False


def _corner(row: int, column: int) -> tuple[int, int]:
    return 20 + column * _ACROSS, 14 + row * _DOWN


def _box(title: str, purpose: str, row: int, column: int, *, witness: bool) -> str:
    x, y = _corner(row, column)
    mark = ' class="witness"' if witness else ""
    return (
        f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="7"{mark}/>'
        f'<text x="{x + _WIDTH / 2}" y="{y + 20}" text-anchor="middle" class="title">'
        f"{escape(title)}</text>"
        f'<text x="{x + _WIDTH / 2}" y="{y + 37}" text-anchor="middle" class="small">'
        f"{escape(purpose)}</text>"
    )


def _line(source: str, target: str) -> str:
    """From the top of the lower package to the foot of the upper one."""
    from_x, from_y = _corner(*PACKAGES[source][2:])
    to_x, to_y = _corner(*PACKAGES[target][2:])
    start = from_x + _WIDTH / 2
    end = to_x + _WIDTH / 2
    foot = to_y + _HEIGHT

    # Straight down the upper column, then across in the gap above the lower package.
    gap = from_y - (_DOWN - _HEIGHT)
    middle = (from_y + gap) / 2
    return (
        f'<path d="M{end},{foot} L{end},{gap} C{end},{middle} {start},{middle} {start},{from_y}"/>'
    )


def _svg(width: int, height: int, title: str, parts: list[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'role="img"><title>{escape(title)}</title><style>{_STYLE}</style>'
        f'<rect width="{width}" height="{height}" style="fill:#fff;stroke:none"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


if __name__ == "__main__":
    (IMAGES / "packages.svg").write_text(drawing(), encoding="utf-8")
    print("wrote docs/images/packages.svg")
