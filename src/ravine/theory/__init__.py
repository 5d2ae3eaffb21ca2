"""Exact answers: rates, moments, bounds and growth, without running anything."""
