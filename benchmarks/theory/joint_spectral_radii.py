"""Joint spectral radii of sets of the literature: value, bracket, CPU seconds, as a table.

``python -m benchmarks.theory.joint_spectral_radii`` prints it; ``--write`` puts it between the
marks in docs/joint-spectral-radius.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import comb
from pathlib import Path
from time import process_time
from typing import NamedTuple

import numpy as np

from ravine import Curvature, joint_spectral_radius, nesterov
from ravine.arguments import FloatArray
from ravine.theory.blocks import block

PAGE = Path(__file__).parents[2] / "docs" / "joint-spectral-radius.md"
MARKS = ("<!-- table -->", "<!-- end of table -->")

GOLDEN = (1.0 + np.sqrt(5.0)) / 2.0
STURMIAN = 0.7493265463303676
"""Ratio at which no finite product of the pair attains the radius (Hare et al., 16 digits)."""
REGULARITY = {
    2: 0.5500,
    3: 1.0878,
    4: 1.6179,
    5: 1.9690,
    6: 2.1891,
    7: 2.4604,
    8: 2.7608,
    9: 3.0736,
    10: 3.3614,
}
"""Hölder exponents of Daubechies' wavelets to four decimals, by N."""


class Known(NamedTuple):
    """A set of matrices with what the literature says of it."""

    name: str
    make: Callable[[], FloatArray]
    value: str
    source: str


def daubechies(N: int) -> FloatArray:
    """Two matrices of size N - 1 whose radius ρ gives the Hölder exponent N - 1 - log2 ρ.

    The mask of the scaling function is ((1 + z)/2)^N q(z), with |q|² = sum_k C(N-1+k, k) y^k,
    y = (2 - z - 1/z)/4, and q the factor whose zeros are inside the unit circle.
    """
    square = np.zeros(2 * N - 1)
    power = np.ones(1)
    for k in range(N):
        inside = slice(N - 1 - k, N + k)
        square[inside] += comb(N - 1 + k, k) * power
        power = np.convolve(power, [-0.25, 0.5, -0.25])
    zeros = np.roots(square)
    q = np.poly(zeros[np.abs(zeros) < 1.0]).real
    q /= q.sum()

    matrices = np.zeros((2, N - 1, N - 1))
    for shift, row, column in np.ndindex(2, N - 1, N - 1):
        k = 2 * row - column + shift
        if 0 <= k < N:
            matrices[shift, row, column] = q[k]
    return matrices


def overlap_free() -> FloatArray:
    """Two 20 x 20 matrices that count binary words without overlaps, from Cassaigne's relations.

    With the 10 x 10 blocks A, B, C below, given as {row: {column: entry}}, they are
    [[C, 0], [A, B]] and [[A, B], [0, C]].
    """
    A = _sparse(
        {
            0: {7: 1, 8: 2, 9: 1},
            1: {2: 1, 3: 1, 5: 1, 6: 1},
            2: {7: 1, 8: 1},
            4: {0: 1, 1: 2, 4: 1},
            5: {2: 1, 5: 1},
            7: {7: 1},
        }
    )
    B = _sparse(
        {
            0: {7: 1, 8: 2, 9: 1},
            2: {5: 1, 6: 1},
            3: {2: 1, 3: 1},
            7: {4: 1},
            8: {1: 1},
            9: {0: 1},
        }
    )
    C = _sparse(
        {
            0: {7: 2, 8: 4, 9: 2},
            1: {2: 1, 3: 1, 5: 1, 6: 1},
            2: {5: 1, 6: 1, 7: 1, 8: 1},
            3: {2: 1, 3: 1},
            5: {1: 1, 4: 1},
            6: {0: 1, 1: 1},
            7: {5: 2},
            8: {2: 1},
        }
    )
    zero = np.zeros((10, 10))
    return np.stack([np.block([[C, zero], [A, B]]), np.block([[A, B], [zero, C]])])


def _sparse(rows: dict[int, dict[int, int]]) -> FloatArray:
    matrix = np.zeros((10, 10))
    for row, entries in rows.items():
        for column, entry in entries.items():
            matrix[row, column] = entry
    return matrix


def standard_parameters() -> FloatArray:
    """B(mu) and B(L) of Nesterov's method at its standard parameters, Q = 2000."""
    curvature = Curvature(1.0, 2000.0)
    return np.stack([block(end, nesterov(curvature)) for end in (1.0, 2000.0)])


def sets() -> list[Known]:
    """All of the table."""
    up, down = [[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 1.0]]
    known = [
        Known("two shears", lambda: np.array([up, down]), f"{GOLDEN:.12g}", "golden ratio"),
        Known(
            "two shears in units 1e8 apart",
            lambda: np.array([[[1, 1e8], [0, 1]], [[1, 0], [1e-8, 1]]]),
            f"{GOLDEN:.12g}",
            "the same set",
        ),
        Known(
            "binary pair 0 0 0 1",
            lambda: np.array([up, [[0.0, 1.0], [1.0, 0.0]]]),
            f"{((3.0 + np.sqrt(13.0)) / 2.0) ** 0.25:.12g}",
            "Jungers, Blondel 2008",
        ),
        Known(
            "Gripenberg's pair",
            lambda: np.array([[[3, 0], [1, 3]], [[3, -3], [0, -1]]]) / 5.0,
            "0.6596789 to 0.6596924",
            "Gripenberg 1996",
        ),
        Known(
            "shears without a maximal product",
            lambda: np.array([up, STURMIAN * np.array(down)]),
            "no finite product attains it",
            "Hare, Morris, Sidorov, Theys 2011",
        ),
        Known(
            "standard parameters, Q = 2000",
            standard_parameters,
            f"{4.0**0.2 * (1.0 - 2000.0**-0.5):.12g}",
            "docs/theory.md",
        ),
    ]
    for N in range(3, 11):
        value = f"{2.0 ** (N - 1 - REGULARITY[N]):.4g} (exponent {REGULARITY[N]:.4f})"
        source = "Daubechies, Lagarias 1992" if N < 5 else "Guglielmi, Protasov 2015"
        known.append(Known(f"Daubechies N = {N}", lambda N=N: daubechies(N), value, source))
    known.append(
        Known(
            "overlap-free words, 20 x 20",
            overlap_free,
            "2.51793404",
            "Jungers, Protasov, Blondel 2009; Guglielmi, Protasov 2013",
        )
    )
    return known


def table(budget: int = 10_000) -> list[str]:
    """Rows of a Markdown table, after its two lines of heading."""
    rows = [
        "| set | size | literature | source | lower | upper | relative width | CPU seconds |",
        "|---|---|---|---|---|---|---|---|",
    ]
    joint_spectral_radius(np.array([[[0.0, 1.0], [1.0, 1.0]]]))  # loads SciPy's linear algebra
    for known in sets():
        matrices = known.make()
        start = process_time()
        radius = joint_spectral_radius(matrices, budget=budget)
        seconds = process_time() - start
        assert radius.proof.verify(), known.name
        count, n, _ = matrices.shape
        rows.append(
            f"| {known.name} | {count} of {n}x{n} | {known.value} | {known.source} "
            f"| {radius.lower:.12f} | {radius.upper:.12f} | {radius.relative_width:.1e} "
            f"| {seconds:.2f} |"
        )
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    """Print the table, and write it into the page if asked to."""
    rows = table()
    if "--write" in sys.argv:
        text = PAGE.read_text()
        before, rest = text.split(MARKS[0])
        after = rest.split(MARKS[1])[1]
        PAGE.write_text("\n".join([before + MARKS[0], "", *rows, "", MARKS[1] + after]))


if __name__ == "__main__":
    main()
