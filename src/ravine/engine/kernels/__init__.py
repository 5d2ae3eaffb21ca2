"""Compiled kernels: the scalar step, and the tiles of each kind of problem."""
