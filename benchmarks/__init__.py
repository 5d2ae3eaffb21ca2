"""Measurements of ravine and its peers, interleaved in one run."""
