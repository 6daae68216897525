"""The sweep engine on the host's side: layout, ages, options, and the message if a search may have missed a peak."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import beltline as bl
from beltline.host.devices import DeviceError, open_device, smallest_build
from beltline.host.solver.certificate import of_one_alternative
from beltline.host.solver.checked import Asked, Report
from beltline.host.solver.complete import trust
from beltline.host.solver.driver import Driver
from beltline.host.solver.fixed_point import Image, fixed_point
from beltline.host.solver.product_image import product_image
from beltline.host.solver.run import Run, of_ages
from beltline.host.solver.session import Session
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Engine, Mode, Status, Table, status_text
from beltline.hw.top.engine_table import ENGINES
from support.alternatives import with_alternatives
from support.compared import same
from support.fakes import BruteDevice, problem
from support.peaks import savings


@pytest.mark.parametrize("lanes", [1, 2, 8, 64])
def test_same_bits_as_the_assembly_line(lanes: int) -> None:
    """Both engines return the same bits in a session in which sizes, and so the addresses of all words, change."""
    random = np.random.default_rng(lanes)
    with bl.open("emulator", lanes=lanes) as device:
        for seed in range(6):
            given = problem(
                int(random.integers(2, 150)), int(random.integers(1, 6)), seed, eta=[2.0, 1.0, 0.5][seed % 3]
            )
            line = bl.solve(given, tol=1e-6, device="emulator")
            # Of the sweep engine a sweep more may be proven before the run ends.
            found = device.solve(given, tol=1e-6, max_sweeps=line.sweeps)
            assert np.array_equal(found.value, line.value)
            assert np.array_equal(found.policy, line.policy)
            assert device.solve(given, tol=1e-6).sweeps <= line.sweeps + 1
            ages = replace(given, horizon=int(random.integers(1, 6)))
            result = device.solve(ages)
            same(result, bl.solve(ages, device="emulator"))
            assert (result.status, result.proven) == ("finished", True)


def test_sizes_of_the_smallest_engine() -> None:
    for points, states, lanes, sizes in (
        (5, 3, 4, (32, 4)),
        (65, 4, 4, (128, 4)),
        (16, 1, 1, (16, 1)),
        (3, 5, 64, (512, 8)),
    ):
        for horizon in (None, 7):
            build = smallest_build(problem(points, states, horizon=horizon), lanes)
            assert build == MachineParameters(*sizes, engine=Engine.SWEEP, lanes=lanes)


def test_ages_that_no_assembly_line_could_keep() -> None:
    given = problem(1024, 4, horizon=5000)
    with pytest.raises(
        bl.ProblemError, match="^a problem with horizon 5000 has 20480000 values at all ages, more than the 16777216"
    ):
        smallest_build(given)
    assert smallest_build(given, 2).results == 4096


def test_ages_move_the_value_once() -> None:
    image = fixed_point(problem(20, 3, horizon=6), 1e-9)
    driver = Driver(open_device("emulator", MachineParameters(32, 4), lanes=4))
    run = driver.run(image, 1, 6)
    assert run.value.shape == run.policy.shape == (6, 20, 3)
    assert (run.sweeps, run.states_done, run.status) == (6, 360, Status.DONE | Status.LIMIT | Status.PROVEN)
    assert sorted(run.moved) == sorted(
        [
            "X",
            "W",
            "Q",
            "V",
            "MODE",
            "GRID",
            "STATES",
            "SWEEP_LIMIT",
            "EPSILON",
            "UTILITY_A",
            "UTILITY_B",
            "UTILITY_FORM",
        ]
    )
    # After a solve by age the device has other values than the problem's start.
    assert driver.run(image, 1, 6).moved == ("V", "MODE")


def test_ages_end_with_one_that_cannot_afford_anything() -> None:
    given = problem(20, 2, horizon=4)
    image = fixed_point(given, 1e-9)
    image.wealth[3, 1] = image.grid[0]
    runs = [
        Driver(open_device("emulator", MachineParameters(32, 2, 160), **o)).run(image, 1, 4) for o in ({}, {"lanes": 2})
    ]
    assert runs[0].status == runs[1].status == Status.DONE | Status.INFEASIBLE
    assert runs[0].sweeps == runs[1].sweeps == 1
    assert (runs[0].value == runs[1].value).all()


def test_words_that_lie_elsewhere_are_moved_again() -> None:
    """Words that have other addresses in another shape of the problem are written again."""
    one = problem(24, 1)
    column = replace(one, wealth=one.wealth.repeat(2, 1), start=one.start.repeat(2, 1), transition=np.eye(2))
    table = replace(
        column,
        grid=column.grid[:16],
        wealth=column.wealth.reshape(16, 3),
        start=column.start.reshape(16, 3),
        transition=np.eye(3),
    )
    build = MachineParameters(grid=32, states=4, engine=Engine.SWEEP, lanes=2)

    def opened() -> Session:
        return Session(open_device("emulator", build, None, lanes=2), False)

    with opened() as session:
        for given in (column, table, column):
            found = session.solve(given, tol=1e-6, value_bits=40)
            with opened() as another:
                same(found, another.solve(given, tol=1e-6, value_bits=40))


def test_resumes_from_a_checkpoint(tmp_path: Path) -> None:
    given = problem(40, 3)
    file = tmp_path / "saved.npz"
    assert not bl.solve(given, max_sweeps=7, lanes=4, checkpoint=file, device="emulator").success
    # A solve that was stopped on one engine can be resumed on the other.
    assert not bl.solve(given, max_sweeps=11, checkpoint=file, device="emulator").success
    same(bl.solve(given, lanes=4, checkpoint=file, device="emulator"), bl.solve(given, device="emulator"))
    assert not file.exists()


@pytest.mark.parametrize(
    ("registers", "sentence"),
    [
        (
            {"ENGINE": 2},
            "device 'brute' has engine 2, but this host knows only 1 (assembly line), 9 (sweep engine), 10 (sweep "
            "engine for the general form: costs, alternatives, taste shocks, bounds, linear utility)",
        ),
        (
            {"LANES": 2},
            "device 'brute' reports sizes that no build has: lanes of a build of the assembly line must be 1, not 2",
        ),
        (
            {"ENGINE": 9, "LANES": 3},
            "device 'brute' reports sizes that no build has: lanes of a build must be a power of two from 1 "
            "to 256, not 3",
        ),
    ],
)
def test_engines_that_are_unknown(registers: dict[str, int], sentence: str) -> None:
    device = BruteDevice()
    device.registers |= registers
    with pytest.raises(DeviceError, match="^" + re.escape(sentence) + "$"):
        bl.solve(problem(), device=device)
    assert device.largest_block == 0


def test_single_peaks_need_no_search() -> None:
    given = bl.rbc(grid=64, states=2)
    for horizon in (None, 4):
        result = bl.solve(replace(given, horizon=horizon), tol=1e-8, lanes=2, verify=False, device="emulator")
        assert result.success
        assert not result.verified


def test_every_age_must_be_proven() -> None:
    given = replace(savings("jumps", 2), horizon=5)
    right = bl.solve(given, device="cpu")
    assert bl.solve(given, device="emulator").status == "not verified"
    result = bl.solve(given, device="emulator", lanes=2, verify=False)
    assert (result.success, result.verified) == (True, False)
    assert np.abs(result.value - right.value).max() <= result.error_bound + right.error_bound < 1e-9
    image = fixed_point(given, 1e-9)
    run = Driver(open_device("emulator", MachineParameters(128, 4), lanes=2)).run(image, 1, 5)
    assert run.status == Status.DONE | Status.LIMIT | Status.PROVEN
    ages = [replace(run, value=age, policy=age) for age in run.value]
    assert of_ages(ages).status == run.status
    ages[1] = replace(ages[1], status=run.status & ~Status.PROVEN)
    assert of_ages(ages).status == Status.DONE | Status.LIMIT


def chose(driver: Driver, image: Image, sweeps: int = 3) -> tuple[Run, bool]:
    """Return a run, and whether it began from the choices of the run before."""
    run = driver.run(image, sweeps)
    return run, bool(driver.device.read_register("MODE") & Mode.CHOICES)


def test_a_run_that_continues_begins_from_the_choices_of_the_last_one() -> None:
    build = MachineParameters(128, 4)
    driver = Driver(open_device("emulator", build, lanes=2))
    image, other = (fixed_point(savings("jumps", 2, points), 1e-9) for points in (120, 90))
    run, stored = chose(driver, image, 30)
    assert not stored
    onward = replace(image, start=run.value)
    run, stored = chose(driver, onward)
    assert stored
    cold = Driver(open_device("emulator", build, lanes=2)).run(onward, 3)
    assert run.clocks < cold.clocks
    assert (run.value == cold.value).all()
    assert (run.policy == cold.policy).all()
    # Values of another start, of another size, and after it: nothing to begin from.
    assert not chose(driver, image)[1]
    assert not chose(driver, other)[1]
    run, stored = chose(driver, image)
    assert not stored
    # With other cash on hand, or another chain, values may stay, but choices are those of another problem.
    richer = replace(image, start=run.value, wealth=image.wealth + 1)
    run, stored = chose(driver, richer)
    assert not stored
    run, stored = chose(driver, replace(richer, start=run.value, transition=image.transition - np.uint64(1)))
    assert not stored


def test_groups_move_alone_and_choices_stay() -> None:
    """The rows of window Q with the groups are a part of their own; a device that lost the table gets all of it."""
    image = product_image(with_alternatives("default", 1, 60), 1e-6)
    assert image.groups is not None
    states = image.start.shape[1]
    driver = Driver(open_device("emulator", MachineParameters(64, 8), lanes=2, general=1))
    device, written = driver.device, []
    write_block = device.write_block

    def write(table: Table, first: int, words: Any) -> None:
        if table is Table.Q:
            written.append((first, words.size))
        write_block(table, first, words)

    device.write_block = write  # type: ignore[method-assign]
    run, stored = chose(driver, image)
    assert (stored, written) == (False, [(0, 64), (64, 24)])
    highest = image.groups.highest.copy()
    highest[0] -= 1
    few = replace(image, start=run.value, groups=replace(image.groups, highest=highest))
    run, stored = chose(driver, few)
    assert (stored, written[2:]) == (True, [(64, 24)])
    assert run.moved == ("Q", "X", "MODE")
    # Another program has written to the table.
    del written[:]
    write_block(Table.Q, 1, np.ones(1, np.int64))
    run, stored = chose(driver, replace(few, start=run.value, groups=image.groups))
    assert (stored, written) == (False, [(64, 24), (0, 64), (64, 24)])
    assert run.status == Driver(device).run(replace(image, start=few.start), 3).status
    assert states < 8


def test_a_run_that_made_no_sweep_leaves_no_choices() -> None:
    """After a run that saturated in its prologue, the next one begins without choices."""
    driver = Driver(open_device("emulator", MachineParameters(128, 4), lanes=2))
    image = fixed_point(savings("jumps", 2, 120), 1e-9)
    run, _ = chose(driver, image)
    highest = np.full_like(image.transition, 2**64 - 1)
    wild = replace(image, start=np.full_like(image.start, 2**63 - 1), transition=highest)
    run, stored = chose(driver, wild)
    assert (run.sweeps, run.status, stored) == (0, Status.DONE | Status.SATURATED, False)
    assert not chose(driver, replace(wild, start=run.value))[1]


def test_ages_begin_from_the_choices_of_the_age_before() -> None:
    image = fixed_point(replace(savings("jumps", 2), horizon=5), 1e-9)
    driver = Driver(open_device("emulator", MachineParameters(128, 4), lanes=2))
    run = driver.run(image, 1, 5)
    assert driver.device.read_register("MODE") == Mode.HORIZON | Mode.CHOICES
    single, start = Driver(open_device("emulator", MachineParameters(128, 4), lanes=2)), image
    for age in range(5):
        one = single.run(replace(start, wealth=image.wealth.copy()), 1)
        np.testing.assert_array_equal(one.policy, run.policy[age])
        start = replace(image, start=one.value)


def test_a_device_that_cannot_have_proven_anything_is_not_believed() -> None:
    done = Status.DONE | Status.LIMIT | Status.PROVEN
    sweep = MachineParameters(64, 4, engine=Engine.SWEEP, lanes=2)
    for build, status, good in (
        (sweep, done, True),
        (sweep, Status.DONE | Status.SATURATED | Status.PROVEN, False),
        (MachineParameters(64, 4), done, False),
    ):
        asked = Asked(build, 20, 3, 4, 10, horizon=False, shift=False)
        clocks = ENGINES[build.engine].run_clocks(build, 20, 3, 4)
        report = Report(status, 4, 240, 0 if clocks is None else clocks, 11)
        assert report.contradiction(asked) == ("" if good else f"its status is {status_text(status)}")


def test_the_bound_of_a_proof_counts_its_rounding() -> None:
    """The bound of a proof counts the errors of two objectives per point, a unit of value or ``2**-50`` of utility."""
    given = savings("uneven")
    image = fixed_point(given, 1e-6)
    value, policy = np.full(image.start.shape, -3.0), np.zeros(image.start.shape, np.int32)
    plain, proven = (trust(given, image, of_one_alternative(value, policy), 1e-7, flag) for flag in (False, True))
    error = image.value_unit + 2.0**-50 * 6.0
    assert proven.residual - plain.residual == pytest.approx(2 * given.points * error, rel=1e-3, abs=0.0)
    assert proven.error_bound == pytest.approx(proven.residual / (1 - given.beta), rel=1e-6)


def test_a_proof_begins_from_any_start() -> None:
    """A proof begins from any start, which is not made concave for the sweep engine."""
    given = savings("jumps", 3)
    convex = replace(given, start=np.cumsum(np.random.default_rng(2).exponential(size=given.start.shape), axis=0))
    assert "concave majorant" in bl.solve(convex, device="emulator", tol=1e-6).message
    found = bl.solve(convex, device="emulator", lanes=2, tol=1e-6)
    assert found.success
    assert "majorant" not in found.message
    right = bl.solve(convex, device="cpu", tol=1e-6)
    assert np.abs(found.value - right.value).max() <= found.error_bound + right.error_bound


def test_a_lane_with_a_single_row_has_the_bits_and_clocks_of_the_model() -> None:
    model, machine = (
        bl.solve(bl.rbc(grid=8), tol=1e-3, device=device, lanes=1, progress=False) for device in ("emulator", "rtl")
    )
    assert model.success
    assert (machine.sweeps, machine.clocks) == (model.sweeps, model.clocks)
    np.testing.assert_array_equal(machine.value, model.value)
    np.testing.assert_array_equal(machine.policy, model.policy)
