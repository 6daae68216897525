"""Draw the aggregate and employment shocks of a panel, one bit per agent and period.

The chain is over pairs of aggregate state (``0`` bad, ``1`` good) and employment (``0`` unemployed, ``1`` employed), in
the order ``(0, 0), (0, 1), (1, 0), (1, 1)``. The aggregate states are drawn first. Employment in period ``t + 1`` then
follows ``P(e' | e, a, a')``, but with fixed numbers of agents: of the ``U`` unemployed of period ``t``, ``U p`` stay
unemployed (rounded up or down at random, with mean ``U p``), and as many employed lose their work as make unemployment
exactly that of the aggregate state. Which agents these are is uniformly random: each agent is first drawn
independently, 64 at once, and then randomly chosen agents are flipped until the numbers are right. So each agent
follows the chain, and unemployment has no sampling error in any period.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beltline.compiled import njit
from beltline.gpu_ref.memory import check_memory
from beltline.gpu_ref.tables import Array

Words = NDArray[np.uint64]

WORD = 64
"""Agents of a word."""

PRECISION = 16
"""Bits of the probability with which agents are first drawn; the correction of the numbers makes up for the rest."""

FLOW_TOLERANCE = 1e-4
"""Tolerance for the unemployment rate to which a chain leads: published tables have four to six digits."""


@dataclass(frozen=True)
class Shocks:
    """Shocks of a panel of ``agents``.

    ``aggregate``, ``(T,)``, is the aggregate state of each period: 0 bad, 1 good. Bit ``j`` of word ``w`` of
    ``employed``, ``(T, ceil(N / 64))``, is 1 if agent ``64 w + j`` is employed; bits beyond the last agent are 0.
    """

    aggregate: NDArray[np.int8]
    employed: Words
    agents: int

    def unemployed(self, period: int) -> int:
        """Return the number of unemployed agents in a period."""
        return self.agents - _count(self.employed[period])

    def employment(self, period: int) -> NDArray[np.uint8]:
        """Return ``(N,)``: 1 where an agent is employed in a period."""
        little = np.ascontiguousarray(self.employed[period], dtype="<u8").view(np.uint8)
        return np.unpackbits(little, bitorder="little")[: self.agents]


@njit(cache=True)
def _ones(word):  # type: ignore[no-untyped-def]
    """Return the number of ones in a 64-bit word, by adding up neighbouring fields in parallel."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@njit(cache=True)
def _count(words: Words) -> int:
    """Return the number of ones in all words."""
    total = np.uint64(0)
    for w in range(words.size):
        total += _ones(words[w])
    return int(total)


@njit(cache=True)
def _draw(before: Words, after: Words, random: Words, keep: int, gain: int, last: np.uint64) -> tuple[int, int]:
    """Draw each agent independently; return the numbers of unemployed who stay so, and of employed who lose their work.

    The probability of being employed next is ``keep`` for employed and ``gain`` for unemployed agents, in units of
    ``2**-PRECISION``.
    """
    idle, lost = 0, 0
    for w in range(before.size):
        stays, gained = np.uint64(0), np.uint64(0)
        for bit in range(PRECISION):
            fresh = random[w, bit]
            stays = (stays | fresh) if (keep >> bit) & 1 else (stays & fresh)
            gained = (gained | fresh) if (gain >> bit) & 1 else (gained & fresh)
        word = before[w]
        mask = last if w == before.size - 1 else ~np.uint64(0)
        new = ((word & stays) | (~word & gained)) & mask
        after[w] = new
        idle += int(_ones(~word & ~new & mask))
        lost += int(_ones(word & ~new))
    return idle, lost


@njit(cache=True)
def _repair(before: Words, after: Words, candidates: NDArray[np.int64], kind: int, surplus: int) -> int:
    """Flip up to ``surplus`` of the agents ``candidates``, and return the surplus that remains.

    If ``surplus`` is positive, agents who were of ``kind`` and are unemployed now become employed; if negative, the
    reverse.
    """
    one = np.uint64(1)
    wrong = np.uint64(0) if surplus > 0 else one
    left = abs(surplus)
    for i in range(candidates.size):
        if left == 0:
            break
        w, j = candidates[i] // WORD, np.uint64(candidates[i] % WORD)
        if ((before[w] >> j) & one) == np.uint64(kind) and ((after[w] >> j) & one) == wrong:
            after[w] ^= one << j
            left -= 1
    return left if surplus > 0 else -left


def aggregate_chain(transition: Array) -> Array:
    """Return the ``(2, 2)`` transition matrix of the aggregate state alone, the same for all agents."""
    sums = transition.reshape(2, 2, 2, 2).sum(axis=3)
    apart = np.argwhere(np.abs(sums[:, 0] - sums[:, 1]) > FLOW_TOLERANCE)
    if apart.size:
        a, b = apart[0]
        raise ValueError(
            f"transition must move the aggregate state alike for the employed and the unemployed, but from aggregate "
            f"state {a} to {b} it has {sums[a, 1]:.6g} for the employed and {sums[a, 0]:.6g} for the unemployed"
        )
    chain = sums.mean(axis=1)
    return chain / chain.sum(axis=1, keepdims=True)


def whole_numbers(agents: int, unemployment: Array) -> NDArray[np.int64]:
    """Return the number of unemployed agents in each aggregate state, which must be a whole number."""
    exact = agents * unemployment
    numbers = np.rint(exact).astype(np.int64)
    if agents < 1 or np.abs(exact - numbers).max() > 1e-6:
        shares = " and ".join(f"{share:.6g}" for share in unemployment)
        raise ValueError(f"agents must make unemployment of {shares} whole numbers of agents, which {agents} does not")
    return numbers


def draw_shocks(agents: int, periods: int, transition: ArrayLike, unemployment: ArrayLike, seed: int = 0) -> Shocks:
    """Draw the shocks of ``agents`` agents in ``periods`` periods; the same arguments give the same shocks.

    ``transition``, ``(4, 4)``, is over the pairs above; it must keep ``unemployment``, the shares of agents in the bad
    and in the good state, which must be whole numbers of agents.
    """
    chain, shares = np.asarray(transition, dtype=np.float64), np.asarray(unemployment, dtype=np.float64)
    numbers = whole_numbers(agents, shares)
    states = aggregate_chain(chain)
    joint = chain.reshape(2, 2, 2, 2).transpose(0, 2, 1, 3)  # a, a', e, e'
    totals = joint.sum(axis=3, keepdims=True)
    given = np.divide(joint, totals, out=np.full_like(joint, 0.5), where=totals > 0)
    for a in range(2):
        for b in range(2):
            moved = shares[a] * given[a, b, 0, 0] + (1 - shares[a]) * given[a, b, 1, 0]
            if states[a, b] > 0 and abs(moved - shares[b]) > FLOW_TOLERANCE:
                raise ValueError(
                    f"transition takes unemployment of {shares[a]:.6g} to {moved:.6g} and not to {shares[b]:.6g}"
                )
    words = math.ceil(agents / WORD)
    check_memory(8 * words * (periods + PRECISION), f"a panel of {agents:,} agents and {periods:,} periods")
    rng = np.random.Generator(np.random.PCG64(seed))
    aggregate = np.zeros(periods, np.int8)
    stay = states[:, 1]
    for t, u in enumerate(rng.random(periods - 1)):
        aggregate[t + 1] = u < stay[aggregate[t]]

    employed = np.empty((periods, words), np.uint64)
    employed[0] = _pack(rng.permutation(agents) >= numbers[0], words)
    last = np.uint64(2 ** (agents - WORD * (words - 1)) - 1)
    scale = 2**PRECISION
    for t in range(1, periods):
        a, b = int(aggregate[t - 1]), int(aggregate[t])
        p = given[a, b]
        unemployed, employees = int(numbers[a]), agents - int(numbers[a])
        idle = math.floor(unemployed * p[0, 0] + rng.random())
        idle = min(max(idle, int(numbers[b]) - employees), unemployed, int(numbers[b]))
        random = rng.integers(0, 2**64, size=(words, PRECISION), dtype=np.uint64)
        before, after = employed[t - 1], employed[t]
        drawn = _draw(before, after, random, round(p[1, 1] * scale), round(p[0, 1] * scale), last)
        for kind, surplus in ((0, drawn[0] - idle), (1, drawn[1] - (int(numbers[b]) - idle))):
            left = surplus
            while left:
                left = _repair(before, after, rng.integers(0, agents, size=16 * abs(left) + 64), kind, left)
    return Shocks(aggregate, employed, agents)


def _pack(bits: NDArray[np.bool_], words: int) -> Words:
    """Pack truth values into words, the first into the lowest bit."""
    padded = np.zeros(words * WORD, np.uint8)
    padded[: bits.size] = bits
    return np.packbits(padded, bitorder="little").view("<u8").astype(np.uint64)
