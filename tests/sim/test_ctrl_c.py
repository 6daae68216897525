"""Ctrl-C while compiled code runs, or returns its results."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import beltline as bl
from beltline.sim.ctrl_c import AGAIN_SECONDS, ENDING, interrupt, interruptible
from support.paths import ROOT


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


IMPORTING = """
import os, signal, sys, threading
import beltline as bl

class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == "numba.core.types" and sys.meta_path[0] is self:
            sys.meta_path.pop(0)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupts())
try:
    bl.solve(bl.rbc(grid=16), progress=False)
except KeyboardInterrupt:
    print("interrupted", bl.solve(bl.rbc(grid=16), progress=False).success)
"""


def test_an_interrupt_while_numba_is_imported_leaves_no_half_of_it() -> None:
    ended = subprocess.run([sys.executable, "-c", IMPORTING], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.stderr) == ("interrupted True\n", "")


def test_an_import_around_the_work_does_not_defer_an_interrupt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "script_that_solves.py").write_text(
        "import os, signal, time\nfrom beltline.sim.ctrl_c import handling\n"
        "with handling():\n    os.kill(os.getpid(), signal.SIGINT)\n    time.sleep(10)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        importlib.import_module("script_that_solves")
    assert time.monotonic() - begin < 5.0


TERMINATED = """
import os, signal, sys
import beltline as bl
from beltline.host.solver import checked

checked.POLL_SECONDS = 0.01

def progress(line):
    if line.startswith("sweep"):
        os.kill(os.getpid(), int(sys.argv[3]))

with bl.Session("emulator") as session:
    solve = session.solve if sys.argv[2] == "session" else bl.solve
    options = {} if sys.argv[2] == "session" else {"device": "emulator"}
    solve(bl.rbc(grid=512), progress=progress, checkpoint=sys.argv[1], **options)
print("too late")
"""


@pytest.mark.parametrize("number", ENDING)
@pytest.mark.parametrize("face", ["solve", "session"])
def test_a_signal_that_ends_the_process_saves_a_checkpoint_before(tmp_path: Path, face: str, number: int) -> None:
    path = tmp_path / "run.npz"
    command = [sys.executable, "-c", TERMINATED, str(path), face, str(number)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (-number, "", "")
    assert os.listdir(tmp_path) == ["run.npz"]
    result = bl.solve(bl.rbc(grid=512), device="emulator", checkpoint=path)
    assert (result.value == bl.solve(bl.rbc(grid=512), device="emulator").value).all()


IGNORED = """
import os, signal, sys
from beltline.host.results.files import replacing

signal.signal(signal.SIGHUP, signal.SIG_IGN)
with replacing(Path(sys.argv[1])) as file:
    os.kill(os.getpid(), signal.SIGHUP)
    file.write(b"whole")
"""


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="this system has no SIGHUP")
def test_a_process_under_nohup_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    subprocess.run([sys.executable, "-c", f"from pathlib import Path{IGNORED}", str(path)], cwd=ROOT, check=True)
    assert path.read_text() == "whole"


TWICE = """
import os, signal, sys
from beltline.sim.ctrl_c import ENDING, handling

with handling():
    try:
        os.kill(os.getpid(), ENDING[-1])
    finally:
        for number in (*ENDING, *ENDING):
            os.kill(os.getpid(), number)
        print("cleaned", flush=True)
"""


def test_further_signals_to_end_do_not_interrupt_what_the_first_has_begun() -> None:
    ended = subprocess.run([sys.executable, "-c", TWICE], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.stdout == "cleaned\n"
    assert -ended.returncode in ENDING
