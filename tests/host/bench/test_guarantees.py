"""The test of guarantees: which problems it draws, that it accepts right results and finds wrong ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import beltline as bl
from beltline.gpu_ref import cpu, extended
from beltline.gpu_ref.methods import METHODS, Solution
from beltline.host.bench.guarantees import exact, judge, main, measure, measure_in_processes, table, ways
from beltline.host.bench.random_problems import random_problem

pytestmark = pytest.mark.skipif(not extended.available(), reason="numpy.longdouble is a double here")


def test_every_way_is_tried() -> None:
    drawn = random_problem(0, 1024, horizon=False)
    names = {way.name for seed in range(3) for way in ways(replace(drawn, seed=seed), ["line", "lanes", "cpu"])}
    assert {"line", "lanes=1", "lanes=2 shift given", "lanes=4 shift coarse", "cpu mpi coarse"} <= names
    assert all(any(name.startswith(f"cpu {method}") for name in names) for method in METHODS)
    ages = {way.name for way in ways(random_problem(0, 20, horizon=True), ["line", "lanes", "cpu"])}
    assert ages == {"line", "lanes=1", "cpu warm"}


def test_processes_share_the_problems() -> None:
    lines: list[str] = []
    shared = measure_in_processes(range(11), 20, ["line"], 2, lines.append)
    alone = measure((random_problem(seed, 20) for seed in range(11)), ["line"])
    assert table(shared).splitlines()[:2] == table(alone).splitlines()[:2]
    for key, tally in alone.items():
        assert replace(shared[key], seconds=0.0) == replace(tally, seconds=0.0)
    assert lines[-1] == "11 problems, 0 false successes, 0 below baseline"


def test_few_problems_hold_what_they_promise() -> None:
    drawn = [random_problem(seed, 24) for seed in range(4)]
    lines: list[str] = []
    tallies = measure(drawn, ["line", "lanes", "cpu"], report=lines.append)
    assert sum(tally.solved for tally in tallies.values()) > 50
    assert not any(tally.false for tally in tallies.values()), lines
    assert all(tally.worst <= 1.0 for tally in tallies.values())
    assert len(table(tallies).splitlines()) == 2 + len(tallies)


def test_a_wrong_result_is_found(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    solve = cpu.solve

    def wrong(*arguments: object, **more: object) -> Solution:
        found = solve(*arguments, **more)  # type: ignore[arg-type]
        bound = found.error_bound if np.isfinite(found.error_bound) else 0.0
        return replace(found, value=found.value + 2.0 * bound)

    monkeypatch.setattr(cpu, "solve", wrong)
    drawn = random_problem(1, 24, horizon=False)
    tallies = measure([drawn], ["cpu"], verify=[False])
    assert tallies["cpu warm", False].false
    assert tallies["cpu warm", False].false[0][0] == 1
    assert main(["--problems", "1", "--first", "1", "--points", "24", "--devices", "cpu"]) == 1
    assert "cpu warm, not verified: seed 1: distance" in capsys.readouterr().out


def test_figures_below_the_baseline_are_found(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    solve = cpu.solve

    def failing(*arguments: object, method: str, **more: object) -> Solution:
        found = solve(*arguments, method=method, **more)  # type: ignore[arg-type]
        return replace(found, converged=False, residual=1.0) if method == "mpi" else found

    monkeypatch.setattr(cpu, "solve", failing)
    monkeypatch.setattr("beltline.host.solver.reference._or_others", lambda result, *_: result)
    drawn = random_problem(1, 24, horizon=False)
    lines: list[str] = []
    tallies = measure([drawn], ["cpu"], verify=[False], report=lines.append)
    below = {"cpu mpi given", "cpu mpi stay"}
    assert {name for (name, _), tally in tallies.items() if tally.below_baseline} == below
    assert any(line.endswith(": cpu mpi stay failed where cpu warm succeeds") for line in lines)
    assert main(["--problems", "1", "--first", "1", "--points", "24", "--devices", "cpu"]) == 1
    text = capsys.readouterr().out
    assert "cpu mpi stay, not verified: below baseline at seed 1" in text
    assert "0 false; 4 failures where 'warm' or plain sweeps of the same machine succeed." in text


@pytest.mark.parametrize("seed", [71, 641])
def test_nothing_is_below_baseline(seed: int) -> None:
    tallies = measure([random_problem(seed)], ["lanes", "cpu"])
    assert tallies["cpu warm", True].solved == 1
    assert not any(tally.below_baseline for tally in tallies.values())


def test_judgement() -> None:
    drawn = random_problem(1, 24, horizon=False)
    result = bl.solve(drawn.problem, tol=drawn.tol, device="cpu")
    solution = exact(drawn.problem)
    ratio, wrong = judge(result, solution)
    assert wrong == ""
    assert 0.0 <= ratio <= 1.0
    assert judge(replace(result, error_bound=np.inf), solution) == (0.0, "")
    assert judge(replace(result, error_bound=np.nan), solution)[1] == "the bound is nan"
    assert judge(replace(result, value=result.value + 1e9), solution)[1].startswith("distance 1e+09, bound ")
    dear = replace(result, policy=np.full_like(result.policy, 23), error_bound=np.inf)
    assert judge(dear, solution)[1] == "a choice is not affordable"
