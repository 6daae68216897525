"""Families of problems: the same answers as one by one, on the processor and with the card's part replaced."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import beltline as bl
from beltline.gpu_ref import cpu
from beltline.gpu_ref.confirmation import confirmed
from beltline.gpu_ref.cuda import family as cuda_family
from beltline.gpu_ref.cuda.device import available
from beltline.host.batch import family

RATES = {"beta": [0.9, 0.95, 0.96], "rate": [0.02, 0.03, 0.0]}


def savings(xp: Any, beta: Any, rate: Any) -> dict[str, Any]:
    """Savings on 150 x 2 states; a rate of 9 makes a table not finite, one of 8 a chain that does not sum to 1."""
    grid, income = xp.linspace(0.0, 12.0, 150), xp.array([0.4, 1.5])
    wealth = (1.0 + rate[:, None, None]) * grid[:, None] + income
    wealth = xp.where(rate[:, None, None] == 9.0, xp.nan, wealth)
    chain = xp.array([[0.9, 0.1], [0.1, 0.9]]) * xp.where(rate == 8.0, 0.5, 1.0)[:, None, None]
    return {"grid": grid, "wealth": wealth, "transition": chain, "beta": beta, "eta": 2.0}


class Array(np.ndarray[Any, Any]):
    """An array of a card."""

    def get(self) -> Any:
        return np.array(self)


class Card:
    """CuPy, by NumPy."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        if isinstance(found, type) or not callable(found):
            return found
        return lambda *arguments, **options: np.asanyarray(found(*arguments, **options)).view(Array)


def on_processor(
    X: Any, W: Any, Q: Any, beta: Any, eta: Any, epsilon: float, max_sweeps: int, moduli: Any
) -> cuda_family.Family:
    """Return what the card would."""
    rows: list[tuple[Any, ...]] = []
    for x, w, q, b, e, modulus in zip(map(np.array, X), map(np.array, W), Q, beta, eta, moduli, strict=True):
        if not np.isfinite(w).all() or abs(q.sum(axis=1) - 1.0).max() > 1e-9:
            rows.append((np.full(w.shape, np.nan), np.zeros(w.shape, np.int32), 0, False, np.inf, np.inf))
            continue
        one = cpu.solve(x, w, q, np.zeros(w.shape), b, e, epsilon, max_sweeps, method="mpi", start="coarse")
        same = confirmed(x, w, q, one.value, b, e, one.value, one.policy, modulus * one.residual)
        assert same is not None
        rows.append((one.value, one.policy, one.sweeps, one.converged, *same[:2]))
    return cuda_family.Family(*map(np.array, zip(*rows, strict=True)))


@pytest.fixture
def card(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Replace the card by the processor, unless there is one or it is not asked for; return the name of the device."""
    if request.param == "gpu" and available():
        monkeypatch.setitem(sys.modules, "cupy", Card())
        monkeypatch.setattr(family, "reference_module", lambda _: None)
        monkeypatch.setattr(cuda_family, "solve_family", on_processor)
    return str(request.param)


@pytest.mark.parametrize("card", ["cpu", "gpu"], indirect=True)
def test_each_problem_has_the_solution_that_it_has_alone(card: str) -> None:
    found = bl.solve_family(savings, RATES, device=card, progress=False)
    assert len(found) == 3
    assert found.device == card
    assert found.success.all(), found.messages
    for i, beta in enumerate(RATES["beta"]):
        problem = family.problem_of(savings, found.parameters, i)
        alone = bl.solve(problem, device="cpu", progress=False)
        assert problem.beta == beta
        distance = float(np.abs(found.value[i] - alone.value).max())
        assert distance <= found.error_bound[i] + alone.error_bound
        check = bl.certify(problem, found.value[i], found.policy[i])
        assert check.error_bound <= 2.0 * found.error_bound[i] + 1e-12
    one = found[-1]
    assert (one.success, one.problem.parameters["rate"]) == (True, 0.0)
    assert "3 of 3" in str(found)


@pytest.mark.parametrize("card", ["cpu", "gpu"], indirect=True)
def test_a_problem_that_is_refused_does_not_stop_the_others(card: str) -> None:
    found = bl.solve_family(savings, {"beta": [0.9, 0.9, 0.9, 1.5], "rate": [0.0, 9.0, 8.0, 0.0]}, device=card)
    assert found.success.tolist() == [True, False, False, False]
    assert sorted(found.messages) == [1, 2, 3]
    assert "finite" in found.messages[1]
    assert "sum" in found.messages[2]
    assert "beta" in found.messages[3]
    # Also if it is the first.
    assert bl.solve_family(savings, {"beta": [0.9, 0.9], "rate": [9.0, 0.0]}, device=card).success.tolist() == [
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parameters": {}}, "parameters must map names to arrays"),
        ({"parameters": {"beta": [0.9], "rate": [0.1, 0.2]}}, "equally many"),
        ({"parameters": {"beta": ["x"], "rate": [0.1]}}, "parameter 'beta' must be an array of real numbers"),
        ({"parameters": {"beta": 0.9, "rate": [0.1]}}, "one value for each problem"),
        ({"device": "f2"}, "device of a family must be"),
        ({"family": lambda xp, beta, rate: {"grid": rate}}, "must return a mapping with grid, wealth"),
        ({"family": lambda xp, **columns: {**savings(xp, **columns), "eta": [1.0] * 7}}, "eta of a family must have"),
    ],
)
def test_wrong_arguments_are_named(change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"family": savings, "parameters": RATES, "device": "cpu"} | change
    with pytest.raises(bl.ProblemError, match=message):
        bl.solve_family(given.pop("family"), given.pop("parameters"), **given)
