"""Driver, verification and outcomes, on a device with the register map and a brute-force search."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

import beltline as bl
import beltline.host.solver.checked
import beltline.sim.progress
from beltline.gpu_ref.published.grid_search import sweep as brute_sweep
from beltline.host.devices import DeviceError
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Command, Status, Table
from beltline.hw.line.clocks import run_clocks
from support.fakes import (
    BruteDevice,
    EndlessDevice,
    HillDevice,
    SlowDevice,
    convex_kink,
    interrupt_main_after,
    problem,
)


def fixed_point_of(given: bl.Problem, sweeps: int) -> np.ndarray:
    value = given.start
    for _ in range(sweeps):
        value, _ = brute_sweep(given.grid, given.wealth, given.transition, value, given.beta, given.eta)
    return value


@pytest.mark.parametrize("eta", [0.5, 1.0, 2.0, 5.5])
@pytest.mark.parametrize("seed", range(3))
def test_solution_and_bound(seed: int, eta: float) -> None:
    given = problem(24, 3, seed, eta=eta)
    result = bl.solve(given, tol=1e-8, device=BruteDevice(32, 5))
    assert (result.success, result.status, result.verified) == (True, "converged", True)
    assert result.value.dtype == np.float64
    assert result.policy.dtype == np.int32
    assert result.value.shape == result.policy.shape == (24, 3)
    assert (result.choice == given.grid[result.policy]).all()
    exact = fixed_point_of(given, 400)
    error = np.abs(result.value - exact).max()
    assert error <= result.error_bound <= 1e-7
    assert result.change < result.tol
    assert result.residual <= given.modulus * result.change * (1 + 1e-6) + 1e-14
    _, policy = brute_sweep(given.grid, given.wealth, given.transition, result.value, given.beta, given.eta)
    assert (result.policy == policy).all()
    assert set(result.timing) == {"load", "solve", "read", "verify"}


def test_without_verification() -> None:
    given = bl.rbc(grid=24)
    result = bl.solve(given, device=BruteDevice(), verify=False)
    checked = bl.solve(given, device=BruteDevice())
    assert (result.success, result.verified) == (True, False)
    assert "of the device, not verified" in str(result)
    assert "verify" not in result.timing
    assert checked.residual <= result.residual <= 2 * checked.residual
    assert checked.error_bound <= result.error_bound * 1.001 <= 2 * checked.error_bound


@pytest.mark.parametrize(("points", "states", "block"), [(24, 3, 7), (24, 3, 1), (2, 1, 3), (64, 4, 256)])
def test_blocks(points: int, states: int, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    given = problem(points, states)
    whole = bl.solve(given, device=BruteDevice())
    monkeypatch.setattr(beltline.host.solver.checked, "BLOCK_WORDS", block)
    device = BruteDevice()
    parts = bl.solve(given, device=device)
    assert (parts.value == whole.value).all()
    assert (parts.policy == whole.policy).all()
    assert device.largest_block == min(block, 64 if points < 64 else 256)
    assert not device.closed


def test_horizon_in_the_order_of_time() -> None:
    given = problem(20, 2, horizon=4, start=np.zeros((20, 2)))
    result = bl.solve(given, device=BruteDevice(results=20 * 2 * 4))
    assert (result.status, result.success, result.sweeps) == ("finished", True, 4)
    assert result.message == "All 4 ages were solved."
    assert result.value.shape == result.policy.shape == result.choice.shape == (4, 20, 2)
    following = given.start
    for age in (3, 2, 1, 0):
        value, policy = brute_sweep(given.grid, given.wealth, given.transition, following, given.beta, given.eta)
        assert np.abs(value - result.value[age]).max() <= 1e-14
        assert (policy == result.policy[age]).all()
        following = value
    assert (result.policy[3] == 0).all()
    assert np.abs(result.value[0] - following).max() <= result.error_bound < 1e-12
    assert ", 4 ages, on device" in str(result)
    assert "last change" not in str(result)
    trusted = bl.solve(given, device=BruteDevice(results=160), verify=False)
    # Verification uses doubles, and its bound includes the rounding of its comparisons.
    assert result.error_bound <= 2.0 * trusted.error_bound < 1e-12


def test_sweep_limit() -> None:
    given = problem()
    result = bl.solve(given, max_sweeps=10, device=BruteDevice())
    assert (result.success, result.status, result.sweeps) == (False, "sweep limit reached", 10)
    found = re.fullmatch(
        r"The largest change of V is still \S+ after the limit of 10 sweeps, not below 1e-10; "
        r"about (\d+) more are needed: increase max_sweeps\.",
        result.message,
    )
    assert found
    assert 190 <= int(found[1]) <= 219
    assert np.abs(result.value - fixed_point_of(given, 400)).max() <= result.error_bound


def test_convergence_in_the_last_allowed_sweep_counts() -> None:
    assert bl.solve(problem(), max_sweeps=219, device=BruteDevice()).success
    assert not bl.solve(problem(), max_sweeps=218, device=BruteDevice()).success


def plant(table: Table, word: int, change: int) -> Any:
    def fault(device: BruteDevice) -> None:
        device.tables[table][word] += change

    return fault


@pytest.mark.parametrize("change", [2**52 // 1000, -(2**52) // 1000, 2**24, -(2**24)])
def test_planted_value_is_caught(change: int) -> None:
    result = bl.solve(problem(), device=BruteDevice(fault=plant(Table.V, 9 * 3 + 2, change)))
    assert (result.success, result.status) == (False, "not verified")
    assert result.verified
    assert re.fullmatch(
        r"The run ended after 219 sweeps, but a second, exact search finds (the value wrong|a choice better) by \S+ at "
        r"grid point \d+, state \d(, the largest of \d+ errors)?: "
        r"either the objective has several peaks, which device 'cpu' can search and this engine cannot, "
        r"or the device made an error\.",
        result.message,
    )
    clean = bl.solve(problem(), device=BruteDevice())
    gap = np.abs(result.value - clean.value).max()
    assert gap <= result.error_bound + clean.error_bound


@pytest.mark.parametrize("change", [1, -1, 5])
def test_planted_policy_is_caught(change: int) -> None:
    result = bl.solve(problem(), device=BruteDevice(fault=plant(Table.POLICY, 15 * 3 + 1, change)))
    assert (result.success, result.status) == (False, "not verified")
    assert "at grid point 15, state 1:" in result.message


def test_planted_unaffordable_policy_is_caught() -> None:
    result = bl.solve(problem(), device=BruteDevice(fault=plant(Table.POLICY, 0, 22)))
    assert (result.success, result.status) == (False, "not verified")
    assert "finds a choice better without bound at grid point 0, state 0:" in result.message


def test_planted_fault_in_an_age_is_caught() -> None:
    given = problem(20, 2, horizon=4)
    slot = 1  # The third age of four.
    fault = plant(Table.V, slot * 40 + 7 * 2 + 1, 2**20)
    result = bl.solve(given, device=BruteDevice(results=160, fault=fault))
    assert result.status == "not verified"
    assert "at grid point 7, state 1, age 3" in result.message


def test_non_concave_problem_is_never_wrong_in_silence() -> None:
    given = convex_kink(4.0)
    missed = bl.solve(given, device=HillDevice())
    assert (missed.success, missed.status) == (False, "not verified")
    right = bl.solve(given, device=BruteDevice())
    assert right.success
    assert np.abs(missed.value - right.value).max() > 1e-3
    assert np.abs(missed.value - right.value).max() <= missed.error_bound + right.error_bound


@pytest.mark.parametrize("seed", range(12))
def test_no_false_alarm_with_few_bits(seed: int) -> None:
    given = problem(30, 2, seed, eta=[0.3, 1.0, 3.0, 8.0][seed % 4])
    for bits in (14, 24, 40):
        result = bl.solve(given, tol=2.0 ** (4 - bits), device=BruteDevice(), value_bits=bits, amount_bits=bits)
        assert result.success, result.message
        exact = fixed_point_of(given, 300)
        assert np.abs(result.value - exact).max() <= result.error_bound


def test_saturation_is_loud() -> None:
    def fault(device: BruteDevice) -> None:
        device.status = Status.DONE | Status.SATURATED

    result = bl.solve(problem(), device=BruteDevice(fault=fault))
    assert (result.success, result.status) == (False, "saturated")
    assert result.message == "A value left the range of the fixed-point format after 219 sweeps; use fewer value bits."
    assert math.isinf(result.error_bound)


def test_infeasibility_is_loud() -> None:
    def fault(device: BruteDevice) -> None:
        device.status = Status.DONE | Status.INFEASIBLE
        device.tables[Table.POLICY][:] = 2**62

    result = bl.solve(problem(), device=BruteDevice(fault=fault))
    assert (result.success, result.status) == (False, "infeasible")
    assert result.policy.max() < 24


def test_device_stopped_before_its_first_sweep() -> None:
    def fault(device: BruteDevice) -> None:
        device.status = Status.DONE | Status.STOPPED
        build = MachineParameters(*device.size)
        device.registers |= {"SWEEPS": 0, "STATES_DONE": 0, "CLOCKS": run_clocks(build, 24, 3, 0)}

    with pytest.raises(DeviceError, match=r"^device 'brute' was stopped before its first sweep$"):
        bl.solve(problem(), device=BruteDevice(fault=fault))


def test_stopped_device() -> None:
    class Stopped(BruteDevice):
        def ended(self, horizon: bool) -> Status:
            return Status.STOPPED if self.registers["SWEEPS"] == 4 else Status(0)

    result = bl.solve(problem(), max_sweeps=5, device=Stopped())
    assert (result.success, result.status) == (False, "stopped")


@pytest.mark.parametrize(
    ("device", "error", "sentence"),
    [
        (
            BruteDevice(fault=lambda d: setattr(d, "status", Status.DONE | Status.BAD_CONFIGURATION)),
            DeviceError,
            "device 'brute' refused its configuration",
        ),
        (
            BruteDevice(fault=plant(Table.POLICY, 4, 10**6)),
            DeviceError,
            "which is not an index of the 24 grid points",
        ),
    ],
)
def test_device_that_does_not_fit(device: BruteDevice, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=re.escape(sentence)):
        bl.solve(problem(), device=device)


def test_progress() -> None:
    lines: list[str] = []
    bl.solve(problem(), device=SlowDevice(), progress=lines.append)
    assert re.fullmatch(r"sweep 3 of at most 10,000, largest change of V \d\.\d\de[-+]\d\d", lines[2])
    assert len(lines) == 219
    assert lines[-1] == "verifying with an exact sweep in double precision"


def test_interrupt_stops_the_device_at_the_end_of_a_sweep() -> None:
    device = EndlessDevice()
    timer = interrupt_main_after(0.5)
    with pytest.raises(KeyboardInterrupt):
        bl.solve(problem(), device=device)
    timer.cancel()
    assert device.status == Status.DONE | Status.STOPPED
    assert device.registers["STATES_DONE"] == 72 * device.registers["SWEEPS"]


def test_error_of_the_users_own_ends_the_run() -> None:
    device = EndlessDevice()
    with pytest.raises(ZeroDivisionError):
        bl.solve(problem(), device=device, progress=lambda _: 1 / 0)  # type: ignore[arg-type, return-value]
    assert not device.status & Status.BUSY


def test_device_left_running_is_reset_first() -> None:
    device = EndlessDevice()
    device.write_register("COMMAND", Command.RUN)
    assert device.status & Status.BUSY
    device.ended = BruteDevice.ended.__get__(device)  # type: ignore[method-assign]
    assert bl.solve(problem(), device=device).success
