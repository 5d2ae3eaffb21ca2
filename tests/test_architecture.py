"""The rooms import one way only, and importing ravine stays light."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import ravine

SOURCE = Path(ravine.__file__).parent
ROOTS = {
    "arguments", "catalogue", "compilation", "conventions", "curvature", "digits",
    "files", "markup", "methods", "sampling", "values",
}  # fmt: skip
MAY_IMPORT = {
    **dict.fromkeys(ROOTS, ROOTS),
    "theory": ROOTS,
    "problems": ROOTS,
    "engine": ROOTS | {"problems"},
    "figures": ROOTS | {"theory", "problems", "engine"},
    "tables": ROOTS | {"problems"},
    "report": ROOTS,
    "diagnosis": ROOTS | {"theory", "problems", "engine", "figures", "tables", "report"},
    "claims": ROOTS | {"theory", "problems", "engine", "figures"},
    "reproduction": ROOTS | {"theory", "problems", "engine", "figures", "claims", "report"},
    "torch": ROOTS | {"theory"},
    "sklearn": ROOTS | {"theory", "problems", "engine", "tables", "diagnosis"},
    "cli": ROOTS
    | {"theory", "problems", "engine", "figures", "claims", "tables", "diagnosis", "report"}
    | {"reproduction", "web"},
}
MAY_IMPORT["__main__"] = {"cli"}
MAY_IMPORT["web"] = MAY_IMPORT["cli"] - {"web"}
DRAWING = {"torch", "figures", "report", "reproduction", "diagnosis", "cli", "web"}
OPTIONAL = {"torch": "torch", "flask": "web", "waitress": "web"}
"""The one room that may import a package."""
DEPTH = {"theory": 3, "engine": 3}
"""Levels of folders and files in a room, 2 elsewhere."""
FILES = [
    path for path in SOURCE.rglob("*.py") if path.name != "__init__.py" or path.parent != SOURCE
]


def imports_of(path: Path) -> set[str]:
    """Full dotted names that a file imports, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_one_way(path):
    room = room_of(path)
    for name in imports_of(path):
        parts = name.split(".")
        if parts[0] == "ravine" and parts[1] != "__version__":
            assert parts[1] in MAY_IMPORT[room] | {room}, f"{room} imports {name}"
        if parts[0] == "matplotlib":
            assert room in DRAWING, f"{room} draws"
        if parts[0] in OPTIONAL:
            assert room == OPTIONAL[parts[0]], f"{room} imports {name}"
        if name.startswith("numba.cuda"):
            assert path.parent.name == "cuda", "numba.cuda belongs to the GPU backend"


def test_rooms_are_shallow():
    for path in FILES:
        assert len(path.relative_to(SOURCE).parts) <= DEPTH.get(room_of(path), 2), path


def test_import_is_light():
    """Nothing that draws, compiles, learns or distributes is loaded by ``import ravine``."""
    heavy = ["numba", "matplotlib", "torch", "flask", "dask", "sklearn", "xarray", "pandas"]
    heavy += ["scipy"]
    code = (
        "import ravine, sys, json;"
        f"print(json.dumps([name for name in {heavy} if name in sys.modules]))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(shown.stdout) == []


def test_without_torch_its_room_says_how_to_install_it():
    code = "import sys; sys.modules['torch'] = None; import ravine.torch"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert shown.stderr.splitlines()[-1] == (
        "ImportError: torch must be installed for ravine.torch, got none: "
        "pip install 'ravine[torch]'"
    )


def test_a_newcomer_sees_few_names():
    assert len(ravine.__all__) <= 25
    assert set(dir(ravine)) == {*ravine.__all__, "__version__"}
    with pytest.raises(AttributeError, match="no attribute 'speed'"):
        getattr(ravine, "speed")  # noqa: B009


@pytest.mark.parametrize("subject", ["bounds", "finite_sums", "noise", "rates", "tuning.recommend"])
def test_every_subject_can_be_loaded_first(subject):
    """Rooms stand on each other's files, so an order of imports could matter; none does."""
    room = {"rates": "ladder"}.get(subject, subject)
    subprocess.run([sys.executable, "-c", f"import ravine.theory.{room}"], check=True)


@pytest.mark.parametrize("subject", ["bounds", "finite_sums", "noise", "rates"])
def test_subjects_list_their_names(subject):
    module = getattr(ravine, subject)
    for name in module.__all__:
        assert hasattr(module, name)
        if module.__name__ in ravine._OPEN:
            assert getattr(module, name) is getattr(ravine, name)


def test_every_public_name_is_there_and_documented():
    for name in ravine.__all__:
        thing = getattr(ravine, name)
        assert thing.__doc__, f"{name} has no docstring"
    assert len(set(ravine.__all__)) == len(ravine.__all__)
    assert list(ravine.__all__) == sorted(ravine.__all__)
