"""Finished tiles on disk, and what their bits depend on."""
