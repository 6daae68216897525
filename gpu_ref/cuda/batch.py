"""Solve many problems of one shape, side by side on one CUDA device or several."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from typing import Any

from beltline.gpu_ref.cuda.device import ready
from beltline.gpu_ref.cuda.kernels import check_states
from beltline.gpu_ref.cuda.layout import Layout
from beltline.gpu_ref.cuda.start import with_guess
from beltline.gpu_ref.cuda.sweeps import solutions_in_turn
from beltline.gpu_ref.methods import Arguments, Solution, check_arguments

BATCHED = ("warm", "shift")
"""Methods that :func:`solve_batch` supports."""


def solve_batch(
    problems: Sequence[Sequence[Any]],
    epsilon: float,
    max_sweeps: int = 100_000,
    method: str = "shift",
    *,
    devices: Sequence[int] | None = None,
    plan: Layout | None = None,
    previous: bool = False,
    checked: bool = False,
    contractions: Sequence[float] | None = None,
    seen: Callable[[int, Solution], None] | None = None,
    **options: Any,
) -> list[Solution]:
    """Solve many problems of one shape, on each device in one launch, or a few if results are large.

    Parameters
    ----------
    problems
        Tuples ``(X, W, Q, V0, beta, eta)``, see :mod:`beltline.gpu_ref`; all with the same ``N_k`` and ``N_z``.
    epsilon, max_sweeps, options
        As in :func:`solve`, the same for all.
    method
        One of :data:`BATCHED`.
    devices
        Numbers of the CUDA devices that share the batch, by default all. Problems are assigned to them in turn.
    plan
        How to distribute problems over a device; by default chosen by :func:`layout`.
    previous
        Whether to return :attr:`~beltline.gpu_ref.methods.Solution.previous` too.
    checked
        As in :func:`solve`, for all problems.
    contractions
        ``contraction`` of :func:`solve` for each problem, if results are to be compared.
    seen
        Called with the number of each problem and its solution as soon as there is one, while the device solves others,
        in a thread for each device. It must not launch work on the device that other work there would wait for.

    Returns
    -------
    list of Solution
        In the order of ``problems``. ``seconds`` are an equal share of the time of the problem's device; devices work
        at the same time.

    Raises
    ------
    ValueError, MemoryError, RuntimeError
        As :func:`solve`.
    """

    def check(problem: Sequence[Any]) -> Arguments:
        X, W, Q, V0, beta, eta = problem
        given = check_arguments(X, W, Q, V0, beta, eta, epsilon, max_sweeps, method, options, checked=checked)
        return with_guess(given)

    # Each check of large tables uses all threads.
    arguments = list(map(check, problems))
    if not arguments:
        return []
    shape = arguments[0].W.shape
    for i, one in enumerate(arguments):
        if one.W.shape != shape:
            raise ValueError(f"problems of a batch must have one shape, but {one.W.shape} of {i} is not {shape}")
    if method not in BATCHED:
        raise ValueError(f"method of a batch must be {' or '.join(map(repr, BATCHED))}, not {method!r}")
    check_states(shape[1])
    cupy = ready()
    numbers = list(devices) if devices is not None else list(range(cupy.cuda.runtime.getDeviceCount()))
    if not numbers:
        raise ValueError(f"devices must list the numbers of at least one CUDA device, not {devices!r}")
    results: list[Solution | None] = [None] * len(arguments)
    failures: list[BaseException] = []

    def work(turn: int) -> None:
        try:
            own = range(turn, len(arguments), len(numbers))
            if own:
                with cupy.cuda.Device(numbers[turn]):
                    moduli = None if contractions is None else [contractions[i] for i in own]
                    given = [arguments[i] for i in own]
                    with contextlib.closing(solutions_in_turn(cupy, given, plan, previous, moduli)) as found:
                        for i, one in zip(own, found, strict=True):
                            results[i] = one
                            if seen is not None:
                                seen(i, one)
        except BaseException as error:  # Raised again below, in the caller's thread.
            failures.append(error)

    threads = [threading.Thread(target=work, args=(turn,)) for turn in range(len(numbers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return [solution for solution in results if solution is not None]
