"""Print the lowest versions that pyproject.toml declares for ravine and its extras, as constraints.

``make lowest`` installs these and runs the tests on them.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

LEFT_OUT = ("torch", "cuda")
"""Extras that the tests' own groups pin, or that need a GPU."""


def lowest(pyproject: str) -> list[str]:
    r"""Lower bounds as equalities, sorted.

    >>> lowest('[project]\ndependencies = ["b>=2.1,<3", "a"]\noptional-dependencies = {}')
    ['b==2.1']
    """
    project = tomllib.loads(pyproject)["project"]
    wanted = list(project["dependencies"])
    for name, requirements in project["optional-dependencies"].items():
        if name not in LEFT_OUT:
            wanted += requirements

    bounds = (re.match(r"([\w.-]+)>=([\w.]+)", requirement) for requirement in wanted)
    return sorted({f"{bound[1]}=={bound[2]}" for bound in bounds if bound})


if __name__ == "__main__":
    print("\n".join(lowest((ROOT / "pyproject.toml").read_text(encoding="utf-8"))))
