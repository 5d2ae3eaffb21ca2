import io
import zipfile

import numpy as np
import pytest
from scipy.sparse import csc_matrix, csr_matrix

from ravine.tables import read_table

X = np.array([[1.0, 2.0], [3.0, 4.5], [5.0, 6.0]])
Y = np.array([0.5, 1.5, 2.5])


@pytest.mark.parametrize(
    "names", [("X", "y"), ("X_train", "y_train"), ("data", "target"), ("arr_0", "arr_1")]
)
def test_usual_names_are_known(tmp_path, names):
    np.savez(tmp_path / "t.npz", **dict(zip(names, (X, Y), strict=True)), other=np.eye(2))
    table = read_table(tmp_path / "t.npz")
    np.testing.assert_array_equal(table.X, X)
    np.testing.assert_array_equal(table.y, Y)
    assert table.target == names[1]


@pytest.mark.parametrize("make", [csr_matrix, csc_matrix])
def test_sparse_matrices_stay_sparse(tmp_path, make):
    S = make(X)
    np.savez(tmp_path / "s.npz", data=S.data, indices=S.indices, indptr=S.indptr, shape=S.shape,
             format=S.format.encode(), y=Y)  # fmt: skip
    table = read_table(tmp_path / "s.npz")
    assert table.X.format == "csr"
    np.testing.assert_array_equal(table.X.toarray(), X)


def test_pictures_labels_and_structured_arrays(tmp_path):
    np.savez(tmp_path / "p.npz", x=np.arange(12.0).reshape(3, 2, 2), y=np.array(["a", "b", "a"]))
    table = read_table(tmp_path / "p.npz")
    assert table.X.shape == (3, 4)
    assert table.y.tolist() == ["a", "b", "a"]
    rows = np.array([(1.0, b"x", 3), (2.0, b"y", 1), (4.0, b"x", 9)],
                    dtype=[("a", "f8"), ("b", "S1"), ("y", "i4")])  # fmt: skip
    np.save(tmp_path / "r.npy", rows)
    table = read_table(tmp_path / "r.npy")
    assert (table.columns, table.target) == (("a", "b=y"), "y")


def header_of(shape, kind="<f8"):
    out = io.BytesIO()
    about = {"descr": kind, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(out, about)
    return out.getvalue()


def npz_of(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ((2**28, 8), r"at most 4,294,967,296 bytes, got 17,179,869,184: .*--max-bytes"),
        ((2**24, 8), r"200 times its compressed size, got 1,073,741,824 bytes or more from"),
        ((4, 10**6), r"at most 100,000 columns, got 1,000,000"),
        ((-1, 5), "readable"),
    ],
)
def test_headers_are_checked_before_memory_is_taken(tmp_path, shape, words):
    npz_of(tmp_path / "bomb.npz", X=header_of(shape), y=header_of((4,)))
    with pytest.raises(ValueError, match=words):
        read_table(tmp_path / "bomb.npz")


def test_what_is_no_array_is_refused(tmp_path):
    path = tmp_path / "t.npz"
    npz_of(path, X=b"bytes", y=b"bytes")
    with pytest.raises(ValueError, match=r"a readable NPZ file"):
        read_table(path)
    np.savez(path, X=np.array([{}, {}]), y=Y[:2])
    with pytest.raises(ValueError, match="Python objects, which are never unpickled"):
        read_table(path)
    np.savez(path, a=X, b=Y)
    with pytest.raises(ValueError, match="no X and y among the arrays a, b"):
        read_table(path)
    np.save(tmp_path / "t.npy", np.eye(3)[0])
    with pytest.raises(ValueError, match="1 dimensions of float64"):
        read_table(tmp_path / "t.npy")
    np.save(tmp_path / "t.npy", np.array([1 + 1j, 2])[:, None].repeat(2, 1))
    with pytest.raises(ValueError, match=r"of real numbers or texts, got values of type complex"):
        read_table(tmp_path / "t.npy")


def test_arrays_of_other_dimensions_are_refused(tmp_path):
    path = tmp_path / "t.npz"
    for arrays in ({"a": Y}, {"a": X[None]}, {"a": np.float64(3.0)}):
        np.savez(path, **arrays)
        with pytest.raises(ValueError, match="dimensions of float64"):
            read_table(path)
    np.savez(path, X=np.float64(3.0), y=Y)
    with pytest.raises(ValueError, match="y must be of shape"):
        read_table(path)


def test_sparse_matrices_are_checked(tmp_path):
    path = tmp_path / "s.npz"
    np.savez(path, data=np.ones(2), indices=np.array([0, 7]), indptr=np.array([0, 1, 2]),
             shape=np.array([2, 3]), y=Y[:2])  # fmt: skip
    with pytest.raises(ValueError, match="readable NPZ"):
        read_table(path)


def test_lengths_have_to_agree(tmp_path):
    np.savez(tmp_path / "t.npz", X=X, y=Y[:2])
    with pytest.raises(
        ValueError, match=r"y must be of shape \(3,\), got an array of shape \(2,\)"
    ):
        read_table(tmp_path / "t.npz")
    np.savez(tmp_path / "t.npz", X=X, y=Y)
    with pytest.raises(ValueError, match=r"target must be omitted .* the target is y"):
        read_table(tmp_path / "t.npz", target="y")
    with pytest.raises(ValueError, match="weights must be omitted"):
        read_table(tmp_path / "t.npz", weights="w")
