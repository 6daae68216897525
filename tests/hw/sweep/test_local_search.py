"""The pass that searches locally for new choices, against full search."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beltline.hw.arithmetic.numbers import MINIMUM, WIDTH
from beltline.hw.arithmetic.utility import UtilityParameters
from beltline.hw.arithmetic.utility_constants import UtilityConstants
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.search.parameters import SearchParameters
from beltline.sim.cocotb_runner import run_bench
from support.local_searches import CASES, OUTPUTS, Probe, any_marks, cached_word, given_searches, handed, on_grid
from support.sweeps import MASK, row_writes

AMOUNT, VALUE = 40, 44


def problem(rng: np.random.Generator, build: SweepParameters, states: int) -> dict[str, Any]:
    """Return a grid, wealth and concave expected values in fixed point, and all objectives by full search."""
    grid, points = build.grid, build.grid // build.lanes
    x = np.cumsum(rng.uniform(0.5, 1.5, grid) * 8 / grid)
    w = np.sort(x[:, None] * rng.uniform(0.9, 1.2, states) + rng.uniform(0.05, 0.5, states), axis=0)
    ev = np.stack([np.log(x * rng.uniform(0.5, 2) + 0.3) * rng.uniform(2, 20) for _ in range(states)], axis=1)
    return {
        "x": np.rint(x * 2.0**AMOUNT).astype(np.int64),
        "w": np.rint(w * 2.0**AMOUNT).astype(np.int64),
        "ev": np.rint(ev * 2.0**VALUE).astype(np.int64),
        "points": points,
    }


def best(problem: dict[str, Any], lane: int, constants: UtilityConstants) -> dict[tuple[int, int], tuple[Any, ...]]:
    """Return ``(choice, u, feasible, value)`` for each state of a lane; ``u`` and ``feasible`` for all candidates."""
    found = {}
    for point in range(problem["points"]):
        for s in range(problem["w"].shape[1]):
            wealth = problem["w"][lane * problem["points"] + point, s]
            u, feasible, over = UtilityParameters().model(wealth - problem["x"], constants)
            assert not over.any()
            objectives = [
                int(a) + int(b) if f else None for a, b, f in zip(u, problem["ev"][:, s], feasible, strict=True)
            ]
            able = [o for o in objectives if o is not None]
            top = objectives.index(max(able)) if able else 0
            # A search need not find the highest of several peaks.
            assert all((a < b) == (k < top) for k, (a, b) in enumerate(itertools.pairwise(able)))
            found[point, s] = top, u, feasible, max(able) if able else MINIMUM
    return found


@pytest.mark.gateware
@CASES
def test_finds_what_full_search_finds(
    with_shared: Callable[..., dict[str, str]],
    tmp_path: Path,
    parameters: SearchParameters,
    lane: int,
    states: int,
    eta: float,
) -> None:
    build = parameters.build
    rng = np.random.default_rng(build.lanes)
    chance = random.Random(build.lanes)
    constants = UtilityConstants.of(eta, AMOUNT, VALUE)
    given = problem(rng, build, states)
    points = given["points"]
    expected = best(given, lane, constants)
    writes: list[dict[str, int]] = []
    tables = [(s, given["ev"][:, s]) for s in range(states)] + [(2 << build.state_bits, given["x"])]
    writes += row_writes(build, tables)
    old, guesses, failed = {}, {}, {}
    for position in range(points * states):
        point, s = divmod(position, states)
        guess = expected[point, s][0] + chance.choice((-40, -2, -1, 0, 0, 1, 2, 3, 100))
        guesses[position] = min(max(guess, 0), build.grid - 1)
        old[position] = chance.getrandbits(WIDTH)
        utilities = on_grid(*expected[point, s][1:3], guesses[position], build.grid)
        around = (min(max(guesses[position] + k, 0), build.grid - 1) for k in (-1, 0, 1))
        failed[point, s] = handed(position, guesses[position], utilities, [given["ev"][j, s] for j in around])
        writes.append(
            {
                "write": 2,
                "state_address": position,
                "state_wealth": int(given["w"][lane * points + point, s]) & MASK,
                "state_choice": guesses[position],
                "state_old": old[position],
                **({"state_cached": cached_word(utilities, chance)} if build.hands else {}),
            }
        )

    def hands_on(point: int, s: int) -> list[int] | None:
        return failed[point, s]

    # The first pass has no choices yet, and the last one searches all states.
    kinds = [(1, 1), (0, 0), (0, 0), (0, 0), (0, 0), (0, 1)]
    densities = (1.0, 1.0, 0.3, 0.02, 0.0, 0.0)
    searches = [
        any_marks(build, points, states, hands_on, density, force, chance)
        for density, (_, force) in zip(densities, kinds, strict=True)
    ]
    stimulus, results = tmp_path / "stimulus.json", tmp_path / "results.json"
    part = max(0, (points - 1).bit_length() - parameters.part_bits)
    settings = {
        "points": points,
        "last_state": states - 1,
        "last_index": build.grid - 1,
        "part_shift": part,
        "first_point": lane * points,
        "a": constants.a % 2**64,
        "b": constants.b % 2**72,
        "negative": int(constants.negative),
        "log": int(constants.log),
        "shift": constants.shift,
    }
    stimulus.write_text(
        json.dumps({"writes": writes, "constants": settings, "searches": given_searches(build, searches, kinds)})
    )
    run_bench(
        with_shared(Probe(parameters, lane)),
        "beltline.sim.benches.local_search",
        parameters={"stimulus": str(stimulus), "results": str(results), "outputs": OUTPUTS},
    )
    for marks, (cold, force), (clocks, found) in zip(searches, kinds, json.loads(results.read_text()), strict=True):
        wanted = sorted(point * states + s for point, s, mark, *_ in marks if mark or force)
        assert sorted(row[0] for row in found) == wanted
        for position, choice, moved, cached, value, before, infeasible, outside in found:
            assert cold or moved == (choice != guesses[position])
            top, u, feasible, objective = expected[divmod(position, states)]
            assert choice == top, position
            assert value == objective & MASK
            assert before == old[position]
            assert not infeasible
            assert not outside
            for k, j in enumerate((choice - 1, choice, choice + 1)):
                able = 0 <= j < build.grid and bool(feasible[j])
                assert cached >> (3 * WIDTH + k) & 1 == able, (position, j)
                if able:
                    assert cached >> WIDTH * k & MASK == int(u[j]) & MASK, (position, j)
        if not wanted:
            assert clocks < 6 * parameters.clocks
