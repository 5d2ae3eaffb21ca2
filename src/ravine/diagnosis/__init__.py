"""From a user's data to a verdict on step size and momentum, with reasons and remedies."""

from ravine.diagnosis.diagnosis import Diagnosis
from ravine.diagnosis.stages import diagnose
from ravine.tables import Finding, Table, read_table

__all__ = ["Diagnosis", "Finding", "Table", "diagnose", "read_table"]
