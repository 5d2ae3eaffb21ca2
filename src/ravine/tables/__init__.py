"""Convert files, arrays and frames to tables of numbers, and report every decision."""

from ravine.tables.columns import TargetKind, target_kind
from ravine.tables.reading import as_table, read_table
from ravine.tables.source import Limits
from ravine.tables.table import Finding, Table

__all__ = ["Finding", "Limits", "Table", "TargetKind", "as_table", "read_table", "target_kind"]
