"""Certificates by state against brute force in extended precision, on random problems of all forms."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from beltline.gpu_ref.bounds import IMPROVABLE, ONLY_BEST, Certified
from beltline.gpu_ref.discrete import program_of
from beltline.gpu_ref.discrete.exact_step import certify
from beltline.gpu_ref.general.certificate import certify_form
from beltline.gpu_ref.general.form import Branch
from oracle import bellman as oracle
from support.random_forms import random_form

SIZES = (0.0, 1e-13, 1e-7, 1e-3, 0.3)
"""Errors of the values that are certified, as a share of the largest value."""


def disturbed(rng: np.random.Generator, exact: Any) -> Any:
    """Return a value off by a random share of its size: in all states, in few, or by the same everywhere."""
    size = float(rng.choice(SIZES)) * float(np.abs(exact).max())
    noise = rng.uniform(-1.0, 1.0, exact.shape)
    kind = rng.integers(3)
    if kind == 1:
        noise *= rng.random(exact.shape) < 0.2
    elif kind == 2:
        noise[...] = noise.flat[0]
    return np.asarray(exact + size * noise, np.float64)


def check_choices(
    seen: Counter[str], status: int, best: Any, given: tuple[int, int], of: dict[int, Any], size: float, bound: float
) -> None:
    """Check the status of a choice against the exact objectives ``of`` the alternatives of its state.

    ``best`` and ``given`` are alternative and index of the choice that is said to be best, and of the one judged.
    """
    tie = 1e-17 * size
    everything = [(o, (d, i)) for d, row in of.items() for i, o in enumerate(row)]
    own = of[given[0]][given[1]]
    other = max((o for o, at in everything if at != given), default=-np.inf)
    if status == ONLY_BEST:
        assert own > other - tie
        seen["only best"] += 1
    elif status == IMPROVABLE:
        assert of[best[0]][best[1]] > own - tie
        seen["improvable"] += 1
    else:
        seen["tied"] += 1
        seen["clear"] += abs(own - other) > 8.0 * bound + 1e-10 * size


@pytest.mark.parametrize("first", range(0, 400, 100))
def test_bounds_and_choices_of_general_problems(first: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(first, first + 100):
        rng = np.random.default_rng(seed)
        drawn = random_form(seed, 9)
        form = drawn.form
        exact = oracle.solution(form, drawn.value)
        value = disturbed(rng, exact)
        count = len(form.alternatives)
        points = form.shape[1]
        policy = None
        if rng.random() < 0.7:
            shape = (*value.shape[:-3], count, *value.shape[-2:])
            policy = rng.integers(0, points, shape).astype(np.int32)
            none = np.array([not isinstance(one, Branch) for one in form.alternatives])
            policy[..., none, :, :] = -1
        found = certify_form(form, value, policy, None, drawn.value)
        size = float(np.abs(exact).max())
        assert (np.abs(value - exact) <= found.error + 1e-17 * size).all(), (seed, drawn.kind)
        ages = range(form.horizon or 1)
        for age in ages:
            here = value if form.horizon is None else value[age]
            after = value if form.horizon is None else (value[age + 1] if age + 1 < form.horizon else drawn.value)
            true_after = exact if form.horizon is None else (exact[age + 1] if age + 1 < form.horizon else drawn.value)
            off = np.abs(oracle.applied(form, after, age) - here)
            got = found.off if form.horizon is None else found.off[age]
            scale = size + float(np.abs(drawn.value).max())
            np.testing.assert_allclose(got, np.asarray(off, float), rtol=0, atol=1e-12 * scale)
            at = [o if form.horizon is None else o[age] for o in (found.status, found.policy)]
            bound = float(found.error.max())
            own = [oracle.objectives(form, d, true_after, age) for d in range(count)]
            given = None if policy is None else (policy if form.horizon is None else policy[age])
            check_age(seen, form, at, found, age, own, given, scale, bound)
    assert min(seen["only best"], seen["improvable"], seen["tied"], seen["impossible"]) > 100, seen
    # Choices that differ by far more than the uniform bound are rarely left undecided.
    assert seen["clear"] < 0.02 * (seen["only best"] + seen["improvable"]), seen


def check_age(
    seen: Counter[str], form: Any, at: list[Any], found: Certified, age: int, own: Any, given: Any, size: float,
    bound: float,
) -> None:  # fmt: skip
    """Check all choices of one age."""
    status, best = at
    loss = found.loss if form.horizon is None else found.loss[age]
    taken = found.alternative
    taken = taken[age] if taken is not None and form.horizon is not None else taken
    for where in np.ndindex(status.shape):
        which, x, s = where
        d = which if taken is None else int(taken[where])
        if best[where] == -1 and (taken is None or not isinstance(form.alternatives[d], Branch)):
            choice = 0
            if taken is None:
                impossible = given is not None and given[d, x, s] != -1
                assert status[where] == (IMPROVABLE if impossible else ONLY_BEST)
                continue
        else:
            choice = int(best[where])
        judged = choice if given is None or given[d, x, s] < 0 else int(given[d, x, s])
        group = [d] if taken is None else form.of_regime(which)
        of = {e: own[e][x, s] for e in group}
        if of[d][judged] == -np.inf:
            assert loss[where] == np.inf
            assert status[where] == IMPROVABLE
            seen["impossible"] += 1
            continue
        check_choices(seen, int(status[where]), (d, choice), (d, judged), of, size, bound)


def random_program(rng: np.random.Generator) -> Any:
    """Draw a program with ties, absorbing states, and rewards of very different size."""
    states, lotteries = int(rng.integers(1, 7)), int(rng.integers(2, 9))
    chances = rng.dirichlet(np.full(states, 0.3), lotteries)
    chances[rng.random(chances.shape) < 0.4] = 0.0
    chances[chances.sum(axis=1) == 0.0, 0] = 1.0
    chances[: min(states, lotteries)] = np.eye(states)[:lotteries]
    chances /= chances.sum(axis=1, keepdims=True)
    pairs = [(i, k) for i in range(states) for k in range(lotteries) if k == i % lotteries or rng.random() < 0.5]
    state, lottery = (np.array(each) for each in zip(*pairs, strict=True))
    reward = np.round(rng.normal(size=state.size) * 2) / 2 * 10.0 ** rng.choice([0, 0, 0, 6, 16], state.size)
    return program_of(state, lottery, reward, lottery, sparse.csr_array(chances), float(rng.uniform(0.0, 0.98)))


def test_bounds_and_choices_of_discrete_programs() -> None:
    seen: Counter[str] = Counter()
    for seed in range(300):
        rng = np.random.default_rng(seed)
        program = random_program(rng)
        exact = oracle.program_solution(program)
        value = disturbed(rng, exact)
        pairs = None
        if rng.random() < 0.7:
            pairs = rng.integers(program.first[:-1], program.first[1:])
        found = certify(program, value, pairs)
        size = float(np.abs(exact).max())
        assert (np.abs(value - exact) <= found.error + 1e-17 * size).all(), seed
        true = oracle.pair_objectives(program, exact)
        for i in range(program.states):
            begin = program.first[i]
            given = found.policy[i] if pairs is None else pairs[i]
            of = {0: true[begin : program.first[i + 1]]}
            at = (0, int(found.policy[i] - begin)), (0, int(given - begin))
            check_choices(seen, int(found.status[i]), *at, of, size, float(found.error.max()))
    assert min(seen["only best"], seen["improvable"], seen["tied"]) > 50, seen
    assert seen["clear"] == 0


def test_a_state_that_is_never_entered_does_not_matter_to_others() -> None:
    program = program_of(
        np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([1.0, 0.5, -1e20]), np.array([0, 1, 1]),
        sparse.csr_array(np.eye(2)), 0.9,
    )  # fmt: skip
    found = certify(program, np.array([10.0, -1e21]))
    assert found.error[0] < 1e-13
    assert found.error[1] > 1e5
    assert found.status.tolist() == [ONLY_BEST, ONLY_BEST]
