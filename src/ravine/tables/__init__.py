"""Files, arrays and frames as tables of numbers, with a report of everything that was decided."""

from ravine.tables.columns import TargetKind, target_kind
from ravine.tables.reading import as_table, read_table
from ravine.tables.source import Limits
from ravine.tables.table import Finding, Table

__all__ = ["Finding", "Limits", "Table", "TargetKind", "as_table", "read_table", "target_kind"]
