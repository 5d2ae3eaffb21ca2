import numpy as np

from ravine.problems.data import random_orthogonal


def test_columns_are_orthonormal():
    for rows, columns in ((1, 1), (2, 2), (50, 7), (7, 7)):
        U = random_orthogonal(np.random.default_rng(3), rows, columns)
        np.testing.assert_allclose(U.T @ U, np.eye(columns), atol=4e-15)


def test_the_directions_are_uniform():
    # Haar: E u = 0 and E u u' = I/2 in the plane; 4 standard errors of 4000 draws, 4/sqrt(4000).
    rng = np.random.default_rng(0)
    columns = np.stack([random_orthogonal(rng, 2, 2)[:, 0] for _ in range(4000)])
    assert np.abs(columns.mean(axis=0)).max() < 0.064 * np.sqrt(0.5)
    assert abs((columns[:, 0] ** 2).mean() - 0.5) < 0.064 * np.sqrt(0.125)
