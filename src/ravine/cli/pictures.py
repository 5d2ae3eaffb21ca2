"""Files that commands write: the ending is checked before the work, the file is written whole."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ravine.arguments import Refusal
from ravine.files import written_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURES = (".png", ".svg", ".pdf")
_DPI = 200  # dots per inch, for print


def check_out(out: Path | None, endings: tuple[str, ...] = PICTURES) -> None:
    """Refuse a file whose ending is not one of ``endings``, and a picture without matplotlib."""
    if out is None:
        return
    if out.suffix.lower() not in endings:
        raise Refusal("out", f"a file ending in {', '.join(endings)}", out, "change its ending")
    if out.suffix.lower() in PICTURES:
        needs_matplotlib("a picture")


def needs_matplotlib(what: str) -> None:
    """Refuse before the work starts if ``what``, e.g. "a report", cannot be drawn."""
    if find_spec("matplotlib") is None:
        raise ImportError(
            f"{what} needs matplotlib, which is not installed: pip install 'ravine[plot]'"
        )


def save_picture(figure: Figure, out: Path) -> None:
    """Write a figure; an interrupted run leaves no half-written file."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(out) as part:
        figure.savefig(part, dpi=_DPI)
