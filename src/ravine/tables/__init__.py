"""Files, arrays and frames as tables of numbers, with a report of everything that was decided."""

from ravine.tables.finding import Finding
from ravine.tables.limits import Limits
from ravine.tables.reading import as_table, read_table
from ravine.tables.table import Table
from ravine.tables.target import TargetKind, target_kind

__all__ = ["Finding", "Limits", "Table", "TargetKind", "as_table", "read_table", "target_kind"]
