"""Two 2x2 matrices: the bracket of the polygon engine, with its polygon as a proof."""

from __future__ import annotations

import numpy as np

from ravine.arguments import FloatArray
from ravine.theory.joint_spectral_radius.invariant_polytope import operator_norm, represent
from ravine.theory.joint_spectral_radius.norm_proof import InvariantPolytope
from ravine.theory.joint_spectral_radius.polygon import (
    best_polygon,
    best_word,
    bracket_pair,
    list_room,
    workspace,
)
from ravine.theory.joint_spectral_radius.products import Word, certain_radius, smallest_rotation


def bracket_by_polygon(
    matrices: FloatArray, ceiling: float, tolerance: float
) -> tuple[float, Word, InvariantPolytope | None]:
    """Lower bound, its product, and a proof of an upper bound; None where no polygon closed.

    ``ceiling`` is a known upper bound: the matrices are taken in units of it.
    """
    room = workspace(list_room)
    pair = (matrices / ceiling).ravel().tolist()
    # above the ceiling, so that a polygon is grown even if the ceiling is the answer
    _, _, length = bracket_pair(pair, 1.0 + 1e-9, tolerance, room)

    # Words of polygons name the matrices in the order in which they act, products as written.
    # (For 2x2 matrices the mirror image of a word has the same trace and determinant.)
    word = smallest_rotation(tuple(reversed(best_word(room, length))))
    lower = certain_radius(matrices, word)
    vertices = best_polygon(room)
    if vertices.shape[1] < 2:
        return lower, word, None

    basis, weights = represent(matrices, vertices)
    bound = operator_norm(matrices, vertices, basis, weights)
    if not np.isfinite(bound):
        return lower, word, None

    return lower, word, InvariantPolytope(matrices, vertices, basis, weights, bound)
