"""Searches for tests of stages and lines: tables, states to search for, and the search rule in plain Python."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM
from beltline.hw.arithmetic.utility import CONSTANTS, UtilityParameters
from beltline.hw.arithmetic.utility_constants import UtilityConstants

Columns = dict[str, list[int]]


@dataclass(frozen=True)
class Choice:
    """A candidate: its objective where it is ``feasible``, and whether its utility left the range."""

    objective: int
    feasible: bool
    over: bool


@dataclass(frozen=True)
class Entry:
    """A state that enters, and a random number by which a place is chosen."""

    wealth: int
    state: int
    place: int


@dataclass(frozen=True)
class Phase:
    """Contents of the tables while ``entries`` (``None``: a clock without one) enter. ``ev`` is by index, then by
    state.

    ``concave``: the objectives of every entry are strictly concave.
    """

    constants: UtilityConstants
    x: list[int]
    ev: list[list[int]]
    entries: list[Entry | None]
    concave: bool

    def choices(self, wealth: int, state: int) -> list[Choice]:
        """Return every index as a candidate, in plain integers with utilities of the software model."""
        u, feasible, over = utilities(self.constants, wealth, self.x)
        return [
            Choice(ui + row[state], good, high) for ui, good, high, row in zip(u, feasible, over, self.ev, strict=True)
        ]


def utilities(constants: UtilityConstants, wealth: int, x: Sequence[int]) -> tuple[list[int], list[bool], list[bool]]:
    """Return utility, ``feasible`` and ``over`` of every point; no consumption here exceeds ``2**63 - 1``."""
    consumption = [wealth - point for point in x]
    assert max(consumption) <= MAXIMUM
    u, feasible, over = UtilityParameters().model(np.array([max(c, -1) for c in consumption]), constants)
    return u.tolist(), feasible.tolist(), over.tolist()


def decide(choices: Sequence[Choice]) -> int:
    """Return ``j*`` of a stage before the last, from its candidates 1, 2, 3."""
    feasible = [choice.objective for choice in choices if choice.feasible]
    maximal = {
        number for number, choice in enumerate(choices, 1) if choice.feasible and choice.objective == max(feasible)
    }
    return {
        frozenset(): 0,
        frozenset({1}): 0,
        frozenset({1, 3}): 0,
        frozenset({1, 2}): 1,
        frozenset({2}): 2,
        frozenset({1, 2, 3}): 2,
        frozenset({2, 3}): 3,
        frozenset({3}): 4,
    }[frozenset(maximal)]


@dataclass(frozen=True)
class Result:
    """Result of the last stage."""

    index: int
    value: int
    infeasible: bool
    saturated: bool


def last(h: int, choices: Sequence[Choice]) -> Result:
    """Return the result of the last stage: the lowest best one of its candidates 0 to 3."""
    feasible = [choice.objective for choice in choices if choice.feasible]
    if not feasible:
        return Result(h, MINIMUM, infeasible=True, saturated=False)
    best = max(feasible)
    j = next(j for j, choice in enumerate(choices) if choice.feasible and choice.objective == best)
    return Result(h + j, min(max(best, MINIMUM), MAXIMUM), False, not MINIMUM <= best <= MAXIMUM)


def search(choices: Sequence[Choice], index_bits: int) -> tuple[Result, list[bool]]:
    """Search through the whole line; return also for each stage whether a candidate left the range of utilities."""
    h, over = 0, []
    for number in range(1, index_bits - 1):
        step = 1 << (index_bits - number - 1)
        candidates = [choices[step * (h + j)] for j in (1, 2, 3)]
        over.append(any(choice.over for choice in candidates))
        h = 2 * h + decide(candidates)
    candidates = list(choices[h : h + 4])
    return last(h, candidates), [*over, any(choice.over for choice in candidates)]


def concave(rng: random.Random, constants: UtilityConstants, wealth: int, x: Sequence[int]) -> list[int]:
    """Return an ``EV`` that makes the objective of a state of this wealth a parabola of integers, often with two equal
    maxima.
    """
    u, feasible, _ = utilities(constants, wealth, x)
    centre, scale = rng.randint(-2, 2 * len(x)), rng.choice([1, 1, 1000, 2**40])
    level = rng.randint(-(2**50), 2**50)
    wanted = [level - scale * (2 * i - centre) ** 2 for i in range(len(x))]
    return [
        min(max(w - ui, MINIMUM), MAXIMUM) if good else rng.randint(MINIMUM, MAXIMUM)
        for w, ui, good in zip(wanted, u, feasible, strict=True)
    ]


def level(rng: random.Random, constants: UtilityConstants, wealth: int, x: Sequence[int]) -> list[int]:
    """Return an ``EV`` with which the objectives of a state of this wealth differ by a unit or not at all."""
    u, feasible, _ = utilities(constants, wealth, x)
    spread = rng.choice([0, 1, 1, 2])
    base = rng.choice([0, 2**32 - 1, -(2**32), 2**40])
    return [
        min(max(base + rng.randint(0, spread) - ui, MINIMUM), MAXIMUM) if good else rng.randint(MINIMUM, MAXIMUM)
        for ui, good in zip(u, feasible, strict=True)
    ]


def phase(rng: random.Random, index_bits: int, states: int, kind: str, length: int) -> Phase:
    """Draw tables and entries of one ``kind`` of objectives: ``concave``, ``level``, ``random``, ``extreme``, or
    ``over``, with utilities out of range.
    """
    size = 1 << index_bits
    eta, amount, value = rng.choice([(2.0, 40, 40), (1.0, 40, 44), (0.5, 40, 40), (3.0, 36, 48)])
    if kind == "over":
        eta, amount, value = 0.5, 0, 52
    constants = UtilityConstants.of(eta, amount, value)
    top = 2**30 if kind == "over" else 4 << amount
    used = rng.choice([size, size, rng.randint(2, size)])
    x = sorted(rng.sample(range(0 if kind == "over" else top >> 6, top), used)) + [MAXIMUM] * (size - used)
    # ``EV`` is made for one level of wealth of each state, at which some, all or no choices are feasible.
    known = [
        rng.choice([x[used - 1] + 1 + rng.randrange(top), rng.randint(x[0] + 1, x[used - 1] + 1)])
        for _ in range(states)
    ]
    columns = []
    for wealth in known:
        if kind in ("concave", "level"):
            columns.append({"concave": concave, "level": level}[kind](rng, constants, wealth, x))
        elif kind == "extreme":
            columns.append([rng.choice([MINIMUM, MAXIMUM, MINIMUM + 5, MAXIMUM - 5, 0]) for _ in x])
        else:
            spread = 2 ** rng.choice([20, 41, 45, 60])
            columns.append([rng.randint(-spread, spread) for _ in x])
    entries: list[Entry | None] = []
    for _ in range(length):
        state = rng.randrange(states)
        wealth = known[state]
        if kind != "concave" and rng.random() < (0.3 if kind == "level" else 0.9):
            near = rng.choice(x[:used]) + rng.randint(-1, 2)
            wealth = rng.choice([rng.randint(-5, 2 * top), near, -rng.getrandbits(63)])
        entries.append(Entry(wealth, state, rng.getrandbits(32)) if rng.random() < 0.8 else None)
    return Phase(constants, x, [list(row) for row in zip(*columns, strict=True)], entries, kind == "concave")


def timeline(
    rng: random.Random, phases: Sequence[Phase], drain: int, enter: Callable[[Entry], dict[str, int]]
) -> tuple[Columns, list[tuple[int, Phase, Entry]]]:
    """Return the ports in every clock, and the clock in which each entry enters.

    ``EV`` of a phase is written to the other half while the phase before is in use. ``X``, of which there is one copy,
    and the constants change when no search is under way, which takes ``drain`` clocks.
    """
    rows: list[dict[str, int]] = []
    entered: list[tuple[int, Phase, Entry]] = []
    half = 1

    def idle(constants: UtilityConstants) -> dict[str, int]:
        ports = {name: int(getattr(constants, name)) for name in CONSTANTS}
        junk = enter(Entry(rng.randint(MINIMUM, MAXIMUM), 0, 0))
        return {
            **ports,
            "a": constants.a % 2**64,
            "b": constants.b % 2**72,
            **dict.fromkeys(("x_write", "x_write_index", "x_write_data"), 0),
            **dict.fromkeys(("ev_write", "ev_write_index", "ev_write_state", "ev_write_data"), 0),
            "half": half,
            "in_valid": 0,
            **junk,
        }

    def writes_of_ev(wanted: Phase) -> list[dict[str, int]]:
        found = [
            {"ev_write": 1, "ev_write_index": i, "ev_write_state": s, "ev_write_data": word % 2**64}
            for i, row in enumerate(wanted.ev)
            for s, word in enumerate(row)
        ]
        rng.shuffle(found)
        return found

    rows += [idle(phases[0].constants) | write for write in writes_of_ev(phases[0])]
    for k, now in enumerate(phases):
        half = 1 - half
        for i, point in enumerate(now.x):
            # First some bytes of the word are written, then the others; the bytes not written carry random data.
            some = rng.choice((0, 1, 0x80, 0xF0, rng.randrange(256)))
            for strobes in (some, 0xFF ^ some):
                mask = sum(0xFF << 8 * byte for byte in range(8) if strobes >> byte & 1)
                data = point & mask | rng.getrandbits(64) & ~mask
                rows.append(idle(now.constants) | {"x_write": strobes, "x_write_index": i, "x_write_data": data})
        rows += [idle(now.constants) for _ in range(3)]
        pending = writes_of_ev(phases[k + 1]) if k + 1 < len(phases) else []
        assert len(pending) < len(now.entries) // 2
        for entry in now.entries:
            row = idle(now.constants)
            if entry is not None:
                entered.append((len(rows), now, entry))
                row |= {"in_valid": 1, **enter(entry)}
            if pending and rng.random() < 0.9:
                row |= pending.pop()
            rows.append(row)
        assert not pending
        rows += [idle(now.constants) for _ in range(drain)]
    return {name: [row[name] for row in rows] for name in rows[0]}, entered
