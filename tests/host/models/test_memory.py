"""Models whose tables do not fit into the memory are refused before the tables are made."""

from __future__ import annotations

import re
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import beltline as bl
from beltline.gpu_ref import memory as memory_of_computer
from beltline.host.problem import memory
from support.paths import ROOT

TOO_LARGE: dict[str, tuple[Callable[..., Any], dict[str, Any], str]] = {
    "rbc": (bl.rbc, {"grid": 2**20, "states": 1024}, "grid = 1,048,576 with states = 1,024 needs 56.00 GiB"),
    "life cycle": (bl.life_cycle, {"grid": 2**20, "states": 1024}, "grid = 1,048,576 with states = 1,024 needs "),
    "aiyagari": (bl.aiyagari, {"grid": 2**20, "states": 512}, "grid = 1,048,576 with states = 512 needs 32.00 GiB"),
    "path": (bl.aiyagari_path, {"grid": 2**20, "states": 512}, "grid = 1,048,576 with states = 512 needs "),
    "types": (bl.aiyagari_types, {"grid": 2**20, "states": 512}, "grid = 1,048,576 with states = 512 needs "),
    "arellano": (bl.arellano, {"bonds": 2**20 - 1, "incomes": 1024}, "bonds = 1,048,575 with incomes = 1,024 needs "),
    "firms": (bl.hopenhayn_rogerson, {"grid": 10**6, "states": 1000}, "grid = 1,000,000 with states = 1,000 needs "),
    "lumpy investment": (bl.lumpy_investment, {"steps": 5000, "states": 1024}, "points = 539,065 with states = 1,024 "),
    "cohort": (bl.cohort, {"grid": 10**6, "states": 64}, "grid = 1,000,000 with states = 64 and ages = 80 needs "),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_what_does_not_fit_is_refused_at_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("beltline.gpu_ref.memory.available", lambda: 2**34)
    make, sizes, sentence = TOO_LARGE[name]
    tracemalloc.start()
    try:
        with pytest.raises(bl.ProblemError, match=f"^{re.escape(sentence)}") as refused:
            make(**sizes)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert re.search(r" GiB, more than the 15\.75 GiB that this process can have$", str(refused.value))
    assert most < 2**26


def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, files: dict[str, str]) -> None:
    """Put control groups in place of those of this process."""
    for name, value in {**files, "process/cgroup": path + "\n", "process/statm": "1 1 1 1 1 1 1"}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(value)
    monkeypatch.setattr(memory_of_computer, "PROCESS", tmp_path / "process")
    monkeypatch.setattr(memory_of_computer, "CGROUPS", tmp_path / "mount")


STAT = "anon 5\ninactive_file 1000\ntotal_inactive_file 2000\n"


@pytest.mark.parametrize(
    ("path", "version", "limited"),
    [
        ("0::/a/b", 2, "a/b"),
        ("0::/a/b", 2, "a"),
        # As a container sees it that is given its own group alone, by either version.
        ("0::/", 2, ""),
        ("0::/outside/of/it", 2, ""),
        ("7:blkio:/x\n4:memory:/a/b\n0::/c", 1, "a/b"),
        ("4:memory:/docker/outside", 1, ""),
    ],
)
def test_the_limit_of_a_container_counts(
    path: str, version: int, limited: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = memory_of_computer.available()
    limit, usage, cached = (memory_of_computer.V1, memory_of_computer.V2)[version - 1]
    mount = "mount/memory" if version == 1 else "mount"
    unlimited = {"mount/a/memory.max": "max", "mount/a/b/memory.max": "max", "mount/a/memory.current": "9"}
    files = {f"{mount}/{limited}/{limit}": "4000000", f"{mount}/{limited}/{usage}": "1000000"}
    files[f"{mount}/{limited}/memory.stat"] = STAT
    groups(tmp_path, monkeypatch, path, {**unlimited, **files})
    expected = 3_000_000 + {"inactive_file": 1000, "total_inactive_file": 2000}[cached]
    assert memory_of_computer.available() == expected < whole
    for name in files:
        (tmp_path / name).unlink()
    assert memory_of_computer.available() > expected
    files[f"{mount}/{limited}/{limit}"] = "1000"
    groups(tmp_path, monkeypatch, path, files)
    # What is exceeded has nothing left, which is not the same as an unknown size.
    assert memory_of_computer.available() == 1


@pytest.mark.skipif(sys.platform != "linux", reason="no limits of address space are known here")
@pytest.mark.parametrize("limit", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_the_limit_of_a_process_counts(limit: str) -> None:
    code = (
        f"import resource\nfrom beltline.gpu_ref.memory import available\n"
        f"resource.setrlimit(resource.{limit}, (2**31, 2**31))\nprint(available())"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert 2**30 < int(done.stdout) < 2**31


def test_a_single_size_is_named_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("beltline.gpu_ref.memory.available", lambda: 2**28 + 1000)
    with pytest.raises(bl.ProblemError, match=r"^grid = 1,000,000 needs 0\.16 GiB, more than the 0\.00 GiB that this"):
        bl.retirement(grid=10**6)


MADE: dict[str, Callable[[], Any]] = {
    "rbc": lambda: bl.rbc(grid=4000, states=16),
    "life cycle": lambda: bl.life_cycle(grid=4000, states=16),
    "aiyagari": lambda: bl.aiyagari(grid=4000, states=16).problem(),
    "arellano": lambda: bl.arellano(bonds=4001, incomes=16).problem(),
    "firms": lambda: bl.hopenhayn_rogerson(grid=4000, states=16).problem(),
    "firms that exit after the shock": lambda: bl.hopenhayn_rogerson(grid=4000, states=16, exits="after").problem(),
    "lumpy investment": lambda: bl.lumpy_investment(steps=40, states=16).problem(),
    "retirement": lambda: bl.retirement(grid=60_000).problem(),
    "cohort": lambda: bl.cohort(grid=200, states=8).problem(),
    "cohort of many states": lambda: bl.cohort(grid=30, states=32).problem(),
}


@pytest.mark.parametrize("name", MADE)
def test_no_more_is_counted_than_a_model_allocates(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MADE[name]()
    counted: list[int] = []
    monkeypatch.setattr(memory, "check_memory", lambda needed, what: counted.append(needed))
    tracemalloc.start()
    try:
        MADE[name]()
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 0.6 * most <= counted[0] <= most
