"""``python -m benchmarks.page`` is ``benchmarks.page.latency``."""

from benchmarks.page.latency import main

if __name__ == "__main__":
    main()
