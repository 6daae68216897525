"""Solves that name no device: the device chosen, problems refused, and the replacement of a device that fails."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import beltline as bl
from beltline.gpu_ref import cpu
from beltline.gpu_ref.methods import Solution
from beltline.host.devices import DEVICES, f2, pynq
from beltline.host.devices.base import Backend, DeviceInUseError
from beltline.host.solver.options import GPU_STATES, boards, ways, without_gpu
from beltline.host.solver.solve import ProcessorSession
from support.fakes import BruteDevice
from support.paths import ROOT

GIVEN = bl.rbc(grid=64, states=2)


def test_the_processor_solves_and_says_why() -> None:
    result = bl.solve(GIVEN, progress=False)
    assert (result.success, result.verified, result.device, result.method) == (True, True, "cpu", "mpi")
    assert result.chosen.startswith("cpu, mpi (start=coarse): chosen because policies evaluated along their paths ")
    assert "\n  chosen        cpu, mpi " in str(result)
    machine = bl.solve(GIVEN, device="emulator", progress=False)
    assert machine.chosen == ""
    assert "chosen" not in str(machine)
    assert np.abs(result.value - machine.value).max() <= result.error_bound + machine.error_bound


@pytest.mark.parametrize(("changes", "method"), [({"beta": 0.5}, "mpi"), ({"horizon": 3}, "warm")])
def test_rules(changes: dict[str, Any], method: str) -> None:
    given = replace(GIVEN, **changes)
    result = bl.solve(given, progress=False)
    assert (result.method, result.success, result.verified) == (method, True, True)
    exact = bl.solve(given, device="emulator", progress=False)
    assert np.abs(result.value - exact.value).max() <= result.error_bound + exact.error_bound


def test_a_method_that_is_named_is_taken() -> None:
    result = bl.solve(GIVEN, method="shift", start="stay", progress=False)
    assert (result.device, result.method) == ("cpu", "shift")
    assert result.chosen.startswith("cpu, shift: the method was named; ")
    assert bl.solve(GIVEN, device="cpu", method="auto", progress=False).method == "mpi"


@pytest.mark.parametrize("horizon", [None, 3])
@pytest.mark.parametrize("beta", [0.5, 0.95])
def test_naming_the_device_changes_no_choice(beta: float, horizon: int | None) -> None:
    given = replace(GIVEN, beta=beta, horizon=horizon)
    ours, theirs = (bl.solve(given, device=device, progress=False) for device in ("auto", "cpu"))
    assert (ours.method, ours.sweeps) == (theirs.method, theirs.sweeps)
    np.testing.assert_array_equal(ours.value, theirs.value)
    assert theirs.chosen
    assert ours.chosen.startswith(theirs.chosen)


def test_another_method_takes_the_place_of_one_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    solve = cpu.solve

    def failing(*arguments: Any, method: str, **more: Any) -> Solution:
        found = solve(*arguments, method=method, **more)
        return replace(found, converged=False, residual=1.0) if method in ("mpi",) else found

    monkeypatch.setattr(cpu, "solve", failing)
    result = bl.solve(GIVEN, progress=False)
    assert (result.method, result.success, result.verified) == ("warm", True, True)
    assert "Method 'warm' replaced 'mpi', which had failed" in result.message

    def all_fail(*arguments: Any, method: str, **more: Any) -> Solution:
        return replace(solve(*arguments, method=method, **more), converged=False, residual=1.0)

    monkeypatch.setattr(cpu, "solve", all_fail)
    assert bl.solve(GIVEN, max_sweeps=900, progress=False).status == "sweep limit reached"
    assert bl.solve(GIVEN, progress=False).method == "brackets"


def board(make: Callable[..., Any]) -> Backend:
    return Backend("a board", lambda: "", make, {}, False, ready=lambda: [{}])


def test_a_board_that_is_ready_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DEVICES, "xdma", board(lambda *_: BruteDevice(64, 2)))
    result = bl.solve(GIVEN, tol=1e-6, progress=False)
    assert (result.device, result.success) == ("brute", True)
    assert result.chosen == "xdma: chosen because the board is present and free"
    with bl.open() as session:
        assert isinstance(session, bl.Session)
    [attempt] = bl.solve_many([GIVEN], tol=1e-6, progress=False)
    assert attempt.result is not None
    assert attempt.result.device == "brute"
    # A problem that is too large for the board, or a method that it does not have, is left to another device.
    large = bl.solve(bl.rbc(grid=65, states=2), progress=False)
    assert (large.device, large.success) == ("cpu", True)
    assert "xdma failed: the problem has 65 grid points" in large.chosen
    assert bl.solve(GIVEN, method="warm", progress=False).device == "cpu"


def test_a_board_in_use_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(*_: Any) -> Any:
        raise DeviceInUseError("device 'xdma' is in use")

    monkeypatch.setitem(DEVICES, "xdma", board(busy))
    result = bl.solve(GIVEN, progress=False)
    assert (result.device, result.success) == ("cpu", True)
    assert result.chosen.endswith("; xdma failed: device 'xdma' is in use")
    with bl.open() as session:
        assert isinstance(session, ProcessorSession)
    assert [one.success for one in bl.solve_many([GIVEN], progress=False)] == [True]


def test_boards_that_are_ready(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    for module in (pynq, f2):
        monkeypatch.setattr(module, "missing", lambda: "")
    there = f2.ResourceMap(0x1D0F, 0xF0BE, 0x1D51, 0xFEDC)
    monkeypatch.setattr(f2, "slots", lambda: [(0, f2.ResourceMap(0x1D0F, 0x9048)), (3, there)])
    monkeypatch.chdir(tmp_path)
    assert boards() == [("f2", {"slot": 3})]
    (tmp_path / "beltline.bit").touch()
    assert boards() == [("pynq", {}), ("f2", {"slot": 3})]


def test_slots_are_known_by_the_identity_that_the_build_has() -> None:
    text = (ROOT / "constraints" / "cl_id_defines.vh").read_text()
    first, second = re.findall(r"32'h(\w{4})_(\w{4})", text)
    assert [(int(vendor, 16), int(device, 16)) for device, vendor in (first, second)] == [f2.IDENTITY, f2.SUBSYSTEM]


def test_a_gpu_is_asked_where_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "cupy" else find(name))
    assert without_gpu(GIVEN) == "there is no GPU"
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object() if name == "cupy" else find(name))
    assert [way.method for way in ways(GIVEN, "gpu")] == ["shift", "mpi"]
    assert without_gpu(GIVEN) == f"a GPU saves time from {GPU_STATES:,} states, and this problem has 128"
    large = bl.rbc(grid=1024)
    assert "262,144" in without_gpu(large)
    started = SimpleNamespace(COMPILED={(1024, 4), (GIVEN.points, GIVEN.states)})
    monkeypatch.setitem(sys.modules, "beltline.gpu_ref.cuda.sweeps", started)
    monkeypatch.setattr("beltline.host.solver.options.no_gpu", lambda: "")
    assert without_gpu(large) == ""
    assert without_gpu(GIVEN) == "a GPU saves time from 4,096 states, and this problem has 128"


def test_sessions_on_processors() -> None:
    with bl.open() as session:
        first = session.solve(GIVEN, progress=False)
        again = session.solve(GIVEN, start="last", progress=False)
        assert (session.device, session.moved) == (None, ())
        with pytest.raises(bl.ProblemError, match=r"^timeout needs a device of the accelerator"):
            session.solve(GIVEN, timeout=3.0)
        with pytest.raises(
            bl.ProblemError, match=r"^start must be one of 'given', 'last', 'stay', 'coarse', not 'late'; did"
        ):
            session.solve(GIVEN, start="late")  # type: ignore[arg-type]
        assert bl.solve(GIVEN, device=session, progress=False).success
        assert [one.success for one in bl.solve_many([GIVEN], device=session, progress=False)] == [True]
    assert first.success
    assert again.success
    assert again.sweeps < first.sweeps / 10
    assert again.problem is GIVEN
    with pytest.raises(bl.DeviceError, match=r"^the session is closed$"):
        session.solve(GIVEN)
    with bl.open("cpu") as session:
        assert session.solve(GIVEN, method="shift", start="stay", progress=False).method == "shift"
        ages = session.solve(replace(GIVEN, horizon=2), start="last", progress=False)
        assert np.array_equal(ages.value, bl.solve(replace(GIVEN, horizon=2), device="cpu", progress=False).value)
    with pytest.raises(bl.ProblemError, match=r"^option 'lanes' needs a device that has it"):
        bl.open(lanes=4)
    with pytest.raises(bl.ProblemError, match=r"^bl\.open\('cpu'\) has no option 'start': it takes none$"):
        bl.open("cpu", start="stay")


def test_batches_choose_for_each_problem() -> None:
    given = [replace(GIVEN, beta=0.8), GIVEN]
    attempts = list(bl.solve_many(given, progress=False))
    methods = [attempt.result.method for attempt in attempts if attempt.result]
    assert methods == ["mpi", "mpi"] == [ways(problem)[0].method for problem in given]
    # A store keeps results of different methods apart.
    assert attempts[0].key != next(iter(bl.solve_many(given, method="warm", progress=False))).key
    # Naming the device changes nothing.
    assert [one.key for one in attempts] == [one.key for one in bl.solve_many(given, device="cpu", progress=False)]


def test_files_store_the_choice(tmp_path: Any) -> None:
    result = bl.solve(GIVEN, progress=False)
    assert bl.load(result.save(tmp_path / "a.npz")).chosen == result.chosen != ""


def test_economies_and_general_problems_take_the_processor() -> None:
    assert bl.solve(bl.retirement(grid=60, ages=3), device="auto", progress=False).solution.device == "cpu"
    economy = bl.solve(bl.aiyagari(grid=64, states=2), tol=1e-6, progress=False)
    assert economy.household.device == "cpu"
    with pytest.raises(bl.ProblemError, match=r"^option 'lanes' needs a device that has it"):
        bl.solve(bl.aiyagari(grid=64, states=2), lanes=2)
