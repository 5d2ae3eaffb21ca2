"""Exact answers without simulation: rates, moments, bounds and growth."""
