"""From a user's data to a verdict on step size and momentum, with the reason and the remedies."""

from ravine.diagnose.columns import Finding
from ravine.diagnose.diagnosis import Diagnosis, diagnose
from ravine.diagnose.reading import Table, read_table

__all__ = ["Diagnosis", "Finding", "Table", "diagnose", "read_table"]
