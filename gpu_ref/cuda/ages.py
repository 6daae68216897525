"""Solve a finite horizon on a CUDA device, all ages in one launch (``ages.cu``)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from beltline.gpu_ref.cuda.device import Clock, fetch, processors, ready, refuse, room
from beltline.gpu_ref.cuda.device_tables import Tables, memory
from beltline.gpu_ref.cuda.exact_sweeps import Exact
from beltline.gpu_ref.cuda.kernels import ages_kernel, check_states, exact_kernels, kind_of
from beltline.gpu_ref.cuda.layout import Layout
from beltline.gpu_ref.methods import check_arguments


def solve_ages(
    X: ArrayLike,
    W: ArrayLike,
    Q: ArrayLike,
    V0: ArrayLike,
    beta: float,
    eta: float,
    ages: int,
    *,
    device: int = 0,
) -> tuple[np.ndarray[Any, np.dtype[np.float64]], np.ndarray[Any, np.dtype[np.int32]], dict[str, float]]:
    """Solve a finite horizon on a CUDA device, all ages in one launch; ``V0`` is the value after the last age.

    If single peaks are in doubt at some age, all ages are solved once more by divide and conquer. Other
    arguments and errors as for :func:`solve`.

    Returns
    -------
    value, policy
        ``(ages, N_k, N_z)``, ``float64`` and ``int32``, the first age first.
    seconds
        Time of the parts.
    """
    arguments = check_arguments(X, W, Q, V0, beta, eta, 0.0, ages, "warm", {})
    points, states = arguments.W.shape
    check_states(states)
    cupy = ready()
    with cupy.cuda.Device(device):
        span = math.ceil(points / min(processors(cupy), points))
        blocks = math.ceil(points / span)
        shared = 8 * ((states * states + 1) // 2 * 2 + span * states)
        if shared > room():
            raise ValueError(
                f"a CUDA device solves ages of at most {room() // 8 * blocks} states, not {points * states}"
            )
        threads = min(512, 32 * math.ceil(span * states / 32))
        kernel = ages_kernel(device, kind_of([eta]), states, threads)
        exact_kernels(device, kind_of([eta]))
        refuse(cupy, memory(points, states) + (12 * ages + 8) * points * states)
        clock = Clock(cupy)
        clock.restart()
        tables = Tables(cupy, [arguments], Layout(threads, 1, blocks, 1, 1, span), previous=False, near=True)
        expectations = cupy.empty((3, states, points))
        values = cupy.empty((ages, points, states))
        policies = cupy.empty((ages, points, states), dtype=np.int32)
        clock.lap("allocate")
        tables.load()
        tables["V0"][0].set(arguments.V0)
        clock.lap("load")
        sizes = np.int32(points), np.int32(span), np.int32(blocks), np.int32(ages)
        kernel(
            (blocks,),
            (threads,),
            (tables.rows, *sizes, tables.addresses["words"], expectations, values, policies),
            shared_mem=shared,
        )
        clock.lap("solve")
        in_doubt = bool(tables["outcome"].get()[0, 3])
        clock.lap("read")
        if in_doubt:
            exact = Exact(cupy, arguments, tables["X"][0], tables["W"][0], tables["Q"][0])
            following = tables["V0"][0]
            for age in range(ages - 1, -1, -1):
                values[age], policies[age] = exact.maximise(following)
                following = values[age]
            clock.lap("solve")
        found = fetch(values), fetch(policies)
        clock.lap("read")
    return *found, clock.seconds
