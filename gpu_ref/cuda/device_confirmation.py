"""Verify a result on a CUDA device: compare value and policy with an exact sweep (``confirm.cu``).

This is the pass of :mod:`beltline.gpu_ref.confirmation`, with its theorem and its bound of rounding errors, with one
thread per state. Tables are copied to the device again, so nothing is taken over from a solver. Choices that are no
longer the best are repaired for all rows of one parity at once, at most :data:`MAX_REPAIRS` times. If that is not
enough, or an error of a state exceeds the tolerance, there is no answer, and :func:`beltline.gpu_ref.compare.compare`
is needed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.compare import Allowed, Compared
from beltline.gpu_ref.confirmation import MAX_GAP
from beltline.gpu_ref.cuda.device import cupy_module, refuse
from beltline.gpu_ref.cuda.kernels import argument, confirm_kernels, kind_of
from beltline.gpu_ref.methods import DOUBLE
from beltline.gpu_ref.tables import Array

CHUNK = 256
"""Rows of a block, a macro of ``confirm.cu``."""

MAX_REPAIRS = 8
"""Largest number of times that choices are repaired; each takes two launches and another pass."""

_SURVEYED, _FACTS, _PIECE, _KNOWN, _FOUND = 7, 5, 4, 3, 9
"""Number of entries in the arrays ``surveyed`` and ``facts`` of a chunk, a piece, ``known`` and ``found``, as in
``confirm.cu``.
"""

_POINTERS = ("X", "W", "Q", "V", "value", "policy", "exact", "ev", "surveyed", "known", "facts", "pieces", "found")
_NUMBERS = ("beta", "eta", "change", "constant", "share", "times", "far")
_STRUCT = np.dtype(
    [(name, np.uint64) for name in _POINTERS]
    + [(name, np.float64) for name in _NUMBERS]
    + [(name, np.int32) for name in ("points", "states", "chunks", "padding")]
)
"""``struct Confirm`` of ``confirm.cu``."""


class Confirmation:
    """Compare results of one problem with exact sweeps on the current CUDA device.

    Parameters
    ----------
    X, W, Q, beta, eta
        As in :mod:`beltline.gpu_ref`. If a table breaks a condition, :meth:`compare` returns ``None``.

    Raises
    ------
    MemoryError
        The tables do not fit into the memory of the device.
    """

    def __init__(self, X: Array, W: Array, Q: Array, beta: float, eta: float) -> None:
        cupy = cupy_module()
        self._points, self._states = points, states = W.shape
        self._chunks = math.ceil(points / CHUNK)
        blocks = self._chunks * states
        sizes = {
            "X": points, "W": points * states, "Q": states * states, "V": points * states, "value": points * states,
            "ev": points * states, "surveyed": blocks * _SURVEYED, "known": _KNOWN + states, "facts": blocks * _FACTS,
            "pieces": 2 * blocks * _PIECE, "found": _FOUND,
        }  # fmt: skip
        refuse(cupy, 8 * sum(sizes.values()) + 8 * points * states, "verification")
        room = cupy.empty(sum(sizes.values()))
        self._tables: dict[str, Any] = {}
        begin = 0
        for name, size in sizes.items():
            self._tables[name] = room[begin : begin + size]
            begin += size
        choices = cupy.empty((2, points * states), np.int32)
        self._tables["policy"], self._tables["exact"] = choices
        self._numbers = {"beta": beta, "eta": eta, "far": MAX_GAP}
        self._kernels = confirm_kernels(cupy.cuda.Device().id, kind_of([eta]))
        for name, table in (("X", X), ("W", W), ("Q", Q)):
            self._put(name, table, np.float64)

    def _put(self, name: str, table: NDArray[Any], dtype: type) -> None:
        """Copy a table to the device."""
        self._tables[name].set(np.ascontiguousarray(table, dtype).reshape(-1))

    def compare(self, V: Array, value: Array, policy: NDArray[np.int32], allowed: Allowed) -> Compared | None:
        """Compare ``value`` and ``policy`` with an exact sweep from ``V``; all ``(N_k, N_z)``.

        Returns
        -------
        Compared or None
            As for :func:`beltline.gpu_ref.compare.compare`, without errors; ``None`` if there may be some.
        """
        if allowed.c_rounding > 0.0 or not np.isfinite([allowed.change, allowed.value, allowed.share]).all():
            return None
        tables = self._tables
        self._put("value", value, np.float64)
        if V is not value:
            self._put("V", V, np.float64)
        row = np.zeros(1, _STRUCT)
        for name in _POINTERS:
            row[name] = tables["value" if name == "V" and V is value else name].data.ptr
        given = {"change": allowed.change, "constant": allowed.value, "share": allowed.share, "times": allowed.times}
        for number, of_it in {**self._numbers, **given}.items():
            row[number] = of_it
        row["points"], row["states"], row["chunks"] = self._points, self._states, self._chunks
        packed = argument(row)
        over, threads = (self._chunks, self._states), (CHUNK,)
        survey, gather, confirm, repair, conclude = self._kernels
        survey(over, threads, (packed,))
        gather((1,), threads, (packed,))
        # This copy overlaps with the kernels that read the values.
        self._put("policy", policy, np.int32)
        tables["exact"][...] = tables["policy"]
        for repairs in range(MAX_REPAIRS + 1):
            confirm(over, threads, (packed,))
            conclude((1,), threads, (packed,))
            largest, gap, size, best, better, wrong, slack, far, sound = tables["found"].get().tolist()
            if wrong or not sound or not gap <= far or (better and repairs == MAX_REPAIRS):
                return None
            if not better:
                break
            for parity in (0, 1):
                repair(over, threads, (packed, np.int32(parity)))
        ev_error = DOUBLE * ((self._numbers["eta"] == 1.0) + (self._states + 4) * max(largest, best))
        power = DOUBLE * (abs(1.0 - self._numbers["eta"]) + 8.0)
        return Compared(gap, max(power * size + ev_error, slack), 0, -1, 0.0)
