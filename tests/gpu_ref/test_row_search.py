"""The search of a row: ties go to the lower choice, and proven choices are those of full search."""

from __future__ import annotations

import numpy as np
import pytest

from beltline.gpu_ref.exact import divide_and_conquer
from beltline.gpu_ref.proven_groups import GROUP, all_known, disturb
from beltline.gpu_ref.row_search import (
    CLOSE,
    FAILED,
    FALLING,
    FAR,
    KNOWN,
    MOVED,
    ROUNDING,
    STAYED,
    Cached,
    _until,
    bisect,
    cache_row,
    changes,
    guessed_row,
    local_search,
    proven_row,
    settle,
    shape,
    stays,
    utility,
)
from beltline.gpu_ref.window_clocks import blocks, length, measure_blocks, pass_all, pass_windows, window

from .rows import cached_of, random_row, stepped_row

CONSUMPTION = 2.0 ** np.arange(5.0, -1.0, -1.0)
"""Consumption of each choice, for which ``-1/c`` and sums with it are exact."""

WEALTH = 40.0
X = WEALTH - CONSUMPTION
UTILITY = -1.0 / CONSUMPTION


def expected(objectives: list[float]) -> np.ndarray:
    """Return the ``EV``, with its padding at both ends, for which the choices have these objectives."""
    return np.array([-np.inf, *(np.array(objectives) - UTILITY), -np.inf])


@pytest.mark.parametrize(
    ("objectives", "lowest"),
    [
        ([1.0, 2.0, 3.0, 3.0, 2.0, 1.0], 2),
        ([3.0, 3.0, 2.0, 1.0, 0.0, -1.0], 0),
        ([1.0, 2.0, 3.0, 4.0, 5.0, 5.0], 4),
        ([1.0, 2.0, 3.0, 4.0, 3.0, 2.0], 3),
    ],
)
def test_the_lower_of_two_that_tie(objectives: list[float], lowest: int) -> None:
    ev = expected(objectives)
    assert bisect(X, WEALTH, 2.0, ev) == lowest
    for start in range(X.size):
        found, below, here, above, objective = local_search(X, WEALTH, 2.0, ev, start)
        assert found == lowest, start
        assert (here, objective) == (UTILITY[lowest], UTILITY[lowest] + ev[lowest + 1])
        assert lowest == 0 or below == UTILITY[lowest - 1]
        assert lowest == X.size - 1 or above == UTILITY[lowest + 1]


def clocks_at(grid: int, clock: float) -> np.ndarray:
    """Return clocks of all windows of this number of candidates, all with the same reading."""
    clocks = np.zeros(length(grid))
    clocks[0] = clock
    return clocks


def unknown(points: int) -> np.ndarray:
    """Return ``quiet`` of a piece of which nothing is proven."""
    return np.full(blocks(points), -np.inf)


NO_RIVAL = 0, -np.inf
"""Rival and its utility, for a state without a rival."""


def settled(
    row: Cached, ev: np.ndarray, clocks: np.ndarray, low: int, high: int, rival: tuple[int, float] = NO_RIVAL
) -> tuple[bool, tuple[int, float]]:
    """Let the only row take the best choice from ``low`` to ``high``; return whether its choice stays, and its
    rival.
    """
    p = row.policy[0]
    cached = (p, row.below[0], row.here[0], row.above[0], row.until[0], row.low[0], row.high[0])
    q, row.until[0], row.low[0], row.high[0], *found = settle(X, WEALTH, 2.0, ev, clocks, *cached, *rival, low, high)
    if q != p:
        until = row.until[0]
        row.policy[0] = q
        cache_row(X, np.array([WEALTH]), 2.0, row)
        row.until[0] = until
    return bool(q == p), (found[0], found[1])


@pytest.mark.parametrize("cached", [2, 3])
def test_a_cached_choice_stays_where_it_is_the_lower_of_two_that_tie(cached: int) -> None:
    ev = expected([1.0, 2.0, 3.0, 3.0, 2.0, 1.0])
    row = cached_of(np.array([cached]))
    for utilities, step in ((row.below, -1), (row.here, 0), (row.above, 1)):
        utilities[0] = UTILITY[cached + step]
    value = np.zeros(1)
    moved, least, most = guessed_row(
        X, np.array([WEALTH]), 2.0, ev, clocks_at(6, 0.0), row, np.zeros(1), value, unknown(1)
    )
    assert (moved, row.policy[0], value[0], least, most) == (cached != 2, 2, 3.0, 3.0, 3.0)
    assert (row.below[0], row.here[0], row.above[0]) == tuple(UTILITY[1:4])


def test_the_choice_of_a_state_that_can_afford_nothing_does_not_move() -> None:
    """A state that can afford nothing reports no moved choice, since its chunk would otherwise be searched in every
    sweep.
    """
    for choice, moves in ((0, 1), (-1, 0)):
        row, value = cached_of(np.array([choice])), np.zeros(1)
        ev, clocks = expected([0.0] * 6), clocks_at(6, 0.0)
        found = guessed_row(X, X[:1] - 1.0, 2.0, ev, clocks, row, np.zeros(1), value, unknown(1))
        assert (row.policy[0], value[0], found) == (-1, -np.inf, (moves, -np.inf, -np.inf))


@pytest.mark.parametrize("n", [1, 2, 3, 17, 64])
def test_the_shape_of_a_policy(n: int) -> None:
    rng = np.random.default_rng(n)
    for number in range(60):
        policy = (rng.integers(-1, 5) + np.cumsum(rng.integers(0, 2, n))).astype(np.int32)
        assert shape(policy) == CLOSE
        if n > 1:
            # One step anywhere, also between the last two states or the first two.
            at = (1, n - 1, int(rng.integers(1, n)))[number % 3]
            for step, expected_shape in ((2, FAR), (9, FAR), (-1, FALLING), (-4, FALLING)):
                policy[at:] += policy[at - 1] + step - policy[at]
                assert shape(policy) == expected_shape
        if n > 2:
            # A policy that falls somewhere and has a large step elsewhere falls.
            policy[-1] = policy[-2] + 5
            assert shape(policy) == (FAR if at == n - 1 else FALLING)


@pytest.mark.parametrize("kind", ["any wealth", "steps"])
def test_a_proven_row_is_that_of_full_search_from_any_policy(kind: str) -> None:
    """A row is that of full search while ``EV`` and the clocks change, whatever bracket was searched before."""
    rng = np.random.default_rng(4)
    proofs = wide = spared = still = 0
    for number in range(400):
        grid, wealth, eta, ev = random_row(number, rng) if kind == "any wealth" else stepped_row(rng)
        points = grid.size
        row = cached_of(rng.integers(0, points, points) if number % 3 else np.zeros(points))
        found, before, clocks = np.empty(points), np.zeros(points), np.zeros(length(points))
        rival, rivals = np.zeros(points, np.int32), np.full(points, -np.inf)
        quiet, gates = unknown(points), np.zeros(blocks(points), np.int32)
        for sweep in range(6):
            value, policy = np.empty((points, 1)), np.empty((points, 1), np.int32)
            divide_and_conquer(grid, wealth[:, None], ev[None], eta, value, policy)
            # The ends of a piece are for others to prove.
            for end in (0, points - 1):
                if row.policy[end] != policy[end, 0]:
                    disturb(quiet, points, end)
            row.policy[[0, -1]] = policy[[0, -1], 0]
            cache_ends(grid, wealth, eta, row)
            guarded = row.until > shown(clocks, row)
            padded = np.array([-np.inf, *ev, -np.inf])
            ends = row.policy[[0, -1]]
            _, least, most = guessed_row(grid, wealth, eta, padded, clocks, row, before, found, quiet)
            for end in np.flatnonzero(row.policy[[0, -1]] != ends) * (points - 1):
                disturb(quiet, points, end)
            quiet -= ROUNDING * max(abs(least), abs(most))
            proof, guess, known = STAYED, shape(row.policy), clocks[0] + clocks[gates] < quiet
            assert all_known(clocks, quiet, gates) == known.all()
            if guess != CLOSE and not known.all():
                # No row of the other groups is searched.
                still += int(known.sum())
                proof, _, _ = proven_row(
                    grid, wealth, eta, padded, clocks, row, guess, found, rival, rivals, quiet, gates,
                    np.zeros(points, np.bool_),
                )  # fmt: skip
            if proof == FAILED or (row.policy[[0, -1]] != policy[[0, -1], 0]).any():
                break
            proofs += 1
            np.testing.assert_array_equal(found, value[:, 0])
            np.testing.assert_array_equal(row.policy, policy[:, 0])
            expected_changes = (found.min(), found.max())
            assert proof == MOVED or (least, most) == expected_changes
            assert changes(before, found) == expected_changes
            wide += int((np.diff(row.policy) > 1).any())
            spared += int((guarded & (row.until > shown(clocks, row)))[1:-1].sum())
            move = rng.uniform(-1.0, 1.0, points) * 10.0 ** -float(sweep)
            # All over, or in one place.
            move *= number % 2 or abs(np.arange(points) - rng.integers(points)) < 4
            let_pass(clocks, ev, ev + move, sweep == number % 5)
            ev = ev + move
    assert proofs > 700
    assert wide > 300
    assert spared > 700
    assert still > 100


def test_a_piece_stays_proven_until_the_nearest_rival_can_win() -> None:
    """A piece stays proven until its nearest rival, which is worse by 1, can win; all other candidates are
    worse by 4.
    """
    wealth, ev, clocks = np.full(3, WEALTH), expected([5.0, 3.0, 1.0, 4.0, 0.0, -1.0]), clocks_at(6, 2.0)
    row = cached_of(np.array([0, 0, 5]))
    cache_row(X, wealth, 2.0, row)
    value, rival, rivals = np.array([5.0, 5.0, -1.0]), np.zeros(3, np.int32), np.full(3, -np.inf)
    quiet, gates, listed = unknown(3), np.zeros(1, np.int32), np.zeros(3, np.bool_)
    # First the bracket is searched, then cached values prove it.
    for outcome, searches in ((STAYED, 1), (KNOWN, 0)):
        quiet[:] = -np.inf
        found = proven_row(X, wealth, 2.0, ev, clocks, row, FAR, value, rival, rivals, quiet, gates, listed)
        assert found == (outcome, searches, 0)
        assert (rival[1], row.until[1]) == (3, pytest.approx(6.0, abs=1e-9))
        assert gates[0] == window(6, 0, 5)
        assert quiet[0] == pytest.approx(3.0, abs=1e-9)
        assert quiet[0] < 3.0
    # Then it is not visited: even a value that is not that of the choice stays.
    value[1] = 7.0
    assert proven_row(X, wealth, 2.0, ev, clocks, row, FAR, value, rival, rivals, quiet, gates, listed) == (KNOWN, 0, 0)
    clocks[0] = 3.0
    assert not all_known(clocks, quiet, gates)


@pytest.mark.parametrize(
    ("moved", "groups"), [(0, [0]), (GROUP - 2, [0]), (GROUP - 1, [0, 1]), (GROUP, [0, 1]), (2 * GROUP, [1, 2])]
)
def test_a_choice_that_moves_has_its_group_and_those_beside_it_proven_again(moved: int, groups: list[int]) -> None:
    quiet = np.full(3, np.inf)
    disturb(quiet, 2 * GROUP + 1, moved)
    assert np.flatnonzero(quiet == -np.inf).tolist() == groups


def shown(clocks: np.ndarray, row: Cached) -> np.ndarray:
    """Return the reading of the clock of each row's window."""
    points = row.policy.size
    return np.array([clocks[0] + clocks[window(points, *ends)] for ends in zip(row.low, row.high, strict=True)])


def let_pass(clocks: np.ndarray, before: np.ndarray, after: np.ndarray, at_once: bool) -> None:
    """Advance the clocks by a change of ``EV``, all of them at once or by window."""
    points = before.size
    least, most = np.empty((2, blocks(points)))
    ends = np.full(1, -np.inf)
    measure_blocks(*(np.concatenate([ends, ev, ends]) for ev in (before, after)), 0, points, least, most)
    if at_once:
        pass_all(clocks, most.max() - least.min())
    else:
        pass_windows(clocks, least, most)


def cache_ends(grid: np.ndarray, wealth: np.ndarray, eta: float, row: Cached) -> None:
    for x in (0, -1):
        one = Cached(*(array[x:][:1] for array in row))
        cache_row(grid, wealth[x:][:1], eta, one)


def test_a_choice_beyond_the_bracket_that_was_looked_at_is_found() -> None:
    """The highest of five candidates, the only one that is not known to be worse, is found to be the best."""
    consumption = WEALTH - X
    ev = expected([5.0, 3.0, 1.0, 1.0, 0.0, 9.0])
    for clock, best in ((0.0, 5), (10.0, 5)):
        row = cached_of(np.array([0]))
        cache_row(X, np.array([WEALTH]), 2.0, row)
        row.until[0], row.low[0], row.high[0] = 5.0, 0, 4
        assert not settled(row, ev, clocks_at(6, clock), 0, consumption.size - 1)[0]
        assert row.policy[0] == best


def test_bounds_on_rivals_hold_until_their_margin_is_used_up() -> None:
    row = cached_of(np.array([0]))
    cache_row(X, np.array([WEALTH]), 2.0, row)
    stayed, rival = settled(row, expected([5.0, 3.0, 1.0, 4.0, 0.0, -1.0]), clocks_at(6, 2.0), 0, 5)
    # The best of them is compared in every sweep; the margin is that of the next, candidate 2.
    assert (stayed, rival) == (True, (3, UTILITY[3]))
    assert row.until[0] == pytest.approx(6.0, abs=1e-9)
    assert row.until[0] < 6.0
    # A candidate gains less than that, unseen; what is missed here could not have happened.
    gained = expected([5.0, 3.0, 5.5, 4.0, 0.0, -1.0])
    assert settled(row, gained, clocks_at(6, 5.5), 0, 5, rival)[0]
    assert not settled(row, gained, clocks_at(6, 6.0), 0, 5, rival)[0]
    assert row.policy[0] == 2


@pytest.mark.parametrize(("objective", "wins"), [(4.9, False), (5.0, False), (5.1, True)])
def test_the_rival_is_compared_while_all_others_are_known_to_lose(objective: float, wins: bool) -> None:
    """A rival above the choice must be strictly better to win; the former choice then becomes the rival."""
    row = cached_of(np.array([0]))
    cache_row(X, np.array([WEALTH]), 2.0, row)
    row.until[0], row.low[0], row.high[0] = 9.0, 0, 5
    # Candidate 2 is known to lose, and is not evaluated.
    ev = expected([5.0, 3.0, 8.0, objective, 2.0, 0.0])
    stayed, rival = settled(row, ev, clocks_at(6, 1.0), 0, 5, (3, UTILITY[3]))
    assert (stayed, row.policy[0]) == (not wins, 3 if wins else 0)
    assert rival == ((0, UTILITY[0]) if wins else (3, UTILITY[3]))
    # The candidate beside the choice before is now one of the others.
    assert row.until[0] == (pytest.approx(1.0 + objective - 3.0, abs=1e-9) if wins else 9.0)


def test_a_rival_wins_ties_from_below_and_only_in_the_bracket() -> None:
    for low, best in ((0, 1), (2, 3)):
        row = cached_of(np.array([3]))
        cache_row(X, np.array([WEALTH]), 2.0, row)
        row.until[0], row.low[0], row.high[0] = 9.0, 0, 5
        settled(row, expected([0.0, 5.0, 1.0, 5.0, 2.0, 0.0]), clocks_at(6, 1.0), low, 5, (1, UTILITY[1]))
        assert row.policy[0] == best


def test_the_lowest_of_three_ties_wins_against_a_rival_above() -> None:
    row = cached_of(np.array([3]))
    cache_row(X, np.array([WEALTH]), 2.0, row)
    row.until[0], row.low[0], row.high[0] = 9.0, 2, 5
    ev = expected([0.0, 5.0, 1.0, 5.0, 2.0, 5.0])
    assert not settled(row, ev, clocks_at(6, 1.0), 0, 5, (5, UTILITY[5]))[0]
    assert row.policy[0] == 1


def test_a_rival_that_the_choice_has_reached_is_replaced() -> None:
    row = cached_of(np.array([3]))
    cache_row(X, np.array([WEALTH]), 2.0, row)
    row.until[0], row.low[0], row.high[0] = 9.0, 0, 5
    stayed, rival = settled(row, expected([0.0, 3.0, 1.0, 5.0, 2.0, 0.0]), clocks_at(6, 1.0), 0, 5, (3, UTILITY[3]))
    assert (stayed, rival) == (True, (1, UTILITY[1]))


def test_candidates_between_the_old_and_the_new_choice_become_rivals() -> None:
    row = cached_of(np.array([2]))
    cache_row(X, np.array([WEALTH]), 2.0, row)
    row.until[0], row.low[0], row.high[0] = 100.0, 0, 5
    assert not settled(row, expected([0.0, 3.0, 4.0, 5.0, 1.0, 0.0]), clocks_at(6, 1.0), 0, 5)[0]
    assert row.policy[0] == 3
    # Candidate 1 is worse by 2.
    assert row.until[0] == pytest.approx(3.0, abs=1e-9)


@pytest.mark.parametrize("high", [3, 5])
def test_of_a_choice_outside_of_what_was_looked_at_nothing_is_known(high: int) -> None:
    """No margin is known for a choice outside of the window searched, because the clock of a window bounds gains within
    the window only.
    """
    for objectives, best in (([0.0, 1.0, 4.0, 5.0, 6.0, 0.0], 4), ([0.0, 1.0, 4.0, 6.0, 5.0, 0.0], 3)):
        row = cached_of(np.array([3]))
        cache_row(X, np.array([WEALTH]), 2.0, row)
        row.until[0], row.low[0], row.high[0] = 100.0, 0, high
        value = np.zeros(1)
        clocks = clocks_at(6, 1.0)
        guessed_row(X, np.array([WEALTH]), 2.0, expected(objectives), clocks, row, np.zeros(1), value, unknown(1))
        assert row.policy[0] == best
        if best == 3:
            assert row.until[0] == 100.0
        else:
            # Candidate 2 is worse by 2, if its margin is known.
            assert row.until[0] == (-np.inf if high == 3 else pytest.approx(3.0, abs=1e-9))
        row = cached_of(np.array([3]))
        cache_row(X, np.array([WEALTH]), 2.0, row)
        row.until[0], row.low[0], row.high[0] = 100.0, 0, high
        assert settled(row, expected(objectives), clocks, 2, 4)[0] == (best == 3)
        assert row.policy[0] == best
        if best == 4:
            assert row.until[0] == (-np.inf if high == 3 else pytest.approx(3.0, abs=1e-9))


def test_a_margin_is_carried_to_the_clock_of_a_wider_window() -> None:
    """The remaining margin is the same on the clock of its own window and on the clock of a wider window."""
    points = 600
    grid = np.linspace(0.0, 30.0, points)
    ev = np.append(0.0, np.full(points - 1, -50.0))
    clocks = clocks_at(points, 1.0)
    clocks[window(points, 0, points - 1)] = 70.0
    clocks[window(points, 0, 300)] = 20.0
    clocks[window(points, 0, 5)] = 3.0
    padded = np.array([-np.inf, *ev, -np.inf])
    for high, clock in ((5, 4.0), (300, 21.0), (599, 71.0)):
        below, here, above = -np.inf, -1.0 / WEALTH, -1.0 / (WEALTH - grid[1])
        q, until, lowest, highest, *_ = settle(
            grid, WEALTH, 2.0, padded, clocks, 0, below, here, above, 6.0, 0, 4, *NO_RIVAL, 0, high
        )  # fmt: skip
        assert (q, lowest, highest) == (0, 0, high)
        assert until == pytest.approx(clock + 2.0, abs=1e-9)
        assert until < clock + 2.0
    # An unreachable limit of a clock remains a number, too.
    q, until, *_ = settle(grid, WEALTH, 2.0, padded, clocks, 0, below, here, above, np.inf, 0, 597, *NO_RIVAL, 0, 599)
    assert q == 0
    assert until == pytest.approx(71.0 + 50.0, abs=0.1)


@pytest.mark.parametrize("level", [0.0, -1.0, 2.0**10, -(2.0**10), 2.0**30, -1e12])
@pytest.mark.parametrize("better", [3, 4, 5])
def test_a_margin_below_what_objectives_are_now_rounded_by_decides_nothing(level: float, better: int) -> None:
    """Candidates whose margin is below the rounding of objectives tie, and the lowest wins, although no clock
    advances.
    """
    tied = won = 0
    for steps in [1, 2, 3, *(2 ** np.arange(2, 40, 2)).tolist()]:
        grid = X.copy()
        grid[better] -= steps * 2.0**-47
        utilities = np.array([utility(WEALTH, x, 2.0) for x in grid])
        ev = np.full(grid.size, -50.0)
        ev[[0, better]] = -UTILITY[[0, better]]
        moved = ev + level
        if not utilities[better] + ev[better] > utilities[0] + ev[0] or ((moved - ev)[[0, better]] != level).any():
            continue
        padded, later = (np.array([-np.inf, *of, -np.inf]) for of in (ev, moved))
        beside = (*np.array([*utilities, -np.inf])[better - 1 : better + 2],)
        clocks = clocks_at(grid.size, 0.0)
        p, *cached = settle(
            grid, WEALTH, 2.0, padded, clocks, better, *beside, -np.inf, 0, 0, *NO_RIVAL, 0, grid.size - 1
        )  # fmt: skip
        assert (p, cached[3]) == (better, 0)
        # As if the rival were one of the others, of which no objective is compared.
        cached = [_until(0.0, (utilities + ev)[better], (utilities + ev)[0]), 0, grid.size - 1, *NO_RIVAL]
        best = int(np.argmax(utilities + moved))
        under, here, over = (u + later[p + k] for k, u in enumerate(beside))
        known = stays(p, 0, grid.size - 1, under, here, over, 0.0, *cached[:4], cached[4] + later[cached[3] + 1])
        found, *_ = settle(grid, WEALTH, 2.0, later, clocks, p, *beside, *cached, 0, grid.size - 1)
        assert found == best
        assert not known or best == p
        tied += best != p
        won += known
    assert tied or abs(level) < 2.0**10
    assert won or abs(level) > 2.0**10
