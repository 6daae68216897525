"""Batches in one process: order, failures, what is stored, what runs at the same time, and how batches end."""

from __future__ import annotations

import gc
import itertools
import os
import re
import signal
import threading
import time
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
import pytest

import beltline as bl
from beltline.gpu_ref.cuda import solver as cuda
from beltline.host.batch import settings, worker
from beltline.host.batch.neighbours import Neighbours
from beltline.host.batch.store import key
from beltline.host.batch.worker import Turns
from beltline.host.devices import DEVICES, DeviceError
from beltline.host.devices.software_model import BACKEND, ModelDevice
from beltline.host.results import archive
from beltline.host.solver.options import SolveOptions, default_tol
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Command
from support.batches import TOL, many, tiny
from support.fakes import batch_on_processor, on_processor


def solved(*arguments: Any, **options: Any) -> list[bl.Attempt]:
    return list(bl.solve_many(*arguments, **{"tol": TOL, "progress": False, "device": "emulator"} | options))


def bits(attempts: list[bl.Attempt]) -> list[tuple[bytes, bytes, int]]:
    results = [attempt.result for attempt in attempts]
    assert all(result is not None for result in results)
    return [(r.value.tobytes(), r.policy.tobytes(), r.sweeps) for r in results if r is not None]


@pytest.mark.parametrize("options", [{}, {"chunk": 4}, {"order": "finished"}, {"in_flight": 1}, {"in_flight": 99}])
def test_results_have_the_bits_of_solve_and_come_in_order(options: dict[str, Any]) -> None:
    attempts = solved(many(10), **options)
    if options.get("order") == "finished":
        attempts.sort(key=lambda one: one.index)
    expected = [bl.solve(tiny(number), TOL, progress=False, device="emulator") for number in range(10)]
    assert [attempt.index for attempt in attempts] == list(range(10))
    assert all(attempt.success and not attempt.stored and attempt.seconds > 0 for attempt in attempts)
    for attempt, result in zip(attempts, expected, strict=True):
        assert attempt.result is not None
        np.testing.assert_array_equal(attempt.result.value, result.value)
        np.testing.assert_array_equal(attempt.result.policy, result.policy)
        assert attempt.result.message == result.message
        assert attempt.result.clocks == result.clocks
        assert attempt.result.problem is attempt.problem


@pytest.mark.parametrize("device", ["emulator", "cpu"])
def test_shapes_and_horizons_may_differ(device: str) -> None:
    problems = [bl.rbc(16, 2), bl.rbc(40, 3), replace(bl.rbc(20, 1), horizon=3), bl.rbc(12, 2)]
    attempts = solved(problems, device=device)
    assert [attempt.success for attempt in attempts] == [True] * 4
    assert [attempt.result.value.shape for attempt in attempts if attempt.result] == [
        (16, 2), (40, 3), (3, 20, 1), (12, 2)
    ]  # fmt: skip


def test_a_problem_that_fails_stops_no_other() -> None:
    wild = replace(tiny(1), wealth=tiny(1).wealth * 1e30)
    problems = [tiny(0), wild, 3, partial(bl.rbc, beta=2), partial(lambda: 1 / 0), tiny(1)]
    attempts = solved(problems)
    assert [attempt.success for attempt in attempts] == [True, False, False, False, False, True]
    assert [attempt.index for attempt in attempts] == list(range(6))
    reasons = [str(attempt.error) for attempt in attempts[1:5]]
    assert "rescale the problem" in reasons[0]
    assert reasons[1:] == [
        "problem 2 must be a Problem, not 3",
        "beta must be a number above 0 and below 1, not 2",
        "ZeroDivisionError: division by zero",
    ]
    assert isinstance(attempts[1].error, bl.ProblemError)
    assert attempts[1].problem is wild
    assert attempts[3].problem is None


def test_a_result_that_is_not_solved_is_no_error() -> None:
    (attempt,) = solved([tiny(0)], max_sweeps=3)
    assert attempt.error is None
    assert not attempt.success
    assert attempt.result is not None
    assert attempt.result.status == "sweep limit reached"


def test_an_error_of_the_generator_comes_after_earlier_problems() -> None:
    def given() -> Iterator[bl.Problem]:
        yield from (tiny(0), tiny(1))
        raise ArithmeticError("no more")

    attempts = bl.solve_many(given(), TOL, progress=False, device="emulator")
    assert [next(attempts).index, next(attempts).index] == [0, 1]
    with pytest.raises(ArithmeticError, match=r"^no more$"):
        next(attempts)


def test_problems_are_taken_as_they_are_needed() -> None:
    taken = itertools.count()

    def given() -> Iterator[bl.Problem]:
        for number in range(10**9):
            next(taken)
            yield tiny(number % 100)

    attempts = bl.solve_many(given(), TOL, progress=False, in_flight=3, device="emulator")
    assert next(taken) == 0, "nothing is done before the first result is requested"
    for _ in range(5):
        next(attempts)
    attempts.close()  # type: ignore[attr-defined]
    assert next(taken) - 1 <= 5 + 3


def test_memory_stays_flat() -> None:
    marks: dict[int, int] = {}
    tracemalloc.start()
    try:
        for attempt in bl.solve_many((tiny(i % 100) for i in range(300)), 10.0, progress=False, device="emulator"):
            if attempt.index in (98, 99, 298, 299):
                gc.collect()
                marks[attempt.index] = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    # A result and its problem take 5 kB; 200 of them would take 1 MB. Other threads need some memory now and then.
    first, last = (min(mark for index, mark in marks.items() if index // 100 == k) for k in (0, 2))
    assert last - first < 50_000


def test_only_tables_that_changed_are_moved() -> None:
    written: list[str] = []
    device = SimpleNamespace(open=BACKEND.open)

    def watched(*arguments: Any, **options: Any) -> ModelDevice:
        made = device.open(*arguments, **options)
        write = made.write_block

        def note(table: Any, first: int, words: Any) -> None:
            written.append(table.name)
            write(table, first, words)

        made.write_block = note
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(DEVICES, "emulator", replace(BACKEND, open=watched))
        solved([tiny(3), replace(tiny(3), eta=2.0), replace(tiny(3), eta=3.0)])
    assert written == ["X", "W", "Q", "V", "V", "V"]


class Slow:
    """A software model whose runs take time in which the host sleeps, as with a real board."""

    def __init__(self, device: ModelDevice, log: list[tuple[str, float]]) -> None:
        self._device, self._log = device, log

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def write_register(self, name: str, value: int) -> None:
        if name == "COMMAND" and value & Command.RUN:
            self._log.append(("run", time.perf_counter()))
        self._device.write_register(name, value)

    def wait(self, seconds: float) -> bool:
        time.sleep(0.05)
        done = self._device.wait(seconds)
        if done:
            self._log.append(("end", time.perf_counter()))
        return done


def test_tables_are_converted_and_results_verified_while_the_device_works(monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[tuple[str, float]] = []
    monkeypatch.setitem(DEVICES, "emulator", replace(BACKEND, open=lambda *a, **o: Slow(BACKEND.open(*a, **o), log)))
    prepare, measure = bl.Session.prepare, worker.Completed.result

    def slow_prepare(self: Any, *arguments: Any, **options: Any) -> Any:
        time.sleep(0.02)
        return prepare(self, *arguments, **options)

    def slow_result(self: Any, *arguments: Any) -> Any:
        time.sleep(0.02)
        return measure(self, *arguments)

    monkeypatch.setattr(bl.Session, "prepare", slow_prepare)
    monkeypatch.setattr(worker.Completed, "result", slow_result)
    solved(many(10))
    ends = [when for what, when in log if what == "end"]
    runs = [when for what, when in log if what == "run"]
    assert [what for what, _ in log] == ["run", "end"] * 10
    gaps = sorted(run - end for end, run in zip(ends, runs[1:], strict=False))
    # In sequence they would take at least 40 ms.
    assert gaps[len(gaps) // 2] < 0.02


def test_runs_follow_in_the_order_of_the_problems() -> None:
    turns = Turns()
    order: list[int] = []

    def take(number: int, turn: tuple[threading.Event, threading.Event]) -> None:
        time.sleep(0.005 * (5 - number))
        with worker._taking(turn) as wait:
            wait()
            order.append(number)

    with ThreadPoolExecutor(5) as pool:
        for number in range(5):
            pool.submit(take, number, turns.next())
    assert order == list(range(5))


def test_ctrl_c_leaves_the_device_usable_and_what_was_stored(tmp_path: Path) -> None:
    long = [tiny(0), tiny(1), bl.rbc(16, 2, beta=0.9999)]
    with bl.Session("emulator") as session:
        session.solve(tiny(5), TOL)
        attempts = bl.solve_many(
            long, 1e-10, max_sweeps=10**9, device=session, store=tmp_path / "runs", progress=False, verify=False
        )
        assert next(attempts).success
        assert next(attempts).success
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        begin = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            next(attempts)
        assert time.monotonic() - begin < 10
        assert len(bl.Store(tmp_path / "runs")) == 2
        again = session.solve(tiny(5), TOL)
    np.testing.assert_array_equal(again.value, bl.solve(tiny(5), TOL, progress=False, device="emulator").value)


def test_a_full_disk_does_not_end_a_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = archive.write

    def full(target: Path, *more: Any, **options: Any) -> None:
        if len(bl.Store(tmp_path / "runs")) == 1:
            raise OSError(28, "No space left on device", str(target))
        write(target, *more, **options)

    monkeypatch.setattr(archive, "write", full)
    attempts = list(bl.solve_many(many(3), TOL, device="emulator", store=tmp_path / "runs", progress=False))
    assert [attempt.success for attempt in attempts] == [True] * 3
    lost = " It could not be written to the store: No space left on device."
    assert [attempt.result.message.endswith(lost) for attempt in attempts if attempt.result] == [False, True, True]
    assert len(bl.Store(tmp_path / "runs")) == 1


def test_closing_the_iterator_ends_the_run() -> None:
    with bl.Session("emulator") as session:
        given = [tiny(0), bl.rbc(16, 2, beta=0.9999)]
        attempts = bl.solve_many(given, 1e-10, 10**9, device=session, progress=False, verify=False)
        next(attempts)
        begin = time.monotonic()
        attempts.close()  # type: ignore[attr-defined]
        assert time.monotonic() - begin < 5
        assert session.solve(tiny(5), TOL).success


def test_what_is_stored_and_what_is_not_come_in_order(tmp_path: Path) -> None:
    odd = solved(many(9)[1::2], store=tmp_path / "runs")
    for chunk in (1, 3):
        mixed = solved(many(9 + chunk), store=tmp_path / "runs", chunk=chunk)
        assert [attempt.index for attempt in mixed] == list(range(9 + chunk))
        assert bits(mixed[1:9:2]) == bits(odd)
    assert len(bl.Store(tmp_path / "runs")) == 12


def test_options_that_change_the_answer_change_the_key() -> None:
    base: dict[str, Any] = {"tol": TOL, "max_sweeps": 10_000, "device": "emulator"}
    others: list[dict[str, Any]] = [
        {},
        {"tol": 1e-4},
        {"max_sweeps": 9_999},
        {"verify": False},
        {"value_bits": 40},
        {"amount_bits": 40},
        {"warm": True},
        {"device": "cpu"},
        {"device": "cpu", "method": "shift"},
        {"device": "cpu", "method": "shift", "start": "stay"},
    ]
    keys = {next(iter(bl.solve_many([tiny(0)], progress=False, **base | other))).key for other in others}
    assert len(keys) == len(others)


def test_keys_are_computed_only_where_they_are_needed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    computed: list[bl.Problem] = []

    def counted(problem: bl.Problem, options: Any) -> str:
        computed.append(problem)
        return key(problem, options)

    monkeypatch.setattr(settings, "key", counted)
    attempts = solved(many(3), device="cpu")
    assert not computed
    names = [attempt.key for attempt in attempts]
    assert [attempt.key for attempt in attempts] == names
    assert len(computed) == len(set(names)) == 3
    stored = solved(many(3), device="cpu", store=tmp_path / "runs")
    assert len(computed) == 6
    assert [attempt.key for attempt in stored] == names
    assert sorted(bl.Store(tmp_path / "runs").keys()) == sorted(names)
    assert len(computed) == 6


def test_all_machines_and_ways_to_solve_share_a_key() -> None:
    keys = {
        solved([tiny(0)], **options)[0].key
        for options in ({}, {"fold": 2}, {"chunk": 2}, {"order": "finished"}, {"timeout": 9.0})
    }
    assert len(keys) == 1


def test_a_warm_start_takes_fewer_sweeps_to_the_same_solution() -> None:
    cold, warm = solved(many(8), tol=1e-6), solved(many(8), tol=1e-6, warm=True)
    assert all(attempt.success for attempt in warm)
    for one, other in zip(cold[1:], warm[1:], strict=True):
        assert one.result is not None
        assert other.result is not None
        assert other.result.sweeps < 0.8 * one.result.sweeps
        gap = np.abs(one.result.value - other.result.value).max()
        assert gap <= one.result.error_bound + other.result.error_bound
    assert bits(warm) == bits(solved(many(8), tol=1e-6, warm=True)), "the same batch gives the same bits"


def test_a_horizon_is_never_started_warm() -> None:
    problems = [replace(tiny(number), horizon=4) for number in range(3)]
    assert bits(solved(problems, warm=True)) == bits(solved(problems))


def completed(session: bl.Session, problem: bl.Problem) -> Any:
    return session.run(session.prepare(problem, SolveOptions(TOL)))


def test_the_nearest_neighbour_is_by_parameters_over_their_spread() -> None:
    with bl.Session("emulator") as session:
        near = Neighbours()
        cases = [(0.90, 1.0), (0.90, 9.0), (0.94, 1.0)]
        runs = [completed(session, bl.rbc(16, 2, beta=beta, eta=eta)) for beta, eta in cases]
        for run in runs:
            near.add(run)
        # The last is nearer to the second in risk aversion only, whose spread is large.
        for given, expected in (((0.905, 1.5), 0), ((0.905, 6.0), 1), ((0.93, 2.0), 2), ((0.935, 5.5), 2)):
            work = session.prepare(bl.rbc(16, 2, beta=given[0], eta=given[1]), SolveOptions(TOL))
            start = near.nearest(work)
            assert start is not None
            shift = work.image.value_bits - runs[expected].work.image.value_bits
            np.testing.assert_allclose(start, np.ldexp(runs[expected].run.value.astype(float), shift), rtol=1e-12)
        assert near.nearest(session.prepare(bl.rbc(17, 2), SolveOptions(TOL))) is None, "another shape"
        assert near.nearest(session.prepare(replace(bl.rbc(16, 2), name="x"), SolveOptions(TOL))) is None, (
            "another model"
        )
        assert near.nearest(session.prepare(replace(bl.rbc(16, 2), horizon=2), SolveOptions(TOL))) is None, "a horizon"


def test_neighbours_take_no_more_memory_than_they_may() -> None:
    with bl.Session("emulator") as session:
        near = Neighbours(limit=3 * 16 * 2 * 8)
        for number in range(5):
            near.add(completed(session, tiny(number)))
        assert len(near) == 3


def test_a_start_that_is_not_concave_on_the_new_grid_is_not_taken() -> None:
    with bl.Session("emulator") as session:
        near = Neighbours()
        near.add(completed(session, bl.rbc(16, 2)))
        problem = bl.rbc(16, 2)
        uneven = np.sort(np.concatenate([problem.grid[:8], problem.grid[7] + np.linspace(1e-4, 1e-3, 8)]))
        wealth = uneven[:, None] ** 0.35 + uneven[:, None] * 0.99 + np.array([0.0, 0.01])
        other = replace(problem, grid=uneven, wealth=wealth, start=np.zeros((16, 2)), marginal_wealth=None, output=None)
        assert near.nearest(session.prepare(other, SolveOptions(TOL))) is None


def test_the_first_free_of_several_boards_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[int] = []

    def open_board(parameters: Any, progress: Any = None, *, slot: int = 0) -> Any:
        opened.append(slot)
        if slot < 2:
            raise bl.DeviceInUseError(f"slot {slot} is in use")
        return BACKEND.open(MachineParameters(grid=16, states=2))

    board = replace(BACKEND, open=open_board, options={"slot": ""}, elastic=False, check=lambda **options: None)
    monkeypatch.setitem(DEVICES, "board", board)
    assert all(attempt.success for attempt in solved(many(3), device="board", slot=[0, 1, 2, 3]))
    assert opened == [0, 1, 2]
    with pytest.raises(bl.DeviceInUseError, match=r"^slot 1 is in use$"):
        solved(many(3), device="board", slot=[0, 1])


def test_a_lost_device_is_reopened_for_the_next_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    count = itertools.count()

    class Fragile(Slow):
        def close(self) -> None:
            raise bl.DeviceLostError("no answer")

        def wait(self, seconds: float) -> bool:
            if next(count) == 1:
                raise bl.DeviceLostError("the cable was pulled")
            return self._device.wait(seconds)

    monkeypatch.setitem(DEVICES, "emulator", replace(BACKEND, open=lambda *a, **o: Fragile(BACKEND.open(*a, **o), [])))
    attempts = solved(many(4))
    assert [attempt.success for attempt in attempts] == [True, False, True, True]
    assert isinstance(attempts[1].error, bl.DeviceLostError)


def test_on_a_graphics_card_each_problem_has_its_own_tolerance(monkeypatch: pytest.MonkeyPatch) -> None:
    launches: list[tuple[int, float]] = []

    def batch(tables: Any, epsilon: float, max_sweeps: int, method: str, **options: Any) -> Any:
        launches.append((len(tables), epsilon))
        return batch_on_processor(tables, epsilon, max_sweeps, method, **options)

    monkeypatch.setattr(cuda, "available", lambda: "")
    monkeypatch.setattr(cuda, "solve_batch", batch)
    given = [replace(bl.rbc(grid=24), eta=eta) for eta in (2.0, 2.5, 12.0, 12.0)]
    found = [attempt.result for attempt in bl.solve_many(given, device="gpu", progress=False)]
    small = default_tol(given[2])
    assert small < 1e-13
    assert launches == [(2, 1e-10), (2, small)]
    assert [one.tol for one in found if one is not None and one.success] == [1e-10, 1e-10, small, small]


def test_a_graphics_card_takes_chunks_of_one_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    batches: list[int] = []

    def batch(tables: Any, epsilon: float, max_sweeps: int, method: str, **options: Any) -> Any:
        batches.append(len(tables))
        # As with memory of the card itself: an error of one problem is an error of all.
        return batch_on_processor(tables, epsilon, max_sweeps, method, **options)

    monkeypatch.setattr(cuda, "available", lambda: "")
    monkeypatch.setattr(cuda, "solve_batch", batch)
    monkeypatch.setattr(cuda, "solve", on_processor)
    problems = [*many(5), partial(tiny, 0, 24), partial(tiny, 1, 24), *many(2)]
    attempts = solved(problems, device="gpu", chunk=4)
    assert batches == [4, 2]
    assert [attempt.index for attempt in attempts] == list(range(9))
    expected = [bl.solve(one(), TOL, device="cpu", method="shift", start="coarse", progress=False) for one in problems]
    for attempt, result in zip(attempts, expected, strict=True):
        assert attempt.success
        assert attempt.result is not None
        assert attempt.result.device == "gpu"
        np.testing.assert_array_equal(attempt.result.value, result.value)

    def refused(tables: Any, *arguments: Any, **options: Any) -> Any:
        if any(one[5] > 1.52 for one in tables):
            raise ValueError("one of them")
        return batch(tables, *arguments, **options)

    monkeypatch.setattr(cuda, "solve_batch", refused)
    assert all(attempt.success for attempt in solved(many(5), device="gpu", chunk=5))


def test_progress_reports_how_far_it_is(tmp_path: Path) -> None:
    lines: list[str] = []
    solved(many(2), store=tmp_path / "runs")
    solved([*many(3), 4], store=tmp_path / "runs", progress=lines.append)
    assert len(lines) == 4
    assert re.fullmatch(r"4 problems done \(2 from the store, 1 not solved\), [\d.,e+]+ a second", lines[-1])


def test_threads_are_as_many_as_the_caller_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    # conftest.py leaves one thread.
    seen: set[int] = set()
    measure = worker.Completed.result

    def watched(self: Any, *arguments: Any) -> Any:
        seen.add(numba.get_num_threads())
        return measure(self, *arguments)

    monkeypatch.setattr(worker.Completed, "result", watched)
    solved(many(4))
    solved(many(4), chunk=2)
    assert seen == {1}


def test_any_executor_will_do_whose_threads_share_a_device() -> None:
    with ThreadPoolExecutor(3) as pool:
        assert bits(solved(many(12), executor=pool)) == bits(solved(many(12)))
        assert bits(solved(many(12), executor=pool, chunk=5)) == bits(solved(many(12)))
        assert pool.submit(int, 3).result() == 3, "it is left running"


class Broken(Executor):
    """A device whose calls all raise an exception of its own."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def submit(self, fn: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_exception(self.error)
        return future


def test_a_broken_executor_ends_the_batch() -> None:
    with pytest.raises(BrokenProcessPool, match=r"^a process died$"):
        solved(many(3), executor=Broken(BrokenProcessPool("a process died")))
    with pytest.raises(DeviceError, match=r"^no board here$"):
        solved(many(3), executor=Broken(DeviceError("no board here")))


def test_what_an_executor_gave_up_is_the_failure_of_its_problems() -> None:
    attempts = solved(many(3), executor=Broken(ValueError("killed three times")))
    assert [str(attempt.error) for attempt in attempts] == ["ValueError: killed three times"] * 3


def test_the_time_of_others_at_the_device_is_no_time_of_a_problem() -> None:
    settings = worker.Settings("emulator", {}, SolveOptions(TOL), False)
    stand = worker.Worker("emulator", {})
    stand.solve(settings, tiny(0))
    before, own = threading.Event(), threading.Event()
    timer = threading.Timer(2.0, before.set)
    timer.start()
    begin = time.perf_counter()
    answer = stand.solve(settings, tiny(1), (before, own))
    assert time.perf_counter() - begin >= 1.9
    assert own.is_set()
    assert answer.error is None
    assert answer.seconds < 1.0
    stand.close()


def test_a_run_that_times_out_is_stopped_and_the_device_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Any] = []

    def watched(*arguments: Any, **options: Any) -> Any:
        opened.append(BACKEND.open(*arguments, **options))
        return opened[-1]

    monkeypatch.setitem(DEVICES, "emulator", replace(BACKEND, open=watched))
    endless = bl.rbc(16, 2, beta=0.9999)
    attempts = solved([tiny(0), endless, tiny(1)], tol=1e-10, max_sweeps=10**9, timeout=0.5, verify=False)
    assert [attempt.success for attempt in attempts] == [True, False, True]
    assert isinstance(attempts[1].error, bl.DeviceTimeoutError)
    assert len(opened) == 1
