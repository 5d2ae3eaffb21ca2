"""curvlinops: the largest curvature of mini-batches of a small network, by SciPy's Lanczos.

ravine.torch uses its own products and its own Lanczos iteration; both are asked for the largest
eigenvalue of the Hessian of the same batches.
"""

from __future__ import annotations

from importlib.metadata import version

import numpy as np
import torch
from curvlinops import HessianLinearOperator
from scipy.sparse.linalg import eigsh
from torch import nn

from benchmarks.peers.comparison import relative_difference, tell, timed
from ravine.torch.products import hessian_product, top_eigenpairs

BATCHES = 16
ROWS = 32  # of a batch
FEATURES = 20
WIDTH = 64  # of the hidden layer: 1409 weights

ACCURACY = 1e-6  # relative, of the eigenvalue, asked of SciPy
STEPS = 40  # of ravine's iteration, which give about the same (advise takes 10, for a part in 500)


def main() -> None:
    """Compare over the batches."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(FEATURES, WIDTH), nn.Tanh(), nn.Linear(WIDTH, 1)).double()
    rows = torch.randn(BATCHES, ROWS, FEATURES, dtype=torch.float64)
    targets = torch.randn(BATCHES, ROWS, 1, dtype=torch.float64)
    batches = [[x, y] for x, y in zip(rows, targets, strict=True)]
    weights = list(model.parameters())
    loss = nn.MSELoss()

    def by_curvlinops() -> np.ndarray:
        values = []
        for x, y in batches:
            operator = HessianLinearOperator(
                model, loss, weights, [(x, y)], check_deterministic=False
            )
            top, _ = eigsh(operator.to_scipy(), k=1, which="LA", tol=ACCURACY)
            values.append(float(top[0]))
        return np.array(values)

    def by_ravine() -> np.ndarray:
        values = []
        start = torch.randn(
            sum(w.numel() for w in weights),
            dtype=torch.float64,
            generator=torch.Generator().manual_seed(1),
        )
        for batch in batches:
            product = hessian_product(model, lambda m, b: loss(m(b[0]), b[1]), [batch])
            top, _ = top_eigenpairs(product, start, 1, steps=STEPS)
            values.append(float(top[0]))
        return np.array(values)

    by_curvlinops()
    peer, seconds = timed(by_curvlinops, tries=3)
    ours, ravine_seconds = timed(by_ravine, tries=3)
    tell(
        f"curvlinops {version('curvlinops-for-pytorch')} with SciPy {version('scipy')}",
        f"largest curvature of {BATCHES} mini-batches, network of 1409 weights",
        peer,
        (seconds, ravine_seconds),
        relative_difference(peer, ours),
    )


if __name__ == "__main__":
    main()
