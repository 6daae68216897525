"""The proof of a sweep in the software model, against full search in fixed point."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from beltline.host.models.rbc import rbc
from beltline.host.solver.fixed_point import Image, fixed_point
from beltline.hw.arithmetic.objective import INFEASIBLE
from beltline.hw.arithmetic.utility import UtilityParameters
from beltline.hw.interface.registers import STEPS_FIELD, Mode, Status
from beltline.hw.sweep import proof, software_proof
from beltline.hw.sweep.dealt import Dealt
from beltline.hw.sweep.model import SweepSoftwareMachine
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.proof import Proof
from beltline.hw.sweep.scan import parameters
from beltline.hw.sweep.scan.parameters import PERIOD
from beltline.hw.sweep.search.parameters import SearchParameters
from beltline.hw.sweep.software_passes import search_all, whole_grid
from beltline.hw.sweep.software_proof import SKIPPED, _best, bracket_all, divide_all
from support.machines import begun, proving_machine
from support.peaks import KINDS, FullSearch, savings
from support.random_problems import random_problem


def swept(machine: SweepSoftwareMachine, image: Image) -> tuple[NDArray[np.int64], NDArray[np.int64], bool]:
    """Yield for each sweep the value before it, its choices, and whether the run ended."""
    before = machine.v[: image.start.size].reshape(image.start.shape).copy()
    ended = machine.step()
    return before, machine.policy[: image.start.size].reshape(image.start.shape), ended


def test_a_single_peak_takes_two_rounds() -> None:
    image = fixed_point(rbc(grid=256, states=3), 1e-10)
    machine = begun(proving_machine(image, 4, general=False, logged=True), image)
    while not machine.step():
        pass
    assert machine.status == Status.DONE | Status.CONVERGED | Status.PROVEN
    assert {(one.rounds, one.searched) for one in machine.proven_by} == {(2, 0)}
    spent = [one.evaluations for one in machine.proven_by]
    # Only states at the ends of the grid have brackets to evaluate, and these shrink while the policy grows.
    assert spent[0] > 200 > spent[-1] > 0
    assert all(0 < one.clocks < whole for one, whole in zip(machine.proven_by, machine.sweep_clocks, strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_begins_from_the_choices_that_the_last_one_left(kind: str) -> None:
    """Stored choices change neither values nor choices, whatever they are, and save evaluations if they are close."""
    image = fixed_point(savings(kind, 7), 1e-6)
    points, states = image.start.shape
    of_run = points, states, image.epsilon, image.constants
    spent = []
    for mode, lanes in ((Mode(0), 2), (Mode.CHOICES, 2), (Mode.CHOICES, 8)):
        search = FullSearch(image)
        machine = begun(proving_machine(image, lanes, logged=True, general=False), image, sweep_limit=30)
        while not machine.step():
            pass
        machine.start(*of_run[:2], mode, 2, *of_run[2:])
        for _ in range(2):
            before, choices, _ = swept(machine, image)
            assert np.array_equal(choices, search(before, choices).choices)
        assert Status.PROVEN in machine.status
        spent.append((machine.evaluations[0], machine.sweep_clocks[0]))
        machine.policy[: image.start.size] = np.random.default_rng(3).integers(0, points, image.start.size)
        machine.start(*of_run[:2], mode, 1, *of_run[2:])
        before, choices, _ = swept(machine, image)
        assert np.array_equal(choices, search(before, choices).choices)
    assert spent[1][0] < spent[0][0]
    assert spent[1][1] < spent[0][1]


def rough(seed: int, points: int = 70, states: int = 2) -> tuple[Image, NDArray[np.int64]]:
    """Return a random problem, in a third of all draws with high wealth, and random rising expected values."""
    rng = np.random.default_rng(seed)
    image = fixed_point(savings("jumps" if seed % 2 else "uneven", seed, points, states), 1e-6)
    if seed % 3 == 0:
        image.wealth[:] += round(8.0 / image.amount_unit)
    steps = rng.exponential(size=(points, states)) ** 3
    return image, (image.value_unit**-1 * 0.02 * steps.cumsum(axis=0)).astype(np.int64)


def proof_of(
    image: Image, ev: NDArray[np.int64], begin: NDArray[np.int64], lanes: int = 2, shares: bool = False
) -> Proof:
    """Return the proof of the choices that local searches find from ``begin``."""
    points, states = ev.shape
    dealt = Dealt(SearchParameters(SweepParameters(128, 8 if shares else 2, lanes, general=shares)), points, states)
    assert dealt.shares == shares
    choices, cached = begin.copy(), np.full((*ev.shape, 3), INFEASIBLE, np.int64)
    value, moves = np.zeros_like(ev), np.zeros((lanes, dealt.search.contexts), np.int64)
    every = np.ones(ev.shape, np.bool_)
    tables = image.grid, image.wealth, ev, image.constants
    search_all(dealt, *tables, every, begin, choices, cached, value, moves, exact=True)
    return Proof(dealt, *tables, choices, cached, value, np.zeros(lanes, np.bool_))


@pytest.mark.parametrize("shares", [False, True])
@pytest.mark.parametrize("period", [4, PERIOD, 10_000])
def test_any_first_policy_is_repaired(period: int, shares: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proofs repair any first policy, by divide and conquer after two rounds or after more, and by rounds alone."""
    monkeypatch.setattr(parameters, "PERIOD", period)
    monkeypatch.setattr(proof, "LIMIT", 10_000)
    divided = moved = 0
    for seed in range(12):
        image, ev = rough(seed)
        begin = np.random.default_rng(seed).integers(0, ev.shape[0], ev.shape)
        done = proof_of(image, ev, begin, shares=shares)
        for x, s in itertools.product(*map(range, ev.shape)):
            u, feasible, _ = UtilityParameters().model(image.wealth[x, s] - image.grid, image.constants)
            objectives = [int(a) + int(b) for a, b, good in zip(u, ev[:, s], feasible, strict=True) if good]
            assert done.choices[x, s] == objectives.index(max(objectives)), (seed, x, s)
            assert done.value[x, s] == max(objectives)
            # The next check compares these cached utilities.
            for k, j in enumerate(range(done.choices[x, s] - 1, done.choices[x, s] + 2)):
                good = 0 <= j < ev.shape[0] and feasible[j]
                assert done.cached[x, s, k] == (u[j] if good else INFEASIBLE)
        assert done.proven
        divided += done.divided
        moved += int(done.moved.sum())
        assert done.divided == sum(one.divide for one in done.rounds)
        # What divide and conquer has found is the best of all candidates, in every lane.
        assert not any(one.moved.any() for one in done.rounds[period:])
        widths = [(one.highest - one.lowest + 1)[one.lowest >= 0].sum() for one in done.rounds]
        assert done.evaluations > sum(widths)
    assert moved > 100
    assert (divided > 0) == (period <= PERIOD)


def test_brackets_of_the_ends_that_lanes_share() -> None:
    """Rounds skip an end whose shared brackets have no better candidate, until a choice of its lane is written."""
    kept = dropped = refused = 0
    for seed in range(60):
        image, ev = rough(seed)
        rng = np.random.default_rng(seed)
        # Only some points begin elsewhere than at the best choices.
        begin = proof_of(image, ev, np.zeros_like(ev)).choices.copy()
        strays = rng.random(ev.shape) < rng.choice([0.0, 0.02, 0.3])
        begin[strays] = rng.integers(0, ev.shape[0], int(strays.sum()))
        alone, shared = (proof_of(image, ev, begin, shares=shares) for shares in (False, True))
        np.testing.assert_array_equal(shared.choices, alone.choices)
        np.testing.assert_array_equal(shared.value, alone.value)
        np.testing.assert_array_equal(shared.cached, alone.cached)
        assert alone.shared is None
        one = shared.shared
        assert one is not None
        assert not one.moved.any()
        assert (one.lowest[1:-1] == SKIPPED).all()
        for number, (a, b) in enumerate(zip(alone.rounds, shared.rounds, strict=True)):
            np.testing.assert_array_equal(a.moved, b.moved)
            for end, lane in ((0, slice(64)), (-1, slice(64, None))):
                examined = (a.lowest[end] != SKIPPED).any() and not a.divide
                skipped = examined and (b.lowest[end] == SKIPPED).all()
                if examined:
                    before = any(r.moved[lane].any() for r in shared.rounds[:number])
                    assert not (skipped and before)
                    kept += skipped
                    dropped += before
                    refused += not skipped and not before
                    assert skipped or before or any(r.moved[[0, -1]].any() for r in alone.rounds)
    assert min(kept, dropped, refused) > 3


@pytest.mark.parametrize("top", [False, True])
def test_the_ends_of_the_grid_look_to_the_ends_of_the_candidates(top: bool) -> None:
    """If all searches end on the same wrong peak, the brackets of the first and last points, which reach to the first
    and last candidates, contain the better one.
    """
    image, ev = rough(1)
    image.wealth[:] += round(40.0 / image.amount_unit)
    points, _ = ev.shape
    best, other = (points - 1, 0) if top else (0, points - 1)
    slope = np.arange(points)[:, None] * round(1.0 / image.value_unit)
    ev[:] = -slope if top else slope
    ev[best] = 2**60
    done = proof_of(image, ev, np.full(ev.shape, other))
    assert done.proven
    assert done.moved.all()
    for x, s in np.ndindex(ev.shape):
        u, feasible, _ = UtilityParameters().model(image.wealth[x, s] - image.grid, image.constants)
        assert feasible.all()
        assert np.argmax(u + ev[:, s]) == best
    assert (done.choices == best).all()


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("firsts", [False, True])
def test_rounds_that_divide(firsts: bool, turned: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Divide and conquer compares all candidates of first points, then those between choices found, in any order of
    lanes; it leaves out a state whose bracket is its choice.
    """
    monkeypatch.setattr(software_proof, "prange", lambda count: range(count)[:: -1 if turned else 1])
    size = 16
    ends_moved = left_out = 0
    for seed in range(4):
        image, ev = rough(seed)
        rows, states = ev.shape
        before = np.random.default_rng(seed).integers(0, rows, ev.shape)
        # One choice in both states of 20 points, and in the second state of all: their brackets are that choice.
        before[20:40] = 33
        before[:, 1] = 12
        limits = whole_grid(rows, states)
        limits[:, 0, 1] = 12
        choices, wanted = before.copy(), before.copy()
        lowest, highest = np.full((2, *ev.shape), SKIPPED, np.int64)
        moved, flags = np.zeros(ev.shape, np.bool_), np.zeros(rows, np.uint8)
        results = lowest, highest, moved, flags
        tables = image.grid[None], image.wealth, ev, image.constants.words, limits
        divide_all.py_func(*tables, size.bit_length() - 1, firsts, choices, *results)
        order = [(i, 0) for i in range(0, rows, size)]
        if not firsts:
            order = [
                (first + i, distance)
                for distance in (8, 4, 2, 1)
                for first in range(0, rows, size)
                for i in range(distance, min(size, rows - first), 2 * distance)
            ]
        for (i, distance), s in itertools.product(order, range(states)):
            sides = limits[:, 0, s].tolist()
            if distance:
                sides = [wanted[i - distance, s], wanted[i + distance, s] if i + distance < rows else limits[1, 0, s]]
            lo, hi = min(sides), max(sides)
            if lo == hi == wanted[i, s]:
                left_out += 1
                assert lowest[i, s] == SKIPPED
                continue
            assert (lowest[i, s], highest[i, s]) == (lo, hi), (seed, i, s)
            u, feasible, _ = UtilityParameters().model(image.wealth[i, s] - image.grid, image.constants)
            able = [j for j in range(lo, hi + 1) if feasible[j]]
            wanted[i, s] = max(able, key=lambda j: (int(u[j]) + int(ev[j, s]), -j), default=before[i, s])
        assert np.array_equal(choices, wanted)
        assert np.array_equal(moved, wanted != before)
        assert not flags.any()
        ends_moved += int(moved[:: size if firsts else 1].any(axis=1).sum())
    assert ends_moved > 10
    assert left_out > 10


def test_rounds_are_the_same_on_all_lanes_until_one_divides() -> None:
    """Rounds do not depend on the number of lanes before divide and conquer, and the result never does."""
    for seed in range(6):
        image, ev = rough(seed)
        begin = np.random.default_rng(seed).integers(0, ev.shape[0], ev.shape)
        one, two = (proof_of(image, ev, begin, lanes) for lanes in (1, 8))
        assert len(one.rounds) > 3
        assert len(one.rounds) == len(two.rounds) or len(one.rounds) >= PERIOD
        for a, b in zip(one.rounds[: PERIOD - 2], two.rounds, strict=False):
            assert np.array_equal(a.lowest, b.lowest)
            assert np.array_equal(a.highest, b.highest)
            assert np.array_equal(a.moved, b.moved)
            # Odd points, then even ones.
            assert (a.lowest[1 - a.odd :: 2] < 0).all()
        assert [a.odd for a in one.rounds[: PERIOD - 2]] == ([1, 0] * 4)[: len(one.rounds)]
        for table in ("choices", "cached", "value", "proven"):
            assert np.array_equal(getattr(one, table), getattr(two, table))


def test_the_lowest_of_equals_is_found() -> None:
    """A proof finds the lowest candidate where expected values offset utility, so that all but one are equal."""
    image, _ = rough(1)
    x, s = 50, 0
    u, feasible, _ = UtilityParameters().model(image.wealth[x, s] - image.grid, image.constants)
    assert feasible[:12].all()
    assert not feasible[-1]
    ev = np.zeros_like(image.wealth)
    ev[:12, s] = -u[:12]
    ev[3, s] -= 1

    def best(lo: int, hi: int, own: int) -> int:
        return int(_best(image.wealth[x, s], image.grid, ev, s, image.constants.words, lo, hi, own)[0])

    assert best(0, 9, 5) == 0
    assert best(3, 9, 7) == 4
    assert best(3, 3, 5) == 3
    # If no candidate of the bracket is affordable, the choice stays.
    top = ev.shape[0] - 1
    assert best(top, top, 7) == 7


def test_a_repair_begins_at_its_candidate() -> None:
    """With ``exact``, a search starts from the candidate that it is given, wherever the search before it ended."""
    image, _ = rough(2)
    ev = np.zeros_like(image.wealth)
    points, states = ev.shape
    dealt = Dealt(SearchParameters(SweepParameters(128, 2, 1), 2), points, states)
    every = np.ones(ev.shape, np.bool_)
    begin = np.full(ev.shape, 3)
    cached, value, moves = np.zeros((*ev.shape, 3), np.int64), np.zeros_like(ev), np.full((1, 2), 7)
    tables = image.grid, image.wealth, ev, image.constants
    done = search_all(dealt, *tables, every, begin, begin.copy(), cached, value, moves, room=4_000, exact=True)
    for context in range(2):
        probes = done.probes[context, : done.counts[context // 2, context]]
        firsts = [probes[0], *(probe for last, probe in itertools.pairwise(probes) if last & 1)]
        assert len(firsts) == points
        assert {int(probe) >> 1 for probe in firsts} == {3}


def test_a_proof_that_runs_out_of_rounds_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof, "LIMIT", PERIOD + 1)
    unproven = 0
    for seed in range(12):
        image, ev = rough(seed)
        done = proof_of(image, ev, np.random.default_rng(seed).integers(0, ev.shape[0], ev.shape))
        assert done.proven or len(done.rounds) == PERIOD + 1
        unproven += not done.proven
    assert unproven > 0


def test_a_candidate_that_rounds_to_nearly_the_same_may_be_chosen() -> None:
    """A proof may choose a candidate that is worse by rounding alone, as utilities are a few units of value."""
    image = fixed_point(random_problem(61, horizon=False).problem, 1e-6)
    machine = begun(proving_machine(image, 4, general=False), image, sweep_limit=1)
    before, choices, ended = swept(machine, image)
    assert ended
    found = FullSearch(image)(before, choices)
    (where,) = np.argwhere(choices != found.choices)
    assert found.short[tuple(where)] == 1


def test_choices_that_cross_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    image, ev = rough(1)
    begin = np.zeros(ev.shape, np.int64)
    assert proof_of(image, ev, begin).proven
    seen = []

    def crossing(*arguments: Any) -> None:
        *_, crossed, _ = arguments
        bracket_all(*arguments)
        seen.append(crossed.any())
        crossed[-1] = True

    monkeypatch.setattr(proof, "bracket_all", crossing)
    assert not proof_of(image, ev, begin).proven
    assert not seen[-1]


def test_choices_that_a_proof_moved_back_are_checked_again() -> None:
    """The next sweep checks choices that a proof moved back, as local searches would leave them again."""
    image = fixed_point(random_problem(14, horizon=False).problem, 1e-6)
    machine = begun(proving_machine(image, 4, general=False), image)
    while not machine.step():
        pass
    assert machine.status == Status.DONE | Status.CONVERGED | Status.PROVEN
    late = machine.searched[machine.sweeps // 2 :]
    assert sum(late) < 0.02 * image.start.size * len(late)


def test_evaluation_steps_and_failed_sweeps_prove_nothing() -> None:
    image = fixed_point(savings("jumps"), 1e-6)
    machine = begun(proving_machine(image, general=False), image)
    machine.start(*image.start.shape, Mode(3 << STEPS_FIELD.start), 100, image.epsilon, image.constants)
    rounds = []
    for _ in range(9):
        machine.step()
        rounds.append(machine.proven_by[-1].rounds > 0)
    assert rounds == [True, False, False, False] * 2 + [True]
    machine.stop()
    assert machine.step()
    assert machine.status == Status.DONE | Status.STOPPED
    image.wealth[0, 0] = image.grid[0]
    machine = begun(proving_machine(image, general=False), image)
    assert machine.step()
    assert machine.status == Status.DONE | Status.INFEASIBLE


@pytest.mark.parametrize("divide", [False, True])
def test_a_utility_that_leaves_its_range_in_a_bracket_ends_the_run(
    divide: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run ends if the bracket of the first point evaluates a utility out of range, though no search did."""
    if divide:
        monkeypatch.setattr(parameters, "PERIOD", 2)
        monkeypatch.setattr(proof, "LIMIT", 1)
    image, ev = rough(1)
    ev[0] -= 2**60
    begin = np.full(ev.shape, ev.shape[0] - 1)
    assert proof_of(image, ev, begin).status == Status(0)
    image.wealth[:] = 2**62 + 2**61
    assert proof_of(image, ev, begin).status == Status(0)
    image.grid[0] = -(2**62)
    assert proof_of(image, ev, begin).status == Status.SATURATED
