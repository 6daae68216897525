"""Compile the kernels of this folder when they are first needed, once for each device."""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from beltline.gpu_ref.cuda.device import cupy_module, room

STATES_LIMIT = 64
"""Largest ``N_z``: a thread holds the values of all exogenous states of a grid point."""

RULES = {"change": 0, "spans": 1}
"""Stopping rules: values of the macro ``RULE`` of ``sweeps.cu``."""


def check_states(states: int) -> None:
    """Raise ``ValueError`` if there are more ``states`` than a thread can hold."""
    if states > STATES_LIMIT:
        raise ValueError(f"a CUDA device solves problems of at most {STATES_LIMIT} exogenous states, not {states}")


def kind_of(etas: Sequence[float]) -> int:
    """Return the macro ``ETA`` of the kernels: 2 or 1 if all ``etas`` are that, 0 if none is 1 or 2, otherwise 3."""
    kinds = {2 if eta == 2.0 else 1 if eta == 1.0 else 0 for eta in set(etas)}
    return kinds.pop() if len(kinds) == 1 else 3


@functools.cache
def _source(name: str) -> str:
    """Return the text of a file of this folder."""
    return (Path(__file__).parent / name).read_text()


_compiling = threading.Lock()


def _module(*names: str, cooperative: bool = False, **macros: int) -> Any:
    """Compile ``common.cu`` and the files ``names`` as one module. No fused multiply-add, so that bits are those of
    processors.
    """
    options = ("-std=c++17", "-fmad=false", *(f"-D{name}={value}" for name, value in macros.items()))
    code = "".join(map(_source, ("common.cu", *names)))
    return cupy_module().RawModule(code=code, options=options, enable_cooperative_groups=cooperative)


@functools.cache
def sweeps_kernel(device: int, rule: int, eta: int, states: int, points: int, threads: int, resident: int) -> Any:
    """Return the kernel of the whole iteration (``sweeps.cu``), for threads that own at most ``points`` grid points."""
    with _compiling:
        module = _module(
            "sweeps_search.cu",
            "sweeps.cu",
            cooperative=True,
            RULE=rule,
            ETA=eta,
            NZ=states,
            POINTS=points,
            THREADS=threads,
            BLOCKS=resident,
            RESERVE=int(_reserve(states, points, threads, resident) > 0),
        )
        kernel = module.get_function("sweeps")
    kernel.max_dynamic_shared_size_bytes = room()
    return kernel


def shared_bytes(states: int, points: int, threads: int, resident: int) -> int:
    """Return the bytes of shared memory of a block of ``sweeps.cu``."""
    square = (states * states + 1) // 2 * 2
    measures = 2 * states + 2
    common = 8 * (square + (threads // 32 + 1) * measures + states * (states + 1))
    return common + _reserve(states, points, threads, resident)


def _reserve(states: int, points: int, threads: int, resident: int) -> int:
    """Return the bytes of shared memory for cached utilities two choices away; 0 if they do not fit."""
    size = 16 * points * states * threads
    return size if points * states <= 32 and size * resident <= 2**17 else 0


@functools.cache
def exact_kernels(device: int, eta: int) -> tuple[Any, Any, Any]:
    """Return the kernels ``expectation``, ``level`` and ``evaluate`` of ``exact.cu``."""
    with _compiling:
        module = _module("exact.cu", ETA=eta)
        return module.get_function("expectation"), module.get_function("level"), module.get_function("evaluate")


def argument(row: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Turn a structure into an argument of a kernel, without field names, which CuPy would read at each launch."""
    return row.view(np.dtype((np.void, row.itemsize)))


@functools.cache
def confirm_kernels(device: int, eta: int) -> dict[str, Any]:
    """Return the kernels of ``confirm.cu`` by name."""
    with _compiling:
        module = _module("confirm.cu", ETA=eta)
        return {name: module.get_function(name) for name in ("survey", "gather", "confirm", "mend", "conclude")}


@functools.cache
def start_kernels(device: int, eta: int, states: int, per: int) -> tuple[Any, ...]:
    """Return the kernels ``stay``, ``smooth``, ``draw``, ``judge`` and ``redo`` of ``coarse.cu``."""
    with _compiling:
        module = _module("coarse.cu", ETA=eta, NZ=states, PER=per)
        stay, smooth, *others = map(module.get_function, ("stay", "smooth", "draw", "judge", "redo"))
    smooth.max_dynamic_shared_size_bytes = room()
    return stay, smooth, *others


@functools.cache
def extremes_kernels(device: int) -> tuple[Any, Any]:
    """Return the kernels ``extremes`` and ``least`` of ``extremes.cu``."""
    with _compiling:
        module = _module("extremes.cu", ETA=2)
        return module.get_function("extremes"), module.get_function("least")


@functools.cache
def ages_kernel(device: int, eta: int, states: int, threads: int) -> Any:
    """Return the kernel of a finite horizon (``ages.cu``)."""
    with _compiling:
        module = _module("ages.cu", cooperative=True, ETA=eta, NZ=states, THREADS=threads)
        kernel = module.get_function("ages")
    kernel.max_dynamic_shared_size_bytes = room()
    return kernel


@functools.cache
def general_kernel(device: int, eta: int, threads: int, team: bool) -> tuple[Any, int]:
    """Return the kernel of a general problem (``general.cu``), and how many of its blocks fit on a multiprocessor.

    ``team`` is whether several blocks share an exogenous state.
    """
    with _compiling:
        module = _module(
            "general_block.cu",
            "general_tables.cu",
            "general_column.cu",
            "general_roundings.cu",
            "general.cu",
            cooperative=True,
            ETA=eta,
            THREADS=threads,
            TEAM=int(team),
        )
        kernel = module.get_function("general")
    kernel.max_dynamic_shared_size_bytes = room() - kernel.shared_size_bytes
    most = cupy_module().cuda.Device(device).attributes["MaxThreadsPerMultiProcessor"]
    return kernel, max(1, min(most // threads, 65_536 // (threads * max(1, kernel.num_regs))))
