"""Diagnoses, estimators and the reading of tables, on real tables."""
