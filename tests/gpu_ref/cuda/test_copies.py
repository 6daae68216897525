"""Large tables reach a device and return unchanged, by any number of threads and with a limit on pinned memory."""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from beltline.gpu_ref.cuda import device


class Table(np.ndarray[Any, Any]):
    """A table on a pretended device, to which memory is copied no earlier than the stream is waited for."""

    waiting: list[tuple[Any, Any]] = []  # noqa: RUF012

    def set(self, source: Any) -> None:
        """Copy later, from what ``source`` is then."""
        Table.waiting.append((self, source))

    def get(self, out: Any = None, blocking: bool = True) -> Any:
        """Copy now."""
        found = np.empty(self.shape, self.dtype) if out is None else out
        found[...] = np.asarray(self)
        return found


class Stream:
    """The stream of the pretended device."""

    def synchronize(self) -> None:
        """Make the copies that wait."""
        for target, source in Table.waiting:
            target[...] = source
        Table.waiting.clear()


@pytest.fixture
def pinned(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Pretend that there is a device; return the bytes of every piece of pinned memory."""
    sizes: list[int] = []

    def empty_pinned(shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
        made = np.full(shape, -1, dtype)
        sizes.append(made.nbytes)
        return made

    cupy, cupyx = ModuleType("cupy"), ModuleType("cupyx")
    cupy.cuda = type("Cuda", (), {"get_current_stream": Stream})  # type: ignore[attr-defined]
    cupyx.empty_pinned = empty_pinned  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setitem(sys.modules, "cupyx", cupyx)
    Table.waiting.clear()
    return sizes


@pytest.mark.parametrize("threads", [4, 5, 8])
@pytest.mark.parametrize(("count", "size"), [(1, 5000), (3, 7), (16, 512), (37, 100), (101, 64), (9, 1500)])
def test_tables_return_unchanged(
    monkeypatch: pytest.MonkeyPatch, pinned: list[int], threads: int, count: int, size: int
) -> None:
    large = 2**14
    monkeypatch.setattr(device, "_LARGE", large)
    monkeypatch.setattr(device, "copiers", lambda: threads)
    parts = list(np.random.default_rng(count).random((count, size)))
    table = np.zeros((count, size)).view(Table)
    device.send(table, parts)
    Stream().synchronize()
    assert np.array_equal(table, parts)
    assert sum(pinned) <= large
    pinned.clear()
    assert np.array_equal(device.fetch(table), parts)
    assert sum(pinned) <= large
    assert len(pinned) == (threads if table.nbytes >= large else 0)


@pytest.mark.parametrize(("cores", "threads"), [(1, 4), (2, 4), (8, 4), (12, 6), (16, 8), (128, 8)])
def test_threads_that_copy(monkeypatch: pytest.MonkeyPatch, cores: int, threads: int) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(cores)), raising=False)
    device.copiers.cache_clear()
    assert device.copiers() == threads
    device.copiers.cache_clear()
