"""Ctrl-C while compiled code runs, or returns its results."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from types import FrameType
from typing import Any

import numpy as np
import pytest

import beltline as bl
from beltline.host.solver.ctrl_c import AGAIN_SECONDS, interrupt, interruptible


def _numba_unpickle(number: int) -> FrameType:
    """Return the frame of a function called as the one that compiled code calls."""
    assert number
    return sys._getframe()


def test_an_interrupt_in_a_callback_of_compiled_code_arrives_later() -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupt(signal.SIGINT, sys._getframe())
    with pytest.raises(KeyboardInterrupt):
        interrupt(signal.SIGINT, None)

    @interruptible
    def waiting() -> float:
        begin = time.monotonic()
        interrupt(signal.SIGINT, _numba_unpickle(1))
        try:
            time.sleep(10.0)
        except KeyboardInterrupt:
            return time.monotonic() - begin
        raise AssertionError("no interrupt arrived")

    assert AGAIN_SECONDS / 2 < waiting() < 5.0
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_another_handler_remains() -> None:
    heard = []
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        interruptible(lambda: os.kill(os.getpid(), signal.SIGINT))()
        assert heard == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)
    # Handlers belong to the main thread.
    found: list[Any] = []
    thread = threading.Thread(target=interruptible(lambda: found.append(signal.getsignal(signal.SIGINT))))
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]


def test_ctrl_c_at_any_moment_of_a_solve() -> None:
    states = 60
    grid = np.linspace(0.1, 50.0, 400)
    wealth = grid[:, None] + np.linspace(1.0, 2.0, states)
    problem = bl.Problem(
        grid=grid,
        wealth=wealth,
        transition=np.full((states, states), 1.0 / states),
        start=np.zeros(wealth.shape),
        beta=0.999,
        eta=2.0,
        alternatives=[bl.Alternative(name="a"), bl.Alternative(name="b", wealth=1.02 * wealth - 0.3)],
    )
    bl.solve(problem, max_sweeps=1, progress=False)
    for press in range(5):
        timer = threading.Timer(0.1 + 0.05 * press, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            bl.solve(problem, tol=1e-13, max_sweeps=100_000, progress=False)
        timer.join()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
