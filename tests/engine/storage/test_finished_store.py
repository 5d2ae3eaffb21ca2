import numpy as np
import xarray as xr

from ravine.engine.storage.finished_store import finished_store


def test_unfinished_chunks_are_filled_not_read(store, tiny):
    (store / "rate/c/1/0").write_bytes(b"cut by a crash")
    view = finished_store(store, {"rate/c/1/0"})
    data = xr.open_zarr(view, chunks=None, consolidated=True, zarr_format=3)
    assert np.isnan(data["rate"][2:4]).all()
    np.testing.assert_array_equal(data["rate"][4:], tiny["rate"][4:])
    np.testing.assert_array_equal(data["floor"], tiny["floor"])
