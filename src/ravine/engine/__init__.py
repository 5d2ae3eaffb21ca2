"""Simulate the methods: random numbers, the scalar step, kernels and sweeps."""
