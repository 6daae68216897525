"""Ctrl-C on the command line at any time: the exit code is 130, and one line is printed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from beltline.sim.ctrl_c import ENDING
from support.paths import ROOT

IMPORTING = """
import sys, time
from beltline.__main__ import run

class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == WANTED:
            print("now", flush=True)
            time.sleep(SECONDS)

sys.meta_path.insert(0, Slow())
sys.argv = ["beltline", *ARGUMENTS]
sys.exit(run())
"""

LOST = """
import sys, time, weakref
from beltline.host.cli import interrupts, main
from beltline.__main__ import run

class Kept:
    pass

def called_back(_):
    print("now", flush=True)
    time.sleep(120)

def work(given):
    interrupts.begin_work()
    kept = Kept()
    reference = weakref.ref(kept, called_back)
    # Python prints what a callback raises, and goes on.
    del kept
    time.sleep(120)
    return 0

main.COMMANDS["devices"] = (*main.COMMANDS["devices"][:-1], work)
sys.argv = ["beltline", "devices"]
sys.exit(run())
"""

AT_EXIT = """
import atexit, sys, time
from beltline.__main__ import run

def end():
    print("now", flush=True)
    time.sleep(120)

atexit.register(end)
sys.argv = ["beltline", "--version"]
sys.exit(run())
"""


def interrupted(program: str, by: int = signal.SIGINT, **names: object) -> tuple[int, str]:
    """Run a program until it prints ``now``, send a signal, and return its exit code and its error output."""
    text = "".join(f"{name} = {value!r}\n" for name, value in names.items()) + program
    process = subprocess.Popen(
        [sys.executable, "-c", text],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        while (line := process.stdout.readline()) != "now\n":
            assert line, process.communicate()[1]
        process.send_signal(by)
        said = process.communicate(timeout=60)[1]
    finally:
        process.kill()
        process.wait()
    return process.returncode, said


@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("beltline.host.cli.main", ["--help"]),
        ("numba", ["solve", "--help"]),
        ("beltline.host.models.catalogue", ["solve", "--grid", "16"]),
        ("beltline.host.devices.inventory", ["devices"]),
    ],
)
def test_while_modules_load(module: str, arguments: list[str]) -> None:
    assert interrupted(IMPORTING, WANTED=module, ARGUMENTS=arguments, SECONDS=120) == (130, "beltline: interrupted\n")


def test_while_modules_load_in_the_middle_of_work() -> None:
    # The module of the device, which the program imports when it runs. The import is not left half done.
    arguments = ["solve", "--grid", "16", "--quiet", "--device", "emulator"]
    found = interrupted(IMPORTING, WANTED="beltline.hw.top.engine_table", ARGUMENTS=arguments, SECONDS=2)
    assert found == (130, "beltline solve: interrupted\n")


def test_an_exception_lost_in_a_callback_is_raised_again() -> None:
    assert interrupted(LOST) == (130, "beltline devices: interrupted\n")
    for number in ENDING:
        assert interrupted(LOST, number) == (128 + number, "beltline devices: terminated\n")


def test_at_the_end_of_the_interpreter_the_exit_code_stays() -> None:
    assert interrupted(AT_EXIT) == (0, "")
    for number in ENDING:
        assert interrupted(AT_EXIT, number) == (0, "")
