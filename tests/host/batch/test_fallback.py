"""Problems of a batch that an accelerated method cannot solve are solved by one with fewer assumptions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import beltline as bl
from beltline.gpu_ref.cuda import solver as cuda
from beltline.gpu_ref.methods import Solution
from beltline.host.batch.neighbours import Neighbours
from beltline.host.results.outcome import Outcome
from beltline.host.solver.complete import Completed
from support.batches import TOL, many, tiny
from support.fakes import on_processor


def solved(count: int, **options: Any) -> list[bl.Attempt]:
    return list(bl.solve_many(many(count), **{"tol": TOL, "progress": False, "device": "emulator"} | options))


@pytest.mark.parametrize("wrong", ["value", "sweeps"])
def test_on_a_graphics_card(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*arguments: Any, method: str, **more: Any) -> Solution:
        found = on_processor(*arguments, method=method, **more)
        if method == "warm" or arguments[4] < tiny(2).beta:
            return found
        if wrong == "value":
            return replace(found, value=found.value + np.linspace(0.0, 1.0, found.value.shape[0])[:, None])
        return replace(found, residual=1.0, converged=False, sweeps=10_000)

    def batch(
        tables: Any, epsilon: float, max_sweeps: int, method: str, *, contractions: Any, seen: Any, **options: Any
    ) -> list[Solution]:
        found = [failing(*one, epsilon, max_sweeps, method=method, **options) for one in tables]
        for number, one in enumerate(found):
            seen(number, one)
        return found

    monkeypatch.setattr(cuda, "available", lambda: "")
    monkeypatch.setattr(cuda, "solve_batch", batch)
    monkeypatch.setattr(cuda, "solve", failing)
    attempts = solved(4, device="gpu", chunk=4)
    assert all(attempt.success for attempt in attempts)
    failed = [attempt.result.method == "warm" for attempt in attempts if attempt.result is not None]
    assert failed == [tiny(number).beta >= tiny(2).beta for number in range(4)]
    for attempt in attempts:
        assert attempt.result is not None
        assert ("Method 'warm' replaced 'shift', which had failed: " in attempt.result.message) == (
            attempt.result.method == "warm"
        )


def test_a_neighbour_that_is_a_bad_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def far(neighbours: Neighbours, work: Any) -> Any:
        # In a convex problem the staged search ends at the last grid point.
        square = np.arange(work.image.start.shape[0], dtype=np.int64)[:, None] ** 2
        return np.broadcast_to(square << 40, work.image.start.shape).copy()

    plain = solved(3)
    monkeypatch.setattr(Neighbours, "nearest", far)
    result = Completed.result

    def missed(completed: Completed, *arguments: Any) -> bl.Result:
        found = result(completed, *arguments)
        if (completed.work.image.start[-1] == (completed.work.problem.points - 1) ** 2 << 40).all():
            return replace(found, success=False, status=Outcome.NOT_VERIFIED.value, message="A maximum was missed.")
        return found

    monkeypatch.setattr(Completed, "result", missed)
    attempts = solved(3, warm=True)
    for attempt, expected in zip(attempts, plain, strict=True):
        assert attempt.success
        assert attempt.result is not None
        assert expected.result is not None
        np.testing.assert_array_equal(attempt.result.value, expected.result.value)
        assert attempt.result.message.endswith(
            "Plain sweeps replaced those from another problem's values, which had failed: A maximum was missed."
        )


def test_shifts_that_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = solved(2, lanes=2)
    result = Completed.result

    def missed(completed: Completed, *arguments: Any) -> bl.Result:
        found = result(completed, *arguments)
        if completed.work.options.shift:
            return replace(found, success=False, status=Outcome.NOT_VERIFIED.value, message="A maximum was missed.")
        return found

    monkeypatch.setattr(Completed, "result", missed)
    for attempt, expected in zip(solved(2, lanes=2, method="shift"), plain, strict=True):
        assert attempt.success
        assert attempt.result is not None
        assert expected.result is not None
        np.testing.assert_array_equal(attempt.result.value, expected.result.value)
        assert attempt.result.message.endswith(
            "Plain sweeps replaced shifted ones, which had failed: A maximum was missed."
        )
