import pytest

from ravine.tables.limits import MAX_RATIO, Limits


def test_each_limit_names_the_option_that_raises_it():
    limits = Limits.of(max_rows=10, max_columns=10, max_classes=3, max_bytes=800)
    limits.check_shape(10, 10)
    for check, value, option in (
        (lambda n: limits.check_shape(n, 1), 11, "--max-rows"),
        (lambda n: limits.check_shape(1, n), 11, "--max-columns"),
        (limits.check_classes, 4, "--max-classes"),
        (limits.check_bytes, 801, "--max-bytes"),
    ):
        with pytest.raises(ValueError, match=option):
            check(value)
    with pytest.raises(ValueError, match="800 bytes of numbers, got 880 bytes"):
        Limits.of(max_bytes=800).check_shape(11, 10)


def test_growth_is_suspicious_unless_the_size_was_chosen():
    size = 100 * 2**20
    packed = size // MAX_RATIO - 1
    with pytest.raises(ValueError, match="use --max-bytes"):
        Limits().check_bytes(size, packed=packed)
    Limits().check_bytes(size, packed=packed + 2)
    Limits.of(max_bytes=size).check_bytes(size, packed=packed)
    # What is small may grow as it likes.
    Limits().check_bytes(2**20, packed=1)


def test_limits_are_counts():
    with pytest.raises(ValueError, match="max_rows must be at least 1"):
        Limits.of(max_rows=0)
