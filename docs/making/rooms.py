"""Draw how ravine is built: its rooms, and the two long ways through them, as SVG.

``python docs/making/rooms.py`` writes docs/images/rooms.svg and docs/images/ways.svg. The imports
are read from the sources: a line from one room to another is an import that is there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "ravine"
IMAGES = ROOT / "docs" / "images"

ROOMS = {
    "roots": ("methods, curvature", "what everything speaks of", 0, 1),
    "theory": ("theory", "reasons", 1, 0),
    "problems": ("problems", "objectives and data", 1, 2),
    "engine": ("engine", "runs", 2, 1),
    "tables": ("tables", "reads files", 2, 2),
    "figures": ("figures", "data, then drawing", 3, 1),
    "diagnosis": ("diagnosis", "a verdict on data", 3, 2),
    "torch": ("torch", "real training runs", 4, 0),
    "claims": ("claims", "the paper, judged", 4, 1),
    "report": ("report", "HTML pages", 4, 2),
    "reproduction": ("reproduction", "the whole paper", 5, 1),
    "web": ("web", "the page", 5, 2),
    "cli": ("cli", "the commands", 6, 1),
}
"""Room, title, purpose, and its place: row from the top, column of three."""

WAYS = {
    "ravine sweep spec.toml": (
        ("cli/sweep.py", "options, what the store has"),
        ("engine/spec_file.py", "TOML to a problem and arguments"),
        ("engine/spec.py", "each argument checked once: a Spec"),
        ("engine/tiles.py", "the plane cut into tiles"),
        ("engine/kernels/", "a tile: draws, steps, bins"),
        ("engine/storage/", "the tile on disk, then its record"),
        ("engine/dataset.py", "an xarray.Dataset"),
    ),
    "ravine diagnose data.csv": (
        ("tables/reading.py", "a file to numbers and a target"),
        ("diagnosis/setup.py", "options checked, rows cut into batches"),
        ("diagnosis/survey.py", "minimiser, curvature of the batches"),
        ("diagnosis/candidates.py", "recipes, with theory/tuning"),
        ("diagnosis/stability.py", "growth of each, with theory"),
        ("diagnosis/measurement.py", "runs on the data"),
        ("report/diagnosis_page.py", "verdict, table, pictures"),
    ),
}
"""Command, then file and what comes out of it, hop by hop."""

_STYLE = (
    "text{font-family:system-ui,sans-serif;fill:#1d2733} .title{font-size:15px;font-weight:600}"
    " .small{font-size:11.5px;fill:#5a6877}"
    " .code{font-family:ui-monospace,monospace;font-size:12px}"
    " rect{fill:#f3f7fb;stroke:#3d85bd;stroke-width:1.2} .witness{fill:#fdf3e0;stroke:#d08a00}"
    " path{fill:none;stroke:#9fb2c4;stroke-width:1.1}"
)
_WIDTH, _HEIGHT = 210, 46  # of a room, in pixels
_ACROSS, _DOWN = 250, 82  # from one room's corner to the next


def imports() -> set[tuple[str, str]]:
    """Pairs (from, to) of rooms of which the first imports the second."""
    pairs = set()
    for path in SOURCE.rglob("*.py"):
        room = path.relative_to(SOURCE).parts[0]
        if room not in ROOMS:
            continue
        for name in _imported(path):
            other = name.split(".")[1]
            target = other if other in ROOMS else "roots"
            if target != room:
                pairs.add((room, target))
    return pairs


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("ravine."):
            yield node.module


def rooms() -> str:
    """The rooms and their imports, each line an import that no longer way through others says."""
    pairs = imports()
    lines = []
    for source, target in sorted(pairs):
        if not _said_otherwise(source, target, pairs):
            lines.append(_line(source, target))
    boxes = [_box(*ROOMS[room], witness=room in ("theory", "engine")) for room in ROOMS]
    note = (
        '<text x="20" y="588" class="small">A line: the lower room imports the upper one, and what '
        'that one imports.</text><text x="20" y="605" class="small">theory and engine never import '
        "each other: they are two witnesses, and the tests compare them.</text>"
    )
    return _svg(760, 620, "Rooms of ravine", [*lines, *boxes, note])


def _said_otherwise(source: str, target: str, pairs: set[tuple[str, str]]) -> bool:
    """Whether the target is reached through another import of the source."""
    ahead = [b for a, b in pairs if a == source and b != target]
    seen = set()
    while ahead:
        room = ahead.pop()
        if room == target:
            return True
        if room not in seen:
            seen.add(room)
            ahead += [b for a, b in pairs if a == room]
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
    """From the top of the lower room to the foot of the upper one."""
    from_x, from_y = _corner(*ROOMS[source][2:])
    to_x, to_y = _corner(*ROOMS[target][2:])
    start = from_x + _WIDTH / 2
    end = to_x + _WIDTH / 2
    foot = to_y + _HEIGHT

    # Straight down the upper room's column, then across in the gap above the lower room.
    gap = from_y - (_DOWN - _HEIGHT)
    middle = (from_y + gap) / 2
    return (
        f'<path d="M{end},{foot} L{end},{gap} C{end},{middle} {start},{middle} {start},{from_y}"/>'
    )


def ways() -> str:
    """The two long ways, each a column of hops."""
    parts = []
    for column, (command, hops) in enumerate(WAYS.items()):
        x = 20 + column * 375
        parts.append(f'<text x="{x}" y="26" class="title">{escape(command)}</text>')
        for row, (file, outcome) in enumerate(hops):
            y = 42 + row * 62
            if row:
                parts.append(f'<path d="M{x + 170},{y - 18} L{x + 170},{y}"/>')
            parts.append(
                f'<rect x="{x}" y="{y}" width="340" height="44" rx="7"/>'
                f'<text x="{x + 12}" y="{y + 19}" class="code">{escape(file)}</text>'
                f'<text x="{x + 12}" y="{y + 36}" class="small">{escape(outcome)}</text>'
            )
    return _svg(750, 480, "Two ways through ravine", parts)


def _svg(width: int, height: int, title: str, parts: list[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'role="img"><title>{escape(title)}</title><style>{_STYLE}</style>'
        f'<rect width="{width}" height="{height}" style="fill:#fff;stroke:none"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


if __name__ == "__main__":
    for name, drawing in (("rooms", rooms()), ("ways", ways())):
        (IMAGES / f"{name}.svg").write_text(drawing, encoding="utf-8")
        print(f"wrote docs/images/{name}.svg")
