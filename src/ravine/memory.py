"""How much memory there is, for those who are about to ask for much of it."""

from __future__ import annotations

import os
from pathlib import Path

_GROUP_LIMITS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    ),
)
"""Where Linux says what a container may use, and what it does use, in versions 2 and 1."""
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def memory_available() -> float:
    """Bytes that this process may still take: the least of what machine and limits leave.

    Infinite where the system does not say.

    Examples
    --------
    >>> memory_available() > 0
    True
    """
    return min(_machine(), _group(), _process())


def bytes_in_words(count: float) -> str:
    """A number of bytes with its unit.

    Examples
    --------
    >>> bytes_in_words(3 * 2**29), bytes_in_words(10.0)
    ('1.5 GiB', '10 bytes')
    """
    power = 0
    while count >= 1024.0 and power < len(_UNITS) - 1:
        count /= 1024.0
        power += 1

    return f"{count:.3g} {_UNITS[power]}"


def _machine() -> float:
    """What the machine has left, or else what it has."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return 1024.0 * float(line.split()[1])
    except OSError:
        pass

    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * float(os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return float("inf")


def _group() -> float:
    """What the limit of a container leaves."""
    for limit, used in _GROUP_LIMITS:
        try:
            most = float(Path(limit).read_text(encoding="ascii"))
            return max(most - float(Path(used).read_text(encoding="ascii")), 0.0)
        except (OSError, ValueError):  # there is none, or it says "max"
            continue

    return float("inf")


def _process() -> float:
    """What the limit of the process's address space leaves."""
    try:
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        if most == resource.RLIM_INFINITY:
            return float("inf")
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (ImportError, OSError, ValueError):
        return float("inf")

    return max(float(most - pages * os.sysconf("SC_PAGE_SIZE")), 0.0)
