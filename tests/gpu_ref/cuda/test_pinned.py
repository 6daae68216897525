"""Copies through page-locked memory, with a device whose copies happen only when the host waits for them."""

from __future__ import annotations

import ctypes
import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from beltline.gpu_ref.cuda import pinned as module
from beltline.gpu_ref.cuda.device import available, cupy_module
from beltline.gpu_ref.cuda.pinned import Pinned, pinned


class Lazy:
    """A device that does nothing before it must."""

    def __init__(self) -> None:
        self.waiting: list[Any] = []
        self.copied = 0
        self.cuda = SimpleNamespace(
            alloc_pinned_memory=self._alloc,
            Event=lambda disable_timing: Event(self),
            get_current_stream=lambda: SimpleNamespace(ptr=0),
            runtime=SimpleNamespace(memcpyAsync=lambda *copy: self.waiting.append(copy)),
            Device=lambda: SimpleNamespace(id=0),
        )

    def _alloc(self, size: int) -> Any:
        memory = (ctypes.c_ubyte * size)()
        memory.ptr = ctypes.addressof(memory)  # type: ignore[attr-defined]
        return memory

    def catch_up(self, until: int) -> None:
        while self.copied < until:
            to, source, size, _, _ = self.waiting[self.copied]
            ctypes.memmove(to, source, size)
            self.copied += 1


class Event:
    def __init__(self, device: Lazy) -> None:
        self.device, self.until = device, 0

    def record(self, stream: Any) -> None:
        self.until = len(self.device.waiting)

    def synchronize(self) -> None:
        self.device.catch_up(self.until)


class Table(np.ndarray):
    """An array of the device."""

    @property
    def data(self) -> Any:
        return SimpleNamespace(ptr=self.ctypes.data)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SIZE", 64)


@pytest.mark.parametrize("sizes", [[3], [8], [9], [1, 2, 5, 8], [40, 0, 7], [100, 100]])
def test_tables_arrive_although_they_are_changed_afterwards(sizes: list[int]) -> None:
    device = Lazy()
    memory = Pinned(device)
    for turn in range(5):
        sources = [np.arange(100.0 * turn, 100.0 * turn + size) for size in sizes]
        wanted = np.concatenate(sources)
        target = np.full(wanted.size, np.nan).view(Table)
        memory.put(target, sources)
        for source in sources:
            source[:] = -1.0
        device.catch_up(len(device.waiting))
        np.testing.assert_array_equal(target, wanted)


@pytest.mark.parametrize("shape", [(), (1,), (8, 1), (3, 3), (50, 3), (0, 4)])
def test_results_are_complete_when_they_are_returned(shape: tuple[int, ...]) -> None:
    memory = Pinned(Lazy())
    for turn in range(5):
        table = np.random.default_rng(turn).integers(-9, 9, shape).astype(np.int32)
        np.testing.assert_array_equal(memory.fetch(np.array(table).view(Table)), table)


def test_columns_and_other_types_are_converted() -> None:
    device = Lazy()
    target = np.zeros((2, 3, 4)).view(Table)
    given = np.arange(24.0, dtype=np.float32).reshape(4, 3, 2)
    memory = Pinned(device)
    memory.put(target, [given.T[0].T, given.T[1].T])
    device.catch_up(len(device.waiting))
    np.testing.assert_array_equal(target[0].reshape(4, 3), given[:, :, 0])


def test_many_bytes_are_copied_by_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_GRAIN", 16)
    source = np.random.default_rng(0).integers(0, 256, 10 * 2**16 + 5).astype(np.uint8)
    target = np.zeros_like(source)
    module._copy(source, target)
    np.testing.assert_array_equal(target, source)
    assert source.flags.writeable


def test_each_thread_has_memory_of_its_own() -> None:
    device, found = Lazy(), []
    threads = [threading.Thread(target=lambda: found.append(pinned(device))) for _ in range(2)]
    for thread in threads:
        thread.start()
        thread.join()
    assert found[0] is not found[1]


@pytest.mark.skipif(bool(available()), reason=available() or "there is a device")
def test_a_device_returns_what_it_was_given() -> None:
    cupy = cupy_module()
    memory = Pinned(cupy)
    for size in (1, 7, 8, 9, 1000):
        table = np.random.default_rng(size).normal(size=(3, size))
        target = cupy.full((3, size), cupy.nan)
        memory.put(target, list(table))
        np.testing.assert_array_equal(memory.fetch(target), table)
        np.testing.assert_array_equal(target.get(), table)
