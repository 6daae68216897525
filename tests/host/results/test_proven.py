"""Whether a machine has proven its choices: in results of all forms, their reports and their files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import beltline as bl
from beltline.host.results import record
from support.alternatives import with_alternatives
from support.costs import with_cost

MACHINE: dict[str, Any] = {"device": "emulator", "lanes": 2}


def solved(problem: bl.Problem, **options: Any) -> Any:
    return bl.solve(problem, tol=1e-4, progress=False, **options)


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    growth = bl.rbc(grid=32)
    return {
        "simple": solved(growth, **MACHINE),
        "costs": solved(with_cost("jumps", 3, 30), **MACHINE, general=1),
        "alternatives": solved(with_alternatives("retirement", 3, 30), **MACHINE, general=1),
        "line": solved(growth, device="emulator"),
        "processor": solved(growth, device="cpu"),
    }


PROVEN = {"simple": True, "costs": True, "alternatives": True, "line": False, "processor": False}


@pytest.mark.parametrize("name", PROVEN)
def test_reported(results: dict[str, Any], name: str) -> None:
    assert results[name].success
    assert results[name].proven is PROVEN[name]
    assert ("has proven every choice" in str(results[name])) is PROVEN[name]


@pytest.mark.parametrize("name", PROVEN)
def test_in_files(results: dict[str, Any], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = results[name].save(tmp_path / "result.npz")
    assert bl.load(path).proven is PROVEN[name]
    # A file of an earlier version does not have it.
    monkeypatch.delitem(record.RESULT, "proven")
    path = results[name].save(tmp_path / "earlier.npz")
    monkeypatch.undo()
    assert bl.load(path).proven is False


def test_a_run_that_ends_at_its_limit_has_proven_its_last_sweep_but_did_not_converge() -> None:
    found = solved(bl.rbc(grid=32), **MACHINE, max_sweeps=7)
    assert (found.success, found.proven) == (False, True)
