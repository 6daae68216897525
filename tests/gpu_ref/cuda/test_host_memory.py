"""Host memory for results of a device is used again, and never while an array refers to it (without a device)."""

from __future__ import annotations

import gc
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from beltline.gpu_ref.cuda import host_memory
from beltline.gpu_ref.cuda.host_memory import _Registered

SIZE = 8 * 4096
"""Bytes of an array of 4,096 numbers."""


class Cuda:
    """What memory is registered, by address."""

    class CUDARuntimeError(Exception):
        """An error of CUDA."""

    def __init__(self) -> None:
        self.registered: dict[int, int] = {}
        self.made = 0
        self.refuses = False

    def hostRegister(self, address: int, size: int, flags: int) -> None:
        if self.refuses:
            raise self.CUDARuntimeError("out of memory")
        assert address not in self.registered
        assert flags == 1
        self.registered[address] = size
        self.made += 1

    def hostUnregister(self, address: int) -> None:
        del self.registered[address]


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Cuda:
    made = Cuda()
    cupy: Any = ModuleType("cupy")
    cupy.cuda = SimpleNamespace(runtime=made)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    return made


def lent(memory: _Registered, rows: int = 64, columns: int = 64) -> np.ndarray[Any, Any]:
    found = memory.lend((rows, columns), np.float64)
    assert found is not None
    assert found.shape == (rows, columns)
    assert found.dtype == np.float64
    assert found.flags.writeable
    return found


def test_memory_is_registered_and_used_again(cuda: Cuda) -> None:
    memory = _Registered(4 * SIZE)
    first = lent(memory)
    first[:] = 1.0
    at = first.ctypes.data
    assert cuda.registered == {at: SIZE}
    second = lent(memory)
    second[:] = 2.0
    assert (first == 1.0).all()
    assert second.ctypes.data != at
    del first
    assert lent(memory).ctypes.data == at
    assert cuda.made == 2


def test_a_view_keeps_the_memory(cuda: Cuda) -> None:
    memory = _Registered(4 * SIZE)
    first = lent(memory)
    at, row = first.ctypes.data, first[3][::2]
    row[:] = 7.0
    del first
    gc.collect()
    other = lent(memory)
    assert other.ctypes.data != at
    other[:] = 0.0
    assert (row == 7.0).all()
    del row
    assert lent(memory).ctypes.data == at


def test_no_more_than_allowed_is_registered(cuda: Cuda) -> None:
    memory = _Registered(2 * SIZE)
    arrays = [lent(memory), lent(memory)]
    assert memory.lend((64, 64), np.float64) is None
    arrays.pop()
    arrays.append(lent(memory))
    assert cuda.made == 2
    assert memory.lend((1000, 64), np.float64) is None


def test_free_memory_of_another_size_is_given_up(cuda: Cuda) -> None:
    memory = _Registered(3 * SIZE)
    small = [lent(memory), lent(memory)]
    del small
    large = lent(memory, 192)
    assert cuda.registered == {large.ctypes.data: 3 * SIZE}
    assert memory.lend((1, 1), np.float64) is None
    del large
    # A piece of more than twice the size is not used for a small result.
    assert lent(memory).nbytes == SIZE
    assert sum(cuda.registered.values()) == SIZE


def test_a_device_that_refuses_is_not_asked_again(cuda: Cuda) -> None:
    memory = _Registered(4 * SIZE)
    cuda.refuses = True
    assert memory.lend((64, 64), np.float64) is None
    cuda.refuses = False
    assert memory.lend((64, 64), np.float64) is None
    assert not cuda.registered


def test_sizes_decide_the_kind_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    for name in ("_pinned", "_registered"):
        kind = SimpleNamespace(lend=lambda shape, dtype, name=name: asked.append(name))
        monkeypatch.setattr(host_memory, name, kind)
    least, large = host_memory.PINNED_LEAST // 8, host_memory._REGISTERED_LEAST // 8
    for count in (1, least - 1, least, large - 1, large):
        host_memory.lend((count,), np.float64)
    assert asked == ["_pinned", "_pinned", "_registered"]


def test_the_limit_is_a_share_of_the_memory_of_the_computer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_memory.os, "sysconf", lambda name: {"SC_PHYS_PAGES": 2**21}.get(name, 4096))
    assert host_memory._most() == 2**30
    monkeypatch.setattr(host_memory.os, "sysconf", lambda name: 2**20)
    assert host_memory._most() == 2**33
