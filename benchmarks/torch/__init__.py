"""Advice, limits and the guard on training tasks."""
