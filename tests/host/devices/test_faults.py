"""Faults between host and device: each ends as an error or with the right bits, verified or not."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import pytest

import beltline as bl
from beltline.host.devices import Device, DeviceError, open_device
from beltline.host.solver import waiting
from beltline.host.solver.session import Session
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Engine
from support.conformance import SMALL
from support.fakes import problem
from support.faulty import FAULTS, FaultyDevice

LINE = MachineParameters(grid=32, states=3, results=300)
SWEEP = MachineParameters(grid=32, states=4, engine=Engine.SWEEP, lanes=2)
BUILDS = {"line": LINE, "sweep": SWEEP}

SEEDS = 3

UNKNOWN = {("wrong change", "line"), ("wrong change", "sweep"), ("wrong clocks", "sweep")}
"""Wrong reports of a device that are consistent with each other."""

CASES = [
    (build, kind, always)
    for build in BUILDS
    for kind in FAULTS
    for always in (False, True)
    if not (always and (kind, build) in UNKNOWN)
]

PROBLEMS = (problem(20, 3, seed=1, beta=0.5), problem(20, 3, seed=1, beta=0.5, eta=3.0, horizon=2))


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "STUCK_SECONDS", 0.5)


def opened(build: str) -> Device:
    return open_device("emulator", BUILDS[build], None, **({"lanes": 2} if build == "sweep" else {}))


def solved(device: Device, verify: bool) -> Iterator[bl.Result]:
    """Solve the problems in one session; the second uses tables that the first has loaded."""
    with Session(device, False) as session:
        for given in PROBLEMS:
            yield session.solve(given, tol=1e-3, verify=verify)


@functools.cache
def healthy(build: str, verify: bool) -> tuple[bl.Result, ...]:
    results = tuple(solved(opened(build), verify))
    assert all(result.success for result in results)
    return results


def same(result: bl.Result, right: bl.Result) -> bool:
    numbers = ("status", "sweeps", "clocks", "change", "tol", "amount_bits", "value_bits")
    if result.verified == right.verified:
        numbers += ("residual", "error_bound")
    return (
        (result.value == right.value).all()
        and (result.policy == right.policy).all()
        and all(getattr(result, name) == getattr(right, name) for name in numbers)
    )


def end(device: FaultyDevice, rights: tuple[bl.Result, ...], verify: bool) -> str:
    """Solve with a fault, check that a result that succeeded is right, and return how the solve ended."""
    results = solved(device, verify)
    for right in rights:
        try:
            result = next(results)
        except (DeviceError, bl.ProblemError):
            return "error" if device.struck else "error for nothing"
        if not result.success:
            return "failure" if device.struck else "failure for nothing"
        assert same(result, right), f"success with wrong numbers: {device.target}"
    return "right"


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize(("build", "kind", "always"), CASES)
def test_a_fault_ends_in_the_right_result_or_an_error(build: str, kind: str, always: bool, verify: bool) -> None:
    rights = healthy(build, verify)
    ends = set()
    struck = 0
    for seed in range(SEEDS):
        device = FaultyDevice(opened(build), kind, 17 * seed, always, after=seed % 2)
        ends.add(end(device, rights, verify))
        struck += device.struck > 0
    assert struck
    assert ends <= {"right", "error", "failure"}
    if not always and kind.endswith((" writes", " reads", " settings", "sums")):
        # A fault of a single transfer is repaired by repeating it.
        assert ends == {"right"}


@pytest.mark.gateware
@pytest.mark.parametrize("options", [{}, pytest.param({"lanes": 2}, marks=pytest.mark.slow)])
def test_a_fault_of_the_gateware_ends_in_the_right_result_or_an_error(options: dict[str, int]) -> None:
    """With one fault of each kind in turn, on the same device, a solve has the right result or ends with an error."""
    size = MachineParameters(grid=64, states=4, engine=Engine.SWEEP, lanes=2) if options else SMALL
    given = problem(12, 3, seed=1, beta=0.6)
    device = open_device("rtl", size, None, **options)
    right = bl.solve(given, tol=1e-2, verify=False, device=device)
    assert right.success
    found = set()
    build = "sweep" if options else "line"
    for seed, kind in enumerate(FAULTS):
        always = bool((seed + len(options)) % 2) and (kind, build) not in UNKNOWN
        faulty = FaultyDevice(device, kind, seed, always)
        try:
            result = bl.solve(given, tol=1e-2, verify=False, device=faulty)
        except (DeviceError, bl.ProblemError):
            assert faulty.struck
            found.add("error")
        else:
            assert not result.success or same(result, right), f"success with wrong numbers: {kind} {faulty.target}"
            found.add("right" if result.success else "failure")
    device.close()
    assert found >= {"error", "right"}
