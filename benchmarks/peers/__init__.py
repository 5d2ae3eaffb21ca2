"""Other software that answers one of ravine's questions, measured beside it and compared with it.

Each peer is one module, run in an environment that holds ravine and this peer alone. It prints
lines of JSON, one a comparison; ``python -m benchmarks.peers`` gathers them.
"""
