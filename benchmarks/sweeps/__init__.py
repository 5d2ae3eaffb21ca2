"""Speed, bytes and memory of sweeps on processors, GPUs and clusters."""
