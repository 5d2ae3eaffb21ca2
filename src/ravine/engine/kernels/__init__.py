"""Compiled kernels: the scalar step, and how tiles of each kind of problem are run."""
