"""Draw the pictures of docs/gallery and write the page that shows them.

Each script has a title and a caption as its docstring, and a function ``draw`` that returns a
matplotlib figure. ``python docs/making/gallery.py [NAME ...]``
draws them all, or some.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

DOCS = Path(__file__).resolve().parents[1]
ORDER = ("regions", "rungs", "turning", "batches", "noise", "sweep")
"""Scripts in the order of the page; one that is not named here comes last."""

DOTS = 110  # per inch: some 800 pixels wide, as wide as the page shows it


def scripts() -> dict[str, Path]:
    """The scripts by name, in the order of the page."""
    there = {path.stem: path for path in sorted((DOCS / "gallery").glob("*.py"))}
    return {name: there[name] for name in (*ORDER, *sorted(set(there) - set(ORDER)))}


def load(path: Path) -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location(f"gallery_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def page() -> str:
    """The page: title, picture, caption and command of each script."""
    lines = [
        "# Gallery", "",
        "Each picture is drawn by a short script. `python docs/making/gallery.py NAME` draws one "
        "again.", "",
    ]  # fmt: skip
    for name, path in scripts().items():
        title, _, caption = (load(path).__doc__ or "").partition("\n")
        title = title.rstrip(".")
        lines += [
            f"## {title}", "", f"![{title}](images/gallery-{name}.png)", "", caption.strip(), "",
            f"Drawn by `docs/gallery/{name}.py`.", "",
        ]  # fmt: skip
    return "\n".join(lines)


def main(names: list[str]) -> None:
    """Draw, then write the page."""
    for name, path in scripts().items():
        if not names or name in names:
            target = DOCS / "images" / f"gallery-{name}.png"
            load(path).draw().savefig(target, dpi=DOTS, metadata={"Software": None})
            print(f"wrote {target.relative_to(DOCS)}", flush=True)
    (DOCS / "gallery.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
