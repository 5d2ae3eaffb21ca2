"""From a user's data to a verdict on step size and momentum, with the reason and the remedies."""

from ravine.diagnosis.columns import Finding
from ravine.diagnosis.diagnosis import Diagnosis
from ravine.diagnosis.reading import Table, read_table
from ravine.diagnosis.stages import diagnose

__all__ = ["Diagnosis", "Finding", "Table", "diagnose", "read_table"]
