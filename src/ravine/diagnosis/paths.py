"""Almost-sure growth along runs of batch Hessians that are never formed."""

from __future__ import annotations

import math

import numpy as np

from ravine.arguments import FloatArray
from ravine.diagnosis.batches import Survey
from ravine.diagnosis.measurement import BatchGradient, batch_order
from ravine.methods import Method
from ravine.problems import LinearModel
from ravine.sampling import Sampling
from ravine.theory.finite_sums.growth import Growth
from ravine.theory.finite_sums.sense import Sense
from ravine.theory.finite_sums.terms import one_method


def hessian_products(problem: LinearModel) -> BatchGradient:
    """Batch Hessians at x* times many vectors: (b, vectors (k, d)) to (k, d)."""
    features, outputs = problem.features, problem.loss.outputs
    w = problem.minimiser.reshape(features, -1)

    def product(b: int, vectors: FloatArray) -> FloatArray:
        block = problem.X[problem._rows(b)]
        m, k = block.shape[0], len(vectors)
        scores = np.asarray(block @ w)
        V = np.moveaxis(vectors.reshape(k, features, outputs), 0, 1).reshape(features, -1)
        along = np.asarray(block @ V)
        if outputs == 1:
            curved = problem.loss.pair(scores, 0, 0)[:, None] * along
        else:
            parts = along.reshape(m, k, outputs)
            curved = np.stack(
                [problem.loss.curve(scores, parts[:, j]) for j in range(k)], axis=1
            ).reshape(m, -1)
        G = np.asarray(block.T @ curved) / m
        G = np.moveaxis(G.reshape(features, k, outputs), 1, 0).reshape(k, -1)
        return np.asarray(G + problem.l2 * vectors)

    return product


def almost_sure_on_data(
    survey: Survey,
    method: Method,
    *,
    sampling: Sampling,
    seed: int,
    steps: int = 400,
    replicas: int = 8,
) -> Growth:
    """Exponential of the top Lyapunov exponent from independent paths on the data itself."""
    from scipy.special import stdtrit

    problem, by = survey.problem, one_method(method)
    product = hessian_products(problem)
    rng = np.random.default_rng(seed)
    order = batch_order(problem.terms, sampling, replicas, rng)
    # From rest: a random velocity would take 1/(1 - beta) steps to fade.
    r = rng.standard_normal((replicas, problem.dimension))
    v = np.zeros_like(r)
    total, burn = np.zeros(replicas), steps // 4
    for k in range(burn + steps):
        drawn = next(order)
        pull = np.empty_like(r)
        for b in np.unique(drawn):
            who = np.flatnonzero(drawn == b)
            pull[who] = product(int(b), r[who])
        push = by.alpha * pull
        r, v = r + by.c * v - (1.0 + by.gamma) * push, by.beta * v - push
        norm = np.sqrt((r * r).sum(axis=1) + (v * v).sum(axis=1))
        norm = np.maximum(norm, 1e-300)
        r, v = r / norm[:, None], v / norm[:, None]
        if k >= burn:
            total += np.log(norm)
    rates = total / steps
    reach = float(stdtrit(replicas - 1, 0.975)) * float(rates.std(ddof=1)) / math.sqrt(replicas)
    mean = float(rates.mean())
    return Growth(
        math.exp(mean), math.exp(mean - reach), math.exp(mean + reach), False,
        Sense.ALMOST_SURE, sampling,
    )  # fmt: skip
