"""Faults between host and device: each ends as an error or with the right bits, verified or not."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import beltline as bl
import beltline.host.devices.lock
from beltline.host.devices import Device, DeviceError, open_device
from beltline.host.solver import checked
from beltline.host.solver.session import Session
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Engine
from support import boards
from support.conformance import SMALL, Bench
from support.fakes import problem
from support.faulty import FAULTS, FaultyDevice

LINE = MachineParameters(grid=32, states=3, results=300)
SWEEP = MachineParameters(grid=32, states=4, engine=Engine.SWEEP, lanes=2)
BUILDS = {"line": ("emulator", LINE), "sweep": ("emulator sweep", SWEEP), "serial": ("serial", LINE)}
"""Kinds of :class:`support.conformance.Bench`, and the sizes of their machines."""

SEEDS = 20
"""Faults of each kind."""

UNKNOWN = {("wrong change", build) for build in BUILDS} | {("wrong clocks", "sweep")}
"""Wrong reports of a device that are consistent with each other."""

CASES = [
    pytest.param(build, kind, always, seeds, id=f"{build}-{kind}-{always}-{seeds}", marks=marks)
    for build in BUILDS
    # A line takes a tenth of a second for each run.
    for seeds, marks in ([(2, ()), (SEEDS, pytest.mark.slow)] if build == "serial" else [(SEEDS, ())])
    for kind in FAULTS
    for always in (False, True)
    if not (always and (kind, build) in UNKNOWN)
]

PROBLEMS = (problem(20, 3, seed=1, beta=0.5), problem(20, 3, seed=1, beta=0.5, eta=3.0, horizon=2))


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checked, "STUCK_SECONDS", 0.5)
    # A board runs a step whenever its status is read, so that it can be reset in the middle of a run.
    monkeypatch.setattr(boards, "SLICE_SECONDS", 0.0)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[[str], Device]]:
    monkeypatch.setattr(beltline.host.devices.lock, "directory", lambda: tmp_path)
    benches: dict[str, Bench] = {}

    def open_one(build: str) -> Device:
        kind, sizes = BUILDS[build]
        bench = benches.setdefault(build, Bench(kind, monkeypatch, tmp_path))
        return bench.open(sizes)

    yield open_one
    for bench in benches.values():
        bench.close()


def solved(device: Device, verify: bool) -> Iterator[bl.Result]:
    """Solve the problems in one session; the second uses tables that the first has loaded."""
    with Session(device, False) as session:
        for given in PROBLEMS:
            yield session.solve(given, tol=1e-3, verify=verify)


@functools.cache
def healthy(build: str, verify: bool) -> tuple[bl.Result, ...]:
    """Return the results of the same machine without a fault, and without a line to it."""
    sizes = BUILDS[build][1]
    options = {"lanes": sizes.lanes} if sizes.engine == Engine.SWEEP else {}
    results = tuple(solved(open_device("emulator", sizes, None, **options), verify))
    assert all(result.success for result in results)
    return results


def same(result: bl.Result, right: bl.Result) -> bool:
    numbers = ("status", "sweeps", "clocks", "change", "tol", "amount_bits", "value_bits")
    if (result.verified, result.proven) == (right.verified, right.proven):
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
@pytest.mark.parametrize(("build", "kind", "always", "seeds"), CASES)
def test_a_fault_ends_in_the_right_result_or_an_error(
    opened: Callable[[str], Device], build: str, kind: str, always: bool, seeds: int, verify: bool
) -> None:
    rights = healthy(build, verify)
    ends = set()
    struck = 0
    for seed in range(seeds):
        device = FaultyDevice(opened(build), kind, 17 * seed, always, after=seed % 2)
        ends.add(end(device, rights, verify))
        struck += device.struck > 0
    assert struck
    assert ends <= {"right", "error", "failure"}
    if not always and kind.endswith((" writes", " reads", " settings", "sums")):
        # A fault of a single transfer is repaired by repeating it.
        assert ends == {"right"}


@pytest.mark.gateware
@pytest.mark.parametrize(
    ("options", "seeds"),
    [
        ({}, 1),
        pytest.param({}, SEEDS, marks=pytest.mark.slow),
        pytest.param({"lanes": 2}, SEEDS, marks=pytest.mark.slow),
    ],
)
def test_a_fault_of_the_gateware_ends_in_the_right_result_or_an_error(options: dict[str, int], seeds: int) -> None:
    """With faults of each kind in turn, on the same device, a solve has the right result or ends with an error."""
    size = MachineParameters(grid=64, states=4, engine=Engine.SWEEP, lanes=2) if options else SMALL
    given = problem(12, 3, seed=1, beta=0.6)
    device = open_device("rtl", size, None, **options)
    right = bl.solve(given, tol=1e-2, verify=False, device=device)
    assert right.success
    found = set()
    build = "sweep" if options else "line"
    for seed, kind in itertools.chain(*(enumerate(FAULTS, 100 * turn) for turn in range(seeds))):
        always = bool((seed + seed // 100 + len(options)) % 2) and (kind, build) not in UNKNOWN
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
