"""Run every attack that is here, or those that are named; the exit code says whether all held."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from importlib.util import find_spec

ATTACKS = (
    "command_lines",
    "terminals",
    "calls",
    "tables",
    "stores",
    "clusters",
    "kills",
    "installs",
)
"""In the order in which they run: the quick ones first."""


def main() -> int:
    """Run the attacks and return the number of failures."""
    options = argparse.ArgumentParser(prog="python -m attack", description=__doc__)
    options.add_argument("names", nargs="*", metavar="ATTACK", help=f"{', '.join(ATTACKS)}; all")
    options.add_argument("--count", type=int, help="cases of an attack that is generated")
    options.add_argument("--seed", type=int, default=0, help="seed of the generated cases")
    options.add_argument("--workers", type=int, default=2, help="processes at the same time")
    options.add_argument("--case", type=int, help="run this one case here, and show it")
    wished = options.parse_args()
    unknown = sorted(set(wished.names) - set(ATTACKS))
    if unknown:
        options.error(f"no attack is called {', '.join(unknown)}: there are {', '.join(ATTACKS)}")

    failures = 0
    for name in wished.names or ATTACKS:
        if find_spec(f"attack.{name}") is None:
            continue

        module = import_module(f"attack.{name}")
        if hasattr(module, "attempt"):
            from attack.cases import run_cases, show_case

            if wished.case is not None:
                show_case(module, wished.seed, wished.case)
                continue
            failures += run_cases(name, wished.count or module.COUNT, wished.seed, wished.workers)
        else:
            failures += module.main()

    print(f"\n{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
