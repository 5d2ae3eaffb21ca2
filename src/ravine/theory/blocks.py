"""The matrices of the method on a quadratic, in the state (r, v) = (y_{k+1} - x*, x_k - x_{k-1}).

With gradients g_k = H r_k + zeta_k one step of the family reads::

    [r_{k+1}]   [ I - alpha (1+gamma) H    (beta (1+gamma) - gamma) I ] [ r_k   ]
    [ v_k   ] = [      - alpha H                     beta I           ] [v_{k-1}]

                 - alpha [(1+gamma) I; I] zeta_k

and splits into one 2x2 block for every eigenvalue of H.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Real, broadcast, real
from ravine.curvature import Curvature
from ravine.methods import LinearMethod, Method, nesterov

_EIGENVALUE = "give an eigenvalue of the Hessian, e.g. 0.5"


def coupling(beta: Real, gamma: Real) -> Real:
    """Upper right entry of the block, beta (1+gamma) - gamma: the effect of velocity on y - x*.

    For gamma = beta the sum equals beta², and is computed as that, without cancellation.

    Examples
    --------
    >>> float(coupling(np.float64(0.5), np.float64(0.0)))
    0.5
    """
    return np.where(gamma == beta, beta * beta, beta * (1.0 + gamma) - gamma)[()]


def block(eigenvalue: npt.ArrayLike, method: Method) -> FloatArray:
    """Block B(lambda) of one eigen-direction, acting on (r, v).

    B(lambda) = [[1 - alpha (1+gamma) lambda, beta (1+gamma) - gamma], [-alpha lambda, beta]].
    For gamma = beta it is the matrix of the paper, whose upper right entry is beta².

    Parameters
    ----------
    eigenvalue
        Any finite numbers; they broadcast against the parameters of ``method``.
    method
        Any member of the family; arrays broadcast.

    Returns
    -------
    numpy.ndarray
        Shape ``(..., 2, 2)``: the broadcast shape, then the matrix.

    Examples
    --------
    >>> block(1.0, Method(0.5, 0.5)).tolist()
    [[0.25, 0.25], [-0.5, 0.5]]
    """
    lam = real("eigenvalue", eigenvalue, remedy=_EIGENVALUE)
    shape = broadcast(eigenvalue=lam, **method.parameters)
    h = method.alpha * lam

    out = np.empty((*shape, 2, 2))
    out[..., 0, 0] = 1.0 - (1.0 + method.gamma) * h
    out[..., 0, 1] = coupling(method.beta, method.gamma)
    out[..., 1, 0] = -h
    out[..., 1, 1] = method.beta
    return out


def spectral_norms(matrices: FloatArray) -> FloatArray:
    """Spectral norms of a stack of 2x2 matrices, without cancellation."""
    top, bottom = matrices[..., 0, :], matrices[..., 1, :]
    return np.asarray(norms_of_entries(top[..., 0], top[..., 1], bottom[..., 0], bottom[..., 1]))


def norms_of_entries(a: Real, b: Real, c: Real, d: Real) -> Real:
    """The same for the matrices [[a, b], [c, d]]."""
    norms: Real = 0.5 * (np.hypot(a + d, b - c) + np.hypot(a - d, b + c))
    return norms


def noise_gain_vector(method: Method) -> FloatArray:
    """The effect of one gradient error on the state (r, v), divided by -alpha: g = (1 + gamma, 1).

    Returns
    -------
    numpy.ndarray
        Shape ``(..., 2)``.

    Examples
    --------
    >>> noise_gain_vector(Method(0.1, 0.9)).tolist()
    [1.9, 1.0]
    """
    first = 1.0 + np.asarray(method.gamma)
    return np.stack([first, np.ones_like(first)], axis=-1)


def moment_block(B: FloatArray) -> FloatArray:
    """The map of second moments (E r², E rv, E v²) by (r, v) ↦ B (r, v).

    Parameters
    ----------
    B
        Blocks, shape ``(..., 2, 2)``.

    Returns
    -------
    numpy.ndarray
        Shape ``(..., 3, 3)``.

    Examples
    --------
    >>> moment_block(np.array([[2.0, 0.0], [0.0, 3.0]])).diagonal().tolist()
    [4.0, 6.0, 9.0]
    """
    rows = moment_rows(B[..., 0, 0], B[..., 0, 1], B[..., 1, 0], B[..., 1, 1])
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def moment_rows(a: Real, b: Real, c: Real, d: Real) -> tuple[tuple[Real, Real, Real], ...]:
    """The rows of that map for the block [[a, b], [c, d]]."""
    return (
        (a * a, 2.0 * a * b, b * b),
        (a * c, a * d + b * c, b * d),
        (c * c, 2.0 * c * d, d * d),
    )


def moment_gain(method: Method) -> FloatArray:
    """Increase of the moments (E r², E rv, E v²) per step by gradient noise of variance 1.

    alpha² ((1 + gamma)², 1 + gamma, 1); arrays broadcast.

    Returns
    -------
    numpy.ndarray
        Shape ``(..., 3)``.

    Examples
    --------
    >>> moment_gain(Method(0.5, 1.0)).tolist()
    [1.0, 0.5, 0.25]
    """
    g = 1.0 + np.asarray(method.gamma)
    gain = np.stack(np.broadcast_arrays(g * g, g, 1.0), axis=-1)
    return np.asarray((np.asarray(method.alpha) ** 2)[..., None] * gain)


def moment_step(eigenvalue: npt.ArrayLike, variance: npt.ArrayLike, method: Method) -> FloatArray:
    """The map of (E r², E rv, E v²) by a step whose curvature is random, shape ``(..., 3, 3)``.

    Only its mean ``eigenvalue`` and its ``variance`` matter: the map is that of the mean block,
    plus gradient noise of variance ``variance`` E r². All arguments broadcast.

    Examples
    --------
    >>> float(moment_step(2.0, 1.0, Method(0.5))[0, 0])  # the mean of (1 - h/2)², h = 1 or 3
    0.25
    """
    T = moment_block(block(eigenvalue, method))
    added = np.asarray(variance)[..., None] * moment_gain(method)
    T = np.array(np.broadcast_to(T, (*np.broadcast_shapes(T.shape[:-1], added.shape), 3)))
    T[..., :, 0] += added
    return T


def state_space(method: Method | LinearMethod) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(A, B, C) of one method: a step is ξ⁺ = A ξ + B g, with g the gradient at y = C ξ.

    Of a ``Method`` ξ is (r, v), of a ``LinearMethod`` the state of its companion form.

    Examples
    --------
    >>> A, B, C = state_space(Method(0.5, 0.5))
    >>> A.tolist(), B.tolist(), C.tolist()
    ([[1.0, 0.25], [0.0, 0.5]], [-0.75, -0.5], [1.0, 0.0])
    """
    if isinstance(method, LinearMethod):
        return method.state

    A = np.array([[1.0, coupling(method.beta, method.gamma)], [0.0, method.beta]])
    return A, -method.alpha * noise_gain_vector(method), np.array([1.0, 0.0])


def system(hessians: npt.ArrayLike, method: Method | LinearMethod) -> FloatArray:
    """Matrix of one step on the state of a whole quadratic, or of many.

    Of a ``Method`` it acts on (r, v) in R^{2d},
    A = [[I - alpha (1+gamma) H, (beta (1+gamma) - gamma) I], [-alpha H, beta I]]
    (the A of the paper's Theorem 1 for gamma = beta).

    Parameters
    ----------
    hessians
        Symmetric H, shape ``(..., d, d)``.
    method
        One method: scalar parameters, or a ``LinearMethod`` of memory m.

    Returns
    -------
    numpy.ndarray
        Shape ``(..., 2d, 2d)``, or ``(..., md, md)``.

    Examples
    --------
    >>> system([[2.0, 1.0], [1.0, 2.0]], Method(0.5)).round(2).tolist()
    [[0.0, -0.5, 0.0, 0.0], [-0.5, 0.0, 0.0, 0.0], [-1.0, -0.5, 0.0, 0.0], [-0.5, -1.0, 0.0, 0.0]]
    """
    H = np.asarray(hessians, dtype=float)
    A, B, C = state_space(method)
    d = H.shape[-1]
    size = len(A) * d
    seen = np.einsum("i,j,...kl->...ikjl", B, C, H).reshape(*H.shape[:-2], size, size)
    return np.asarray(np.kron(A, np.eye(d)) + seen)


def permutation(d: int) -> FloatArray:
    """Permutation P of the paper's Appendix C, which sorts (r, v) into (r_1, v_1, r_2, v_2, ...).

    For M = [[diag a, diag b], [diag c, diag d]] the product P M Pᵀ is block diagonal with the
    blocks [[a_j, b_j], [c_j, d_j]].

    Parameters
    ----------
    d
        Dimension of the problem, at least 1.

    Returns
    -------
    numpy.ndarray
        Shape ``(2d, 2d)``, entries 0 and 1.

    Examples
    --------
    >>> permutation(2).astype(int).tolist()
    [[1, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1]]
    """
    return np.eye(2 * d)[np.arange(2 * d).reshape(2, d).T.ravel()]


def lemma1_product(curvature: Curvature, gaps: Sequence[int]) -> FloatArray:
    """Lemma 1's product T = B(L) B(mu)^{k_1} ... B(L) B(mu)^{k_s} at the standard parameters.

    This is the product of the main text. With another B(L) at its right end, as in the appendix of
    the paper, it would be nilpotent: B(L)² = 0 at alpha = 1/L.

    Parameters
    ----------
    curvature
        Scalar mu and L.
    gaps
        k_1, ..., k_s, each at least 1.

    Returns
    -------
    numpy.ndarray
        Shape ``(2, 2)``, of k = k_1 + ... + k_s + s factors.

    Examples
    --------
    >>> T = lemma1_product(Curvature(1, 4), (2, 3))
    >>> float(np.abs(np.linalg.eigvals(T)).max() * 2**7)
    6.0
    """
    method = nesterov(curvature)
    steep = block(curvature.L, method)
    flat = block(curvature.mu, method)
    product = np.eye(2)
    for k in gaps:
        product = product @ steep @ np.linalg.matrix_power(flat, k)

    return product


def lemma1_radius(curvature: Curvature, gaps: Sequence[int]) -> np.float64:
    """Spectral radius of ``lemma1_product``: (1 - 1/√Q)^k k_1 ... k_s, k = k_1 + ... + k_s + s.

    Parameters
    ----------
    curvature
        Scalar mu and L.
    gaps
        k_1, ..., k_s, each at least 1.

    Examples
    --------
    >>> float(lemma1_radius(Curvature(1, 4), (2, 3)) * 2**7)
    6.0
    """
    rho = 1.0 - 1.0 / np.sqrt(curvature.Q)
    return np.float64(np.prod([k * rho ** (k + 1) for k in gaps]))
