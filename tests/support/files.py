"""Files of every kind that the package writes, for tests of full disks, crashes and damage."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import beltline as bl
from beltline.host.batch.store import Store
from beltline.host.solver.fixed_point import Image, fixed_point
from beltline.host.solver.run import Checkpoint, Saved
from support.fakes import BruteDevice, problem

KEY = "ab" + 62 * "0"


def small(points: int = 40) -> bl.Result:
    """Return a result that takes no time to compute."""
    return bl.solve(problem(points, 3, labels=("low", "mid", "high")), tol=1e-4, device=BruteDevice())


def image(result: bl.Result) -> Image:
    return fixed_point(result.problem, 1e-4)


def checkpoint(result: bl.Result, folder: Path) -> Path:
    rng = np.random.default_rng(3)
    shape = result.problem.wealth.shape
    value, policy = rng.integers(-(2**60), 2**60, shape), rng.integers(0, shape[0], shape)
    path = folder / "checkpoint.npz"
    Checkpoint(path).save(image(result), Saved(value, policy, 17, 17 * value.size, 123_456, 2**40))
    return path


def stored(result: bl.Result, folder: Path) -> Path:
    store = Store(folder / "store")
    with store.writing():
        store.put(KEY, result)
    return store.file(KEY)


WRITERS: dict[str, Callable[[bl.Result, Path], Path]] = {
    "npz": lambda result, folder: result.save(folder / "result.npz"),
    "nc": lambda result, folder: result.save(folder / "result.nc"),
    "checkpoint": checkpoint,
    "store": stored,
}
"""Functions that each write a file of one kind to a folder and return its path."""


def figure(result: bl.Result, folder: Path) -> Path:
    path = folder / "figure.png"
    result.plot(path)
    return path


def content(kind: str, path: Path, result: bl.Result) -> Any:
    """Read everything in a file of :data:`WRITERS`, as objects that can be compared."""
    if kind == "checkpoint":
        saved = Checkpoint(path).load(image(result))
        assert saved is not None
        return saved.value.tobytes(), saved.policy.tobytes(), saved.sweeps, saved.states_done, saved.clocks, saved.norm
    found = Store(path.parents[1]).load(KEY) if kind == "store" else bl.load(path)
    given = found.problem
    arrays = (found.value, found.policy, given.grid, given.wealth, given.transition, given.start)
    return [(array.shape, array.tobytes()) for array in arrays], str(found), given.labels, given.parameters
