"""Damaged stores: no reader takes one for whole, and a run restores it or says why not."""

import re

import numpy as np
import pytest
import xarray as xr
from attack.damages import GENERAL, SPECIAL, Outcome
from attack.stores import contents
from attack.tiny_sweep import TILES, tiny_sweep

from ravine.arguments import Refusal
from ravine.engine.storage.store import open_store, store_status

# The attack tries every way of harming every kind of file; here some of them.
SOME = [*SPECIAL, *GENERAL[::5]]


def same_values(data, expected):
    for name in expected.variables:
        assert data[name].values.tobytes() == expected[name].values.tobytes(), name
    assert data.attrs == expected.attrs


def refusal(call, *arguments):
    with pytest.raises(Refusal) as refused:
        call(*arguments)
    assert "\n" not in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize("damage", SOME, ids=lambda damage: damage.name)
def test_no_reader_takes_a_damaged_store_for_whole(damage, store, tiny):
    damage.harm(store)
    if damage.outcome is Outcome.LOST:
        for reader in (store_status, open_store):
            assert re.search("another path", refusal(reader, store))

    if damage.outcome is Outcome.RESTORED:
        line = refusal(open_store, store)
        assert re.search(r"store must be undamaged, got .*--resume computes it again", line)
        assert store_status(store).damages

    if damage.outcome is Outcome.UNREADABLE:
        assert "--resume" in refusal(open_store, store)

    if damage.outcome is Outcome.UNFINISHED:
        data, there = open_store(store)
        assert store_status(store).done == TILES - 1
        for name in tiny.data_vars:
            np.testing.assert_array_equal(data[name].values[there], tiny[name].values[there])

    if damage.outcome is Outcome.HARMLESS:
        assert store_status(store).is_complete
        same_values(open_store(store)[0].load(), tiny)


@pytest.mark.parametrize("damage", SOME[::4], ids=lambda damage: damage.name)
def test_a_run_restores_a_damaged_store_or_says_why_not(damage, store, pristine, tiny):
    damage.harm(store)
    if damage.outcome is Outcome.LOST:
        assert re.search("another path", refusal(tiny_sweep, store))
        return

    same_values(tiny_sweep(store).load(), tiny)
    assert store_status(store).is_complete
    if damage.outcome is not Outcome.HARMLESS:
        assert contents(store) == contents(pristine)


def test_any_reader_notices_a_flipped_bit_of_a_chunk(store):
    chunk = store / "rate" / "c" / "1" / "0"
    content = bytearray(chunk.read_bytes())
    content[len(content) // 2] ^= 1
    chunk.write_bytes(content)
    with pytest.raises(ValueError, match="checksum"):
        xr.open_zarr(store, chunks=None).load()
