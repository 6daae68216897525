"""Kills and signals at random times: nothing that was there is lost, and nothing is left behind."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import beltline as bl
from beltline.sim.ctrl_c import ENDING
from support.fakes import problem
from support.files import content, small
from support.paths import ROOT, TESTS

SIGNALS = (signal.SIGINT, *ENDING, signal.SIGKILL)

LATEST = 0.5
"""Longest time in seconds from the beginning of the work to the signal."""

SAVES = """
old, new = bl.load(folder / "old.npz"), bl.load(folder / "new.npz")
print("now", flush=True)
while True:
    new.save(folder / KIND)
    old.save(folder / KIND)
"""

SOLVES = """
from beltline.host.cli.main import main
from beltline.host.cli.interrupts import begin_work
from beltline.host.devices import DEVICES
from beltline.host.models import catalogue
from beltline.host.solver.run import Checkpoint
from support.fakes import backend, problem, slow_model
DEVICES["emulator"] = backend(lambda parameters: slow_model(50, 3))
catalogue.made = lambda *_: problem(50, 3)
Checkpoint.__init__.__defaults__ = (0.02, False)
print("now", flush=True)
files = ["--checkpoint", str(folder / "run.npz"), "--out", str(folder / "out.npz")]
sys.exit(main(["solve", "rbc", "--device", "emulator", "--quiet", *files]))
"""

STORES = """
from support.batches import TOL, many
attempts = bl.solve_many(many(40), TOL, device="emulator", store=folder / "runs", progress=False)
print("now", flush=True)
for attempt in attempts:
    print(attempt.key, flush=True)
"""


def run(
    folder: Path, script: str, by: signal.Signals, seconds: float, watched: Path, **names: str
) -> tuple[int, str, list[str], bool]:
    """Run a script, and send it a signal after its work has begun.

    Returns exit code, errors, the words that it printed, and whether the file ``watched`` was there before the signal.
    """
    begin = f"import sys\nfrom pathlib import Path\nimport beltline as bl\nfolder = Path({str(folder)!r})\n"
    text = begin + "".join(f"{name} = {value!r}\n" for name, value in names.items()) + script
    process = subprocess.Popen(
        [sys.executable, "-c", text],
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(TESTS)))},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "now\n"
    time.sleep(seconds)
    there = watched.exists()
    process.send_signal(by)
    out, said = process.communicate(timeout=300)
    return process.returncode, said, out.split(), there


def parts(folder: Path) -> list[str]:
    """Return the names of temporary files below a folder."""
    return [name for _, _, names in os.walk(folder) for name in names if name.endswith(".part")]


def ended(code: int, said: str, by: signal.Signals) -> bool:
    """Return whether a process ended as it should on a signal, or before it by itself."""
    last = said.strip().rpartition("\n")[2]
    if by == signal.SIGINT:
        # Without a word if it arrived at the end of the interpreter.
        return last.startswith("KeyboardInterrupt") or (code == -by and not said) or code in (0, 128 + by)
    return code in (-by, 0, *([128 + by] if by in ENDING else []))


def save(folder: Path, rng: random.Random, by: signal.Signals) -> list[str]:
    """Kill a process that saves; return what is wrong."""
    old, name = small(), rng.choice(["a.npz", "a.nc"])
    new = replace(old, message="Another.")
    for result, file in ((old, "old.npz"), (new, "new.npz"), (old, name)):
        result.save(folder / file)
    code, said, _, _ = run(folder, SAVES, by, rng.uniform(0.0, LATEST), folder / name, KIND=name)
    wrong = [] if ended(code, said, by) else [f"ended by {code}: {said[-300:]}"]
    kind = name.rpartition(".")[2]
    if content(kind, folder / name, old) not in [content("npz", folder / f"{one}.npz", old) for one in ("old", "new")]:
        wrong.append("neither old nor new")
    return wrong + left(folder, by, lambda: old.save(folder / name))


def left(folder: Path, by: signal.Signals, write: Callable[[], object]) -> list[str]:
    """Return what is wrong with what is left: nothing may be after a signal, nor after the next write."""
    wrong = [f"left: {parts(folder)}"] if by != signal.SIGKILL and parts(folder) else []
    write()
    return wrong + [f"left after the next write: {part}" for part in parts(folder)]


def solve(folder: Path, rng: random.Random, by: signal.Signals) -> list[str]:
    """Kill a solve on the command line with a checkpoint; return what is wrong."""
    saved, out = folder / "run.npz", folder / "out.npz"
    # A state is saved every 20 ms.
    code, said, _, there = run(folder, SOLVES, by, rng.uniform(0.0, 3 * LATEST), saved)
    wrong = [] if ended(code, said, by) else [f"ended by {code}: {said[-300:]}"]
    given = problem(50, 3)
    if there and not saved.exists() and not out.exists():
        wrong.append("neither checkpoint nor result")
    whole = bl.solve(given, device="emulator", progress=False)
    if saved.exists():
        found = bl.solve(given, device="emulator", checkpoint=saved, progress=False)
        wrong += [] if (found.value == whole.value).all() else ["other bits"]
    if out.exists():
        wrong += [] if (bl.load(out).value == whole.value).all() else ["other bits in the result"]
    return wrong + left(folder, by, lambda: whole.save(out))


def fill(folder: Path, rng: random.Random, by: signal.Signals) -> list[str]:
    """Kill a batch with a store; return what is wrong."""
    code, said, keys, _ = run(folder, STORES, by, rng.uniform(0.0, 2 * LATEST), folder)
    wrong = [] if ended(code, said, by) else [f"ended by {code}: {said[-300:]}"]
    store = bl.Store(folder / "runs")
    wrong += [f"lost {key}" for key in keys if len(key) == 64 and key not in store]
    wrong += [f"{key} has no success" for key in map(str, store.keys()) if not store.load(key).success]

    def write() -> None:
        with store.writing():
            assert len(store.index()) == len(store)

    return wrong + left(folder, by, write)


TASKS = (save, solve, fill)


def kills(folder: Path, count: int, seed: int) -> dict[str, Any]:
    """Kill ``count`` processes, and return how many of each kind, and what was wrong."""
    rng = random.Random(seed)
    found: Counter[str] = Counter()
    wrong: list[Any] = []
    for number in range(count):
        task, by = TASKS[number % len(TASKS)], SIGNALS[number // len(TASKS) % len(SIGNALS)]
        place = folder / str(number)
        place.mkdir()
        bad = task(place, rng, by)
        found[f"{task.__name__} {by.name}"] += 1
        if bad:
            wrong.append([number, task.__name__, by.name, *bad])
        shutil.rmtree(place)
    return {"processes": count, **found, "wrong": wrong}
