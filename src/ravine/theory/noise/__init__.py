"""Exact second moments under additive noise."""
