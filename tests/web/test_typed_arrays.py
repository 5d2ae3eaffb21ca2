import base64

import numpy as np
import pytest

from ravine.web.typed_arrays import typed


@pytest.mark.parametrize(
    ("kind", "code"), [("float32", "f4"), ("float64", "f8"), ("uint8", "u1"), ("int32", "i4")]
)
def test_bytes_and_shape_come_back(kind, code):
    values = np.arange(6).reshape(2, 3)
    packed = typed(values, kind)
    again = np.frombuffer(base64.b64decode(packed["bdata"]), kind).reshape(2, 3)
    assert packed["dtype"] == code
    assert packed["shape"] == "2, 3"
    np.testing.assert_array_equal(again, values)


def test_beyond_single_precision_is_infinite_without_a_warning():
    packed = typed([1e300])
    assert np.isinf(np.frombuffer(base64.b64decode(packed["bdata"]), np.float32)[0])
