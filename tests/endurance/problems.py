"""Random problems of all kinds: each success must lie within its bound of the exact solution, and its choices too."""

from __future__ import annotations

import time
import zlib
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np
from yardstick.objective import of_pairs, of_problem
from yardstick.other import Pairs
from yardstick.problems import KINDS
from yardstick.reading import read

import beltline as bl
from beltline.gpu_ref.threads import threads
from beltline.host.devices.base import DeviceError
from beltline.host.problem.checks import ProblemError
from beltline.host.problem.general import start_of
from oracle import bellman

from .drawn import DRAWN

KNOWN = {kind: one for kind, one in (KINDS | DRAWN).items() if kind not in ("model", "large", "wide")}
"""Kinds of problems, as in :data:`yardstick.problems.KINDS`: those of the yardstick that are small enough, and more."""

LARGEST = 900
"""Largest number of values of a problem: the oracle searches all pairs in extended precision."""

ROUNDING = 1e-12
"""What the objective of a choice, computed in double precision, may lack of the exact value, as a share of it."""

WAYS: dict[str, tuple[int, dict[str, Any]]] = {
    "default": (LARGEST, {}),
    "tol": (LARGEST, {"tol": 1e-4}),
    "not verified": (LARGEST, {"verify": False}),
    "warm": (LARGEST, {"device": "cpu", "method": "warm"}),
    "shift": (LARGEST, {"device": "cpu", "method": "shift"}),
    "line": (150, {"device": "emulator"}),
    "line not verified": (150, {"device": "emulator", "verify": False}),
    "sweep": (150, {"device": "emulator", "lanes": 2}),
    "sweep shift": (150, {"device": "emulator", "lanes": 2, "method": "shift"}),
    "sweep not verified": (150, {"device": "emulator", "lanes": 2, "verify": False}),
    "general": (150, {"device": "emulator", "lanes": 2, "general": 1}),
    "general not verified": (150, {"device": "emulator", "lanes": 2, "general": 1, "verify": False}),
    "gpu": (LARGEST, {"device": "gpu"}),
}
"""Ways to solve: the largest number of values, and arguments of ``bl.solve``."""


@dataclass
class Ended:
    """How one solve ended: a word, what was wrong, the share of the bound that was used, and its time in seconds."""

    end: str
    wrong: str = ""
    share: float = 0.0
    seconds: float = 0.0


def made(kind: str, number: int, seed: int, largest: int = LARGEST) -> Any:
    """Return the problem of a kind and number: a ``Problem`` or ``Pairs`` of at most ``largest`` values."""
    count, draw = KNOWN[kind]
    rng = np.random.default_rng([zlib.crc32(kind.encode()), seed, number])
    while True:
        given = draw(rng, number % count)
        if size_of(given) <= largest:
            return given


def size_of(given: Any) -> int:
    """Return the number of values of a problem, at one age."""
    return len(given.reward) if isinstance(given, Pairs) else given.points * given.states * len(given.regimes)


def exact(given: Any) -> tuple[Any, Any]:
    """Return the exact solution and what the oracle's own arithmetic leaves, ``(ages, regimes, N_k, N_z)`` each."""
    if isinstance(given, Pairs):
        return tuple(
            each[None, None, :, None] for each in bellman.pairs_solution(given.reward, given.chances, given.beta)
        )
    found = bellman.solution_with_error(given.form, start_of(given))
    return found if given.horizon is not None else tuple(each[None] for each in found)


def judged(given: Any, result: Any, solution: tuple[Any, Any]) -> Ended:
    """Compare value and choices of a result, and the bounds by state of :func:`beltline.certify`, with the oracle."""
    if not result.success:
        return Ended(f"no success: {result.status}")
    answer, (value, error) = read(result), solution
    bound = answer.facts["error_bound"]
    if not bound >= 0.0:
        return Ended("wrong", f"the bound is {bound}")
    distance = np.abs(answer.value - value) - error
    if not (distance <= bound).all():
        return Ended("wrong", f"distance {float(np.max(distance)):.3g}, bound {bound:.3g}")
    shocks = not isinstance(given, Pairs) and given.taste > 0.0
    judge = bl.certify(result.problem, result.value, *(() if shocks else (result.policy, result.alternative)))
    by_state = judge.error_bound_by_state.reshape(value.shape)
    if not (distance <= by_state).all():
        return Ended("wrong", f"a bound by state is too small by {float(np.max(distance - by_state)):.3g}")
    if judge.improvable:
        return Ended("wrong", f"{judge.improvable} choices can be improved at the value of the result")
    if isinstance(given, Pairs):
        V, action = value.ravel(), answer.policy.ravel()
        followed = of_pairs(given.reward, given.chances, given.beta, V, action).reshape(value.shape)
    else:
        followed = value if shocks else of_problem(given, value, answer)
    loss = value - followed - ROUNDING * np.abs(value) - np.max(error)
    away = 2.0 * np.minimum(bound, by_state.max())
    if not (loss <= away).all():
        return Ended("wrong", f"{int((~(loss <= away)).sum())} choices lose more than {float(away):.3g}")
    # Of several alternatives each has a status of its own.
    alone = not shocks and judge.status.size == value.size
    if alone and (loss.ravel()[judge.status.ravel() == 1] > 0.0).any():
        return Ended("wrong", "a choice that is proven the only best is not")
    if not isinstance(given, Pairs) and given.general and (wrong := by_alternative(given, result, value)):
        return Ended("wrong", wrong)
    largest = float(np.max(distance))
    return Ended("success", share=max(largest, 0.0) / bound if bound else 0.0)


def by_alternative(given: Any, result: Any, exact: Any) -> str:
    """Compare values, choices and probabilities of each alternative with the oracle; return what is wrong.

    ``exact`` is the solution, ``(ages, regimes, N_k, N_z)``. Values of alternatives that are not chosen follow from the
    value before the last sweep, which may be off by ``tol`` more. In a value of great size, of hardly any consumption,
    the rounding of cash on hand shows.
    """
    form, size = given.form, float(np.abs(exact).max())
    allowed = 2.0 * (result.error_bound + result.tol) + 1e-9 * size
    tables = [table[None] if given.horizon is None else table for table in result.tables]
    for age in range(len(exact)):
        last = given.horizon is not None and age + 1 == len(exact)
        V = np.asarray(start_of(given)) if last else exact[age if given.horizon is None else age + 1]
        right, (_, values, policy, _, chances) = bellman.swept(form, V, age), (table[age] for table in tables)
        if given.taste and np.abs(chances - right.probabilities).max() > min(1.0, 2.0 * allowed / given.taste) + 1e-12:
            return f"a probability at age {age}"
        able = np.isfinite(right.values)
        if not np.array_equal(able, np.isfinite(values)) or (chances[~able] > 0).any():
            return f"an alternative that cannot be taken at age {age}"
        usual = able & (np.abs(np.where(able, right.values, 0.0)) < 1e3 * size)
        if (off := np.abs(values[usual] - right.values[usual]).max(initial=0.0)) > allowed:
            return f"the value of an alternative by {float(off):.3g} at age {age}"
        for d in np.flatnonzero([hasattr(one, "wealth") for one in form.alternatives]):
            own = bellman.objectives(form, d, V, age)
            chosen = np.take_along_axis(own, np.maximum(policy[d], 0)[:, :, None], axis=2)[:, :, 0]
            lost = right.values[d][usual[d]] - chosen[usual[d]]
            if ((policy[d] < 0) != ~able[d]).any() or lost.max(initial=0.0) > allowed:
                return f"a choice of alternative {d} at age {age}"
    return ""


def attempted(given: Any, way: str, solution: tuple[Any, Any]) -> Ended:
    """Solve in one way and judge."""
    begin = time.perf_counter()
    try:
        problem = given.problem if isinstance(given, Pairs) else given
        result = bl.solve(problem, progress=False, **WAYS[way][1])
    except (ProblemError, DeviceError) as refusal:
        return Ended("refused", str(refusal)[:60])
    except Exception as fault:
        return Ended("wrong", f"raised {fault!r}"[:200])
    spent = time.perf_counter() - begin
    try:
        found = judged(given, result, solution)
    except Exception as fault:
        found = Ended("wrong", f"the check raised {fault!r}"[:200])
    found.seconds = spent
    return found


def ends(kind: str, number: int, seed: int, ways: tuple[str, ...], largest: int = LARGEST) -> list[tuple[str, Ended]]:
    """Solve a problem in each of ``ways`` that takes its size and kind, and judge."""
    given = made(kind, number, seed, largest)
    size = size_of(given)
    try:
        solution = exact(given)
    except (AssertionError, RuntimeError) as fault:
        return [(ways[0], Ended("no exact solution", str(fault)[:60]))]
    able = [way for way in ways if size <= WAYS[way][0] and not (isinstance(given, Pairs) and "device" in WAYS[way][1])]
    return [(way, attempted(given, way, solution)) for way in able]


def _part(numbers: list[int], seed: int, ways: tuple[str, ...]) -> list[tuple[str, int, str, Ended]]:
    kinds, found = list(KNOWN), []
    with threads(1):
        for index in numbers:
            kind, number = kinds[index % len(kinds)], index // len(kinds)
            found += [(kind, number, *one) for one in ends(kind, number, seed, ways)]
    return found


def problems(count: int, seed: int, ways: tuple[str, ...], jobs: int) -> dict[str, Any]:
    """Solve ``count`` problems in each of ``ways`` and return, by way, how often which end was found, and the rest."""
    parts = [list(range(first, min(first + 20, count))) for first in range(0, count, 20)]
    counts: dict[str, Counter[str]] = {way: Counter() for way in ways}
    share, slowest = dict.fromkeys(ways, 0.0), dict.fromkeys(ways, (0.0, ""))
    wrong, failed = [], []
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        for done, part in enumerate(pool.map(partial(_part, seed=seed, ways=ways), parts), 1):
            for kind, number, way, one in part:
                counts[way][one.end] += 1
                share[way] = max(share[way], one.share)
                slowest[way] = max(slowest[way], (round(one.seconds, 2), f"{kind}-{number}"))
                if one.end == "wrong":
                    wrong.append([kind, number, way, one.wrong])
                elif one.end not in ("success", "refused"):
                    failed.append(f"{kind}-{number} {way}: {one.end} {one.wrong}")
            if done % 25 == 0 or done == len(parts):
                print(f"{min(20 * done, count):,} of {count:,} problems, {len(wrong)} wrong", flush=True)
    by_way = {
        way: {**counts[way], "largest share of a bound": round(share[way], 3), "slowest": slowest[way]} for way in ways
    }
    return {"problems": count, **by_way, "not solved": failed[:100], "wrong": wrong[:50]}
