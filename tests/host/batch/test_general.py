"""Batches of problems of the general form, alone and among simple ones."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import beltline as bl
from beltline.gpu_ref.cuda import general as cuda_general
from beltline.gpu_ref.cuda import solver as cuda
from beltline.gpu_ref.general.form import Form
from beltline.gpu_ref.general.solve import solve as general_solve
from beltline.host.batch.store import key
from support.batches import TOL, career, firm, tiny
from support.fakes import batch_on_processor

Made = bl.Problem | Callable[[], bl.Problem]
MIXED: list[Made] = [career(0), tiny(0), firm(0), partial(career, 1), tiny(1), firm(1), career(2)]


def solved(problems: list[Made], **options: Any) -> list[bl.Attempt]:
    return list(bl.solve_many(problems, **{"tol": TOL, "progress": False, "device": "cpu"} | options))


def same(one: Any, other: Any) -> None:
    """Check that two results are equal to the bit, except for their problems and times."""
    assert type(one) is type(other)
    for field in fields(one):
        if field.name not in ("problem", "timing"):
            np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name), err_msg=field.name)


@pytest.mark.parametrize("options", [{}, {"chunk": 3}, {"order": "finished"}, {"in_flight": 1}])
def test_both_forms_have_the_bits_of_solve_and_come_in_order(options: dict[str, Any]) -> None:
    attempts = solved(MIXED, **options)
    if options.get("order") == "finished":
        attempts.sort(key=lambda one: one.index)
    assert [attempt.index for attempt in attempts] == list(range(7))
    for attempt, given in zip(attempts, MIXED, strict=True):
        assert attempt.success
        assert attempt.seconds > 0
        problem = given if isinstance(given, bl.Problem) else given()
        same(attempt.result, bl.solve(problem, TOL, device="cpu", progress=False))
        assert attempt.result is not None
        assert attempt.result.problem is attempt.problem


def test_what_is_stored_is_not_solved_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = solved(MIXED[:4], store=tmp_path / "runs")
    rest = solved(MIXED, store=tmp_path / "runs")
    assert [attempt.stored for attempt in rest] == [True] * 4 + [False] * 3
    monkeypatch.setattr("beltline.host.batch.worker.solve_in_double", None)
    again = solved(MIXED, store=tmp_path / "runs")
    assert all(attempt.stored and attempt.success for attempt in again)
    for one, other in zip([*first, *rest[4:]], again, strict=True):
        assert one.key == other.key
        same(one.result, other.result)
        assert other.result is not None
        assert other.result.problem is other.problem
    store = bl.Store(tmp_path / "runs")
    for attempt in again:
        # Read by its key alone: the problem is that of the file.
        for found in (store.load(attempt.key), bl.load(store.file(attempt.key))):
            same(found, attempt.result)
            assert attempt.problem is not None
            assert found.problem is not attempt.problem
            assert found.problem.regimes == attempt.problem.regimes
    lines = {line["key"]: line for line in store.index()}
    assert [lines[attempt.key]["name"] for attempt in again] == [
        "career", "RBC", "firm", "career", "RBC", "firm", "career"
    ]  # fmt: skip
    assert all(lines[attempt.key]["change"] is not None for attempt in again)


def test_a_damaged_file_is_refused_by_name(tmp_path: Path) -> None:
    (attempt,) = solved([career(0)], store=tmp_path / "runs")
    file = bl.Store(tmp_path / "runs").file(attempt.key)
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    (attempt,) = solved([career(0)], store=tmp_path / "runs")
    assert isinstance(attempt.error, bl.ProblemError)
    assert str(attempt.error).startswith(f"{str(file)!r} is not a file that this store wrote ")


def test_a_file_under_the_name_of_another_problem_is_refused(tmp_path: Path) -> None:
    (attempt,) = solved([career(0)], store=tmp_path / "runs")
    store, other = bl.Store(tmp_path / "runs"), solved([career(0, 31)])[0].key
    store.file(other).parent.mkdir(exist_ok=True)
    store.file(attempt.key).rename(store.file(other))
    with pytest.raises(bl.ProblemError, match="it does not contain the result of this key"):
        store.load(other)


def test_the_key_is_what_decides_the_answer() -> None:
    """The key of a result depends on every table that a solver reads, and not on names and forms of tables."""
    problem = career(0)
    work, retire, rest = problem.alternatives

    def other(one: bl.Alternative, **new: Any) -> bl.Problem:
        return replace(problem, alternatives=[replace(one, **new), *[o for o in problem.alternatives if o is not one]])

    known = key(problem, {})
    assert key(replace(problem, name="life", labels=("a",), parameters={"kappa": -1.0}), {}) == known
    assert key(replace(problem, alternatives=[replace(work, name="toil"), retire, rest]), {}) == known
    assert key(replace(problem, cost=problem.grid, low=0), {}) == known
    different = [
        replace(problem, beta=0.97),
        replace(problem, eta=2.0),
        replace(problem, horizon=5),
        replace(problem, taste=0.1),
        replace(problem, start=problem.start + 1.0),
        replace(problem, start=np.zeros((2, 30, 1))),
        replace(problem, grid=problem.grid + 0.1),
        other(work, kappa=-1.1),
        other(work, cost=1.1 * problem.grid),
        other(work, beta=0.9),
        other(work, low=1),
        other(work, high=10),
        other(work, leads_to={"worker": 0.5, "retired": 0.5}),
        replace(problem, alternatives=[work, replace(retire, leads_to=None), rest]),
        replace(problem, alternatives=[work, rest, retire]),
        replace(problem, alternatives=[work, bl.Alternative(name="retire", regime="worker", value=rest_of(30)), rest]),
    ]
    keys = [key(one, {}) for one in different]
    assert len({known, *keys}) == len(keys) + 1
    assert key(firm(0), {}) != key(replace(firm(0), negative=False, alternatives=firm(0).alternatives[:1]), {})


def rest_of(points: int) -> Any:
    return np.full((points, 1), -3.0)


def test_a_problem_that_fails_stops_no_other() -> None:
    given: list[Any] = [career(0), 3, partial(bl.retirement, grid=0), lambda: 1 / 0, firm(0), bl.retirement(grid=50)]
    attempts = solved(given)
    assert [attempt.success for attempt in attempts] == [True, False, False, False, True, False]
    assert [str(attempt.error) for attempt in attempts[1:4]] == [
        "problem 1 must be a Problem, not 3",
        "grid must be a whole number from 3 to 1048576, not 0",
        "ZeroDivisionError: division by zero",
    ]
    assert str(attempts[5].error) == "problem 5 is a model, Retirement: pass its problem()"


def test_what_only_solve_solves_is_refused_with_its_name() -> None:
    rewards, chances = [[5, 10], [-1, -np.inf]], [[(0.5, 0.5), (0, 1)], [(0, 1), (0.5, 0.5)]]
    economies = [
        bl.aiyagari(grid=50), bl.aiyagari_path(grid=50), bl.aiyagari_types(grid=50), bl.arellano(bonds=11, incomes=3),
        bl.hopenhayn_rogerson(grid=50), bl.krusell_smith(points=50),
    ]  # fmt: skip
    attempts = solved([bl.from_discrete_dp(rewards, chances, 0.95), career(0), *economies])
    assert [attempt.success for attempt in attempts] == [False, True, *[False] * 6]
    assert [str(attempt.error) for attempt in attempts if not attempt.success] == [
        "problem 0, 'discrete problem', is a discrete problem: solve it by bl.solve, not in a batch",
        *(
            f"problem {i} is an economy, {type(one).__name__}: solve it by bl.solve, as a batch finds no prices"
            for i, one in enumerate(economies, 2)
        ),
    ]


@pytest.mark.parametrize(
    ("options", "errors"),
    [
        (
            {"device": "emulator"},
            [
                "problem 0, 'career', has alternatives, which the accelerator does not support "
                "in a batch: pass device='cpu' or device='gpu'",
                "",
                "problem 2, 'firm', has alternatives, eta = 0, which the accelerator does not support "
                "in a batch: pass device='cpu' or device='gpu'",
            ],
        ),
        (
            {"steps": 3},
            [
                "problem 0, 'career': steps needs an infinite horizon, and this problem has 6 ages",
                "",
                "",
            ],
        ),
        (
            {"method": "shift"},
            [
                "problem 0, 'career': a problem of the general form is solved by method 'brackets', not by 'shift'",
                "",
                "problem 2, 'firm': a problem of the general form is solved by method 'brackets', not by 'shift'",
            ],
        ),
        ({"method": "brackets"}, ["", "method must be one of 'grid', ", ""]),
    ],
)
def test_the_number_of_a_problem_that_does_not_fit_is_reported(options: dict[str, Any], errors: list[str]) -> None:
    attempts = solved([career(0), tiny(0), firm(0)], **options)
    for attempt, expected in zip(attempts, errors, strict=True):
        assert attempt.success == (not expected), attempt.error
        assert attempt.problem is not None
        if expected:
            assert str(attempt.error).startswith(expected)
            assert isinstance(attempt.error, bl.ProblemError)


def test_prices_that_move_are_those_of_one_problem() -> None:
    with pytest.raises(bl.ProblemError, match="^update must not be given to a batch: prices belong to one problem"):
        bl.solve_many([firm(0)], device="cpu", update=lambda last: None)


def test_progress_reports_how_far_it_is() -> None:
    lines: list[str] = []
    solved([career(0), firm(0), 4], progress=lines.append)  # type: ignore[list-item]
    assert re.fullmatch(r"3 problems done \(1 not solved\), [\d.,e+]+ a second", lines[-1])


def test_closing_the_iterator_ends_the_solve_in_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing the iterator stops a solve that would take about 300,000 plain sweeps."""
    endless = replace(firm(0), beta=0.9999)
    begun = threading.Event()

    def slow(form: Form, *arguments: Any, **options: Any) -> Any:
        if form.modulus() > 0.999:
            begun.set()
        return general_solve(form, *arguments, corrected=False, **options)

    monkeypatch.setattr(sys.modules[general_solve.__module__], "solve", slow)
    attempts = bl.solve_many([firm(0), endless], 1e-9, 10**9, device="cpu", steps=0, progress=False)
    assert next(attempts).success
    assert begun.wait(60)
    begin = time.monotonic()
    attempts.close()  # type: ignore[attr-defined]
    assert time.monotonic() - begin < 2
    assert threading.active_count() < 10


def test_on_a_graphics_card_simple_ones_share_a_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    launches: list[str] = []

    def batch(tables: Any, epsilon: float, max_sweeps: int, method: str, **options: Any) -> Any:
        launches.append(f"{len(tables)} simple")
        return batch_on_processor(tables, epsilon, max_sweeps, method, **options)

    def one(*arguments: Any, seconds: Any, **options: Any) -> Any:
        launches.append("general")
        return general_solve(*arguments, **options)

    for module in (cuda, cuda_general):
        monkeypatch.setattr(module, "available", lambda: "")
    monkeypatch.setattr(cuda, "solve_batch", batch)
    monkeypatch.setattr(cuda_general, "solve", one)
    attempts = solved([tiny(0), tiny(1), firm(0), firm(1), career(0), tiny(2), tiny(3)], device="gpu")
    assert launches == ["2 simple", "general", "general", "general", "2 simple"]
    assert all(attempt.result and attempt.success and attempt.result.device == "gpu" for attempt in attempts)
    assert [attempt.index for attempt in attempts] == list(range(7))


def test_an_estimation_by_batches_recovers_the_disutility_of_work() -> None:
    """An estimation recovers the disutility of work from the wealth thresholds, by age, above which workers retire."""

    def thresholds(disutilities: list[float]) -> list[Any]:
        models = [bl.retirement(grid=400, ages=8, disutility=each) for each in disutilities]
        attempts = bl.solve_many([model.problem() for model in models], 1e-8, device="cpu", progress=False)
        found = []
        for model, attempt in zip(models, attempts, strict=True):
            assert attempt.result is not None
            assert attempt.success
            found.append(np.argmax(bl.RetirementResult(model, attempt.result).retires, axis=1).astype(float))
        return found

    true = 0.83
    (data,) = thresholds([true])
    guesses = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1]
    distances = [float(((moments - data) ** 2).sum()) for moments in thresholds(guesses)]
    best = guesses[int(np.argmin(distances))]
    assert best == 0.8
    found = minimize_scalar(
        lambda guess: float(((thresholds([guess])[0] - data) ** 2).sum()),
        bounds=(best - 0.1, best + 0.1), method="bounded", options={"xatol": 1e-3},
    )  # fmt: skip
    # The thresholds are grid points; a change of the disutility by 0.01 moves one of them.
    assert found.x == pytest.approx(true, abs=0.01)


def test_a_damaged_file_of_a_store_is_the_failure_of_its_problem(tmp_path: Path) -> None:
    store = tmp_path / "store"
    solved([career(0), tiny(0)], store=store)
    for file in store.glob("*/*.npz"):
        file.write_bytes(file.read_bytes()[:50])
    attempts = solved([career(0), firm(0), tiny(0)], store=store)
    assert [attempt.success for attempt in attempts] == [False, True, False]
    for attempt in (attempts[0], attempts[2]):
        assert isinstance(attempt.error, bl.ProblemError)
        assert "delete it, and its problem is solved again" in str(attempt.error)
