import numpy as np
import pytest
from scipy import sparse

from ravine.problems import spectrum as module
from ravine.problems.spectrum import extreme_eigenvalues, is_sparse

RNG = np.random.default_rng(8)
TALL = RNG.standard_normal((40, 6))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_both_ends_are_those_of_the_gram_matrix(kind):
    low, high = extreme_eigenvalues(kind(TALL))
    exact = np.linalg.eigvalsh(TALL.T @ TALL / 40)
    assert (low, high) == pytest.approx((exact[0], exact[-1]), rel=1e-12)


def test_fewer_rows_than_columns_are_flat_somewhere():
    low, high = extreme_eigenvalues(TALL.T)
    assert low == 0.0
    assert high == pytest.approx(np.linalg.eigvalsh(TALL.T @ TALL / 6)[-1])


def test_lanczos_encloses_the_spectrum(monkeypatch):
    # The dense way is shut: what comes back may be wide by a residual, never too narrow.
    exact = extreme_eigenvalues(TALL)
    monkeypatch.setattr(module, "DENSE_LIMIT", 0)
    low, high = extreme_eigenvalues(TALL)
    assert 0.0 <= low <= exact[0] * (1 + 1e-9)
    assert exact[1] * (1 - 1e-9) <= high <= exact[1] * (1 + 1e-5)


def test_sparse_matrices_are_told_apart():
    assert is_sparse(sparse.csr_array(TALL))
    assert not is_sparse(TALL)
