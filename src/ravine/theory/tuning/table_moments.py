"""Mean squares of SGD with momentum for least squares on a table, with random batches.

In the eigenvectors of the mean Hessian a row is z, with residual e at the minimiser. A batch of b
rows has a gradient of variance E(z_j² (z·r - e)²)/b in direction j. Products of two different
directions are omitted: they vanish for rows that are symmetric about their mean. The rest is a
linear map of (E r², E rv, E v²) of all directions, so many steps are a matrix power.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Refusal, real
from ravine.methods import Method
from ravine.theory.blocks import block, moment_block, moment_gain

_FLAT = 1e-10
"""Eigenvalues below this share of the largest are directions without data."""
_MOST_COLUMNS = 200
"""Maximum number of columns; matrix powers take seconds."""
_MOST_STEPS = 1e9
"""Maximum number of steps of a run."""
_COARSE = 2.0 ** -np.arange(0.0, 24.0)
_FINE = 2.0 ** np.linspace(0.75, -0.75, 7)
"""Numbers of step sizes: a coarse grid below the largest stable one, then a fine one around the
best."""


class TableMoments:
    """Least squares on a table, started at zero, with batches without repeated rows.

    Parameters
    ----------
    X, y
        Shapes (n, d) and (n,); with a column of ones if the model has an intercept.
    """

    def __init__(self, X: npt.ArrayLike, y: npt.ArrayLike) -> None:
        rows = np.asarray(real("X", X, remedy="give a table of numbers"))
        target = np.asarray(real("y", y, remedy="give one number for each row"))
        if rows.ndim != 2 or target.shape != rows.shape[:1]:
            shown = f"shapes {rows.shape} and {target.shape}"
            raise Refusal("X, y", "of shapes (n, d) and (n,)", shown, "give one target per row")
        if rows.shape[1] > _MOST_COLUMNS:
            remedy = "use ravine diagnose for wider tables"
            raise Refusal("X", f"of at most {_MOST_COLUMNS} columns", rows.shape[1], remedy)

        self.rows = len(rows)
        values, turn = np.linalg.eigh(rows.T @ rows / self.rows)
        kept = values > _FLAT * values[-1]
        self.eigenvalues = values[kept]
        Z = rows @ turn[:, kept]
        minimiser = Z.T @ target / self.rows / self.eigenvalues
        residual = target - Z @ minimiser
        self.start = minimiser**2
        self.excess_at_start = float(0.5 * self.eigenvalues @ self.start)
        if self.excess_at_start == 0.0:
            shown = "a target that is least at zero, where the run starts"
            raise Refusal("X, y", "related", shown, "give a target that depends on the columns")

        squares = Z * Z
        self.coupling = squares.T @ squares / self.rows - np.diag(self.eigenvalues**2)
        self.noise = (squares * (residual * residual)[:, None]).mean(axis=0)

    def excess(self, method: Method, *, batch_size: float, steps: int) -> float:
        """E f - f* after ``steps`` steps; infinite if it overflows."""
        matrix, state = self._step(method, batch_size)
        with np.errstate(all="ignore"):
            return self._excess(np.linalg.matrix_power(matrix, steps) @ state)

    def steps_to(self, share: float, method: Method, *, batch_size: float, most: float) -> float:
        """Steps until E f - f* falls to this share of its start; infinite if more than ``most``."""
        matrix, state = self._step(method, batch_size)
        goal = share * self.excess_at_start
        powers = [matrix]
        with np.errstate(all="ignore"):
            while self._excess(powers[-1] @ state) > goal:
                if 2 ** len(powers) > most or not np.isfinite(powers[-1][0, 0]):
                    return float("inf")
                powers.append(powers[-1] @ powers[-1])

            taken = 0
            for j in range(len(powers) - 2, -1, -1):
                later = powers[j] @ state
                if self._excess(later) > goal:
                    state, taken = later, taken + 2**j

        return taken + 1.0

    def best_step(self, beta: float, gamma: float, *, batch_size: float, steps: int) -> float:
        """The step size with the smallest expected loss after ``steps`` steps."""

        def slowness(alpha: float) -> float:
            return self.excess(Method(alpha, beta, gamma), batch_size=batch_size, steps=steps)

        return _least(slowness, self._longest(beta))[0]

    def fewest_steps(self, momenta: tuple[float, ...], share: float, batch_size: float) -> float:
        """Smallest number of steps to a share of the excess, over step sizes and momenta."""
        best = float("inf")
        for beta in momenta:
            # Runs longer than twice the best so far are not counted.
            most = min(2.0 * best, _MOST_STEPS)

            def slowness(alpha: float, beta: float = beta, most: float = most) -> float:
                method = Method(alpha, beta)
                return self.steps_to(share, method, batch_size=batch_size, most=most)

            best = min(best, _least(slowness, self._longest(beta))[1])

        return best

    def _longest(self, beta: float) -> float:
        return 4.0 * (1.0 + beta) / float(self.eigenvalues[-1])

    def _excess(self, state: FloatArray) -> float:
        value = float(0.5 * self.eigenvalues @ state[: self.eigenvalues.size])
        return value if np.isfinite(value) else float("inf")

    def _step(self, method: Method, batch_size: float) -> tuple[FloatArray, FloatArray]:
        """The map of (E r², E rv, E v², 1) for all directions, and its start."""
        lam = self.eigenvalues
        d = lam.size
        share = max(self.rows - batch_size, 0.0) / max(self.rows - 1, 1) / batch_size
        # Without momentum the velocity is not needed.
        kinds = 3 if method.beta or method.gamma else 1
        blocks = moment_block(block(lam, method))[:, :kinds, :kinds]
        gain = share * moment_gain(method)[:kinds]
        matrix = np.eye(kinds * d + 1)
        matrix[:-1, :-1] = np.einsum("dij,de->idje", blocks, np.eye(d)).reshape(kinds * d, -1)
        matrix[:-1, :d] += np.kron(gain[:, None], self.coupling)
        matrix[:-1, -1] = np.kron(gain, self.noise)
        state = np.zeros(kinds * d + 1)
        state[:d] = self.start
        state[-1] = 1.0
        return matrix, state


def _least(function: Callable[[float], float], longest: float) -> tuple[float, float]:
    """The best step size and its value, on a coarse and then on a fine grid."""
    steps = longest * _COARSE
    values = [function(float(one)) for one in steps]
    steps = steps[int(np.argmin(values))] * _FINE
    finer = [function(float(one)) for one in steps]
    best = int(np.argmin(finer))
    return float(steps[best]), float(finer[best])
