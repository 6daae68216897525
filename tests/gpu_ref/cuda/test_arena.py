"""Tables in one allocation, with NumPy in place of CuPy."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from beltline.gpu_ref.cuda.arena import ALIGNED, Arena, Plan

COPIES: list[int] = []


class Device(np.ndarray):
    """An array of the device, at an address, that counts what is copied to it."""

    @property
    def data(self) -> Any:
        return SimpleNamespace(ptr=self.ctypes.data)

    def set(self, table: Any) -> None:
        assert table.shape == self.shape
        assert table.dtype == self.dtype
        COPIES.append(table.nbytes)
        self[...] = table


def empty(size: int, dtype: Any) -> Any:
    return np.full(size, 0xA5, dtype).view(Device)


@pytest.fixture
def arena() -> Arena:
    COPIES.clear()
    small = {"kind": ((3,), np.int32), "chances": ((2, 2), np.float64), "flat": ((5,), np.uint8)}
    large = {"wealth": ((2, 40), np.float64), "choice": ((7,), np.int32), "nothing": ((0, 4), np.float64)}
    filled = {"value": ((3, 11), np.float64), "copy": ((9,), np.uint8)}
    return Arena(SimpleNamespace(empty=empty), Plan(small, large, filled))


def test_tables_are_apart_and_those_that_are_not_filled_are_zero(arena: Arena) -> None:
    names = ("kind", "chances", "flat", "wealth", "choice", "nothing", "value", "copy")
    for number, name in enumerate(names):
        assert name in ("value", "copy") or not arena[name].any()
        arena[name][...] = number + 1
    for number, name in enumerate(names):
        assert (arena[name] == number + 1).all()
    assert arena["wealth"].shape == (2, 40)
    assert arena["choice"].dtype == np.int32
    assert arena["flat"].nbytes == 5


def test_addresses_are_where_tables_begin(arena: Arena) -> None:
    addresses = arena.addresses()
    for name in ("kind", "chances", "flat", "wealth", "choice"):
        assert arena[name].ctypes.data == addresses[name]
    begin = min(addresses.values())
    assert all((address - begin) % ALIGNED == 0 for address in addresses.values())


def test_small_tables_come_in_one_copy_and_large_ones_are_left_or_come_alone(arena: Arena) -> None:
    arena["choice"].fill(-1)
    chances = np.array([[0.9, 0.1], [0.2, 0.8]])
    small = {"kind": np.array([2, 0, 1], np.int64), "chances": chances.T, "flat": np.array([True, False] * 2 + [True])}
    arena.put(small)
    assert len(COPIES) == 1
    wealth = np.arange(80.0).reshape(40, 2).T
    arena.put({**small, "wealth": wealth})
    assert COPIES[1:] == [COPIES[0], wealth.nbytes]
    assert arena["kind"].tolist() == [2, 0, 1]
    assert np.array_equal(arena["chances"], chances.T)
    assert arena["flat"].tolist() == [1, 0, 1, 0, 1]
    assert np.array_equal(arena["wealth"], wealth)
    assert (arena["choice"] == -1).all()
