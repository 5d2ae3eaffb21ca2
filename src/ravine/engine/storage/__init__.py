"""Finished tiles on disk, and the fingerprint of what their bits depend on."""
