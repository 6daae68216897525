"""Problems of the general form on a CUDA device. Skipped, with the reason, if there is no device."""

from __future__ import annotations

import numpy as np
import pytest

from beltline.gpu_ref.cuda import general as cuda
from beltline.gpu_ref.cuda import general_sweeps
from beltline.gpu_ref.cuda.device import available, ready
from beltline.gpu_ref.general import Branch, Form, Outside
from beltline.gpu_ref.general.packed import TABLE
from beltline.gpu_ref.general.solve import solve
from beltline.host.models.arellano.model import arellano
from support.general_sweeps import random_sweeps, sweep
from support.random_forms import random_form

gpu = pytest.mark.skipif(bool(available()), reason=available() or "there is a device")

SMALL_TEAMS = {"ROWS_ALONE": 0, "ROWS": 8}


def firm(states: int = 3, points: int = 700) -> Form:
    grid = np.linspace(0.0, 4.0, points)[:, None] + np.zeros(states)
    chain = np.full((states, states), 0.3 / states) + 0.7 * np.eye(states)
    productivity = np.linspace(0.8, 1.2, states)
    wealth = grid + productivity * np.sqrt(grid)
    stay = Branch("stay", 0, wealth=wealth, cost=grid, transition=chain, beta=0.9, kappa=-0.1)
    return Form((stay, Outside("exit", 0, 0.9 * grid)), eta=0.0)


def on_device(form: Form, age: int) -> cuda.CudaOperator:
    return cuda.CudaOperator(ready(), form, age)


@gpu
@pytest.mark.parametrize("teams", [False, True])
def test_sweeps_against_full_search(teams: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SMALL_TEAMS.items() if teams else ():
        monkeypatch.setattr(general_sweeps, name, value)
    assert sum(1 for seed in range(1000, 1060) for _ in random_sweeps(random_form(seed, 60), on_device)) > 120


@gpu
@pytest.mark.parametrize("teams", [False, True])
def test_rounding_is_bounded_as_on_the_processor(teams: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bounds agree, up to larger rounding of power and logarithm on the device, and fewer terms of a full
    search.
    """
    for name, value in SMALL_TEAMS.items() if teams else ():
        monkeypatch.setattr(general_sweeps, name, value)
    compared = 0
    for seed in range(40):
        drawn = random_form(seed, 40)
        here = sweep(drawn.form, drawn.value, drawn.policy)
        there = sweep(drawn.form, drawn.value, drawn.policy, 0, on_device)
        assert np.isfinite(here.slack) == np.isfinite(there.slack)
        if np.isfinite(here.slack):
            least = here.slack * (0.9 if here.searched == there.searched else 0.2)
            assert least <= there.slack <= here.slack * 4.0 + 1e-300, seed
            assert np.abs(here.value - there.value).max() <= here.slack + there.slack
            compared += 1
    assert compared > 20


@gpu
@pytest.mark.parametrize("bonds", [25, 151, 2501])
@pytest.mark.parametrize("steps", [0, 20])
def test_default_has_the_bits_of_the_processor(bonds: int, steps: int) -> None:
    """Values have the processor's bits, because utility is a division and sums have the same order."""
    country = arellano(bonds, 5)
    form = country.problem().form
    here = solve(form, tol=1e-8, update=country.update, steps=steps, corrected=False)
    seconds: dict[str, float] = {}
    there = cuda.solve(form, tol=1e-8, update=country.update, steps=steps, seconds=seconds)
    assert there.success
    assert there.sweeps == here.sweeps
    for name in ("value", "values", "policy", "choice", "prices"):
        assert np.array_equal(getattr(there, name), getattr(here, name)), name
    assert there.price_change == here.price_change
    assert there.residual == here.residual
    assert here.error_bound * 0.9 <= there.error_bound <= here.error_bound * 1.1
    assert set(seconds) >= {"load", "solve", "read"}


@gpu
def test_launches_go_on_where_the_last_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    country = arellano(51, 5)
    form = country.problem().form
    whole = cuda.solve(form, tol=1e-8, update=country.update, steps=3)
    monkeypatch.setattr(general_sweeps, "CHUNK", 7)
    lines: list[int] = []
    parts = cuda.solve(form, tol=1e-8, update=country.update, steps=3, progress=lambda sweeps, _: lines.append(sweeps))
    assert lines == [*range(7, whole.sweeps, 7), whole.sweeps]
    assert np.array_equal(parts.value, whole.value)
    assert np.array_equal(parts.evaluations[:7], whole.evaluations[:7])
    assert parts.evaluations.size == whole.evaluations.size == whole.sweeps


@gpu
def test_limits_ages_and_shocks() -> None:
    form = firm()
    few = cuda.solve(form, max_sweeps=4)
    assert few.status == "sweep limit"
    assert few.sweeps == 4
    here, there = solve(form, tol=1e-9, steps=20, corrected=False), cuda.solve(form, tol=1e-9, steps=20)
    assert there.success
    assert np.abs(here.value - there.value).max() <= here.error_bound + there.error_bound
    for seed in range(40):
        drawn = random_form(seed, 30)
        if drawn.form.horizon is None:
            continue
        here, there = solve(drawn.form, drawn.value), cuda.solve(drawn.form, drawn.value)
        assert here.status == there.status
        finite = np.isfinite(here.value)
        assert np.array_equal(finite, np.isfinite(there.value))
        if here.success:
            assert np.abs(here.value - there.value).max() <= here.error_bound + there.error_bound


@gpu
def test_a_value_that_overflows_is_no_success() -> None:
    grid = np.linspace(1e-200, 1.0, 30)[:, None]
    form = Form(
        (Branch("save", 0, wealth=1e-200 + grid * 0.0, cost=0.0 * grid, transition=np.eye(1), beta=0.9),), eta=10.0
    )
    found = cuda.solve(form)
    assert found.status == "not finite"
    assert not found.success
    assert "utility overflows" in found.message


def test_what_a_device_does_not_take_is_refused() -> None:
    form = firm(1, 5)
    with pytest.raises(ValueError, match="on a CUDA device update must be BondPrices, not function"):
        cuda.solve(form, update=lambda last: None)  # type: ignore[arg-type, return-value]
    with pytest.raises(ValueError, match="tol must"):
        cuda.solve(form, tol=-1.0)
    shape = (5, 1)
    many = tuple(Outside(f"leave {n}", 0, np.zeros(shape)) for n in range(17))
    with pytest.raises(ValueError, match="a CUDA device takes at most 16 alternatives and 8 regimes, not 17 and 1"):
        cuda.CudaOperator(None, Form(many, eta=1.0))


def test_memory_counts_every_table() -> None:
    """The memory counted exceeds that of the tables of each state: for an alternative, nine of 8 bytes and six of 4."""
    assert general_sweeps.memory(3, 2, 51, 251) > 51 * 251 * (3 * 96 + 2 * 28)
    assert TABLE == 2
