"""Whatever happens to a store: no reader takes it for whole, and a run mends it or says why not."""

import re

import numpy as np
import pytest
from attack.damages import GENERAL, SPECIAL, Fate
from attack.stores import contents
from attack.tiny_sweep import TILES, tiny_sweep

from ravine.arguments import Refusal
from ravine.engine.storage.store import open_store, store_status

# The attack tries every way of harming every kind of file; here some of them.
SOME = [*SPECIAL, *GENERAL[::7]]


def same_values(data, expected):
    for name in expected.variables:
        assert data[name].values.tobytes() == expected[name].values.tobytes(), name
    assert data.attrs == expected.attrs


def refusal(call, *arguments):
    with pytest.raises(Refusal) as refused:
        call(*arguments)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def damage_in_status(store):
    """Whether the status speaks of damaged tiles, or refuses the store with the remedy."""
    try:
        return store_status(store).damaged > 0
    except Refusal as refused:
        return str(refused).endswith("--resume mends it")


@pytest.mark.parametrize("damage", SOME, ids=lambda damage: damage.name)
def test_no_reader_takes_a_damaged_store_for_whole(damage, store, tiny):
    damage.harm(store)
    if damage.fate is Fate.LOST:
        for reader in (store_status, open_store):
            assert re.search("give another path|sweep anew", refusal(reader, store))

    if damage.fate is Fate.MENDED:
        assert re.search(
            r"store must be whole, got .*--resume mends it", refusal(open_store, store)
        )
        assert damage_in_status(store)

    if damage.fate is Fate.UNFINISHED:
        data, there = open_store(store)
        assert store_status(store).done == TILES - 1
        for name in tiny.data_vars:
            np.testing.assert_array_equal(data[name].values[there], tiny[name].values[there])

    if damage.fate is Fate.HARMLESS:
        assert store_status(store).is_complete
        same_values(open_store(store)[0].load(), tiny)


@pytest.mark.parametrize("damage", SOME[::6], ids=lambda damage: damage.name)
def test_a_run_mends_a_damaged_store_or_says_why_not(damage, store, pristine, tiny):
    damage.harm(store)
    if damage.fate is Fate.LOST:
        assert re.search("give another path|sweep anew", refusal(tiny_sweep, store))
        return

    same_values(tiny_sweep(store).load(), tiny)
    assert store_status(store).is_complete
    if damage.fate is not Fate.HARMLESS:
        assert contents(store) == contents(pristine)
