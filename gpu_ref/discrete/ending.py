"""Programs without a discount factor, ``beta = 1``, in which every state can surely reach an end.

States among which pairs of reward 0 can move for ever, from each to all others, are an *end* (an end component; de
Alfaro 1997): who reaches one may stay there for 0, so that all its states have the same value. The simplest is a state
that stays where it is. :func:`merged` makes one state of each end, with one pair more that stops for 0. In what is left
no pairs with rewards of 0 can be taken for ever. If no others that can be taken for ever have a mean reward of 0 or
more, the Bellman equation has one solution, which policy iteration finds from any policy that surely stops (Bertsekas
and Tsitsiklis 1991).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, connected_components

from beltline.gpu_ref.discrete.program import Program, program_of

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Merged:
    """A program with one state for each end.

    Attributes
    ----------
    program
        Its ``action`` is the number of the pair of the original program, or the number of those pairs where it stops.
    place
        ``(n,)``: the state of ``program`` of which each original state is part.
    inside
        ``(L,)``: whether an original pair moves within an end.
    """

    program: Program
    place: Numbers
    inside: Flags

    def pairs_of(self, original: Program, chosen: Numbers) -> Numbers:
        """Return the pairs of the original states that do what ``chosen`` pairs of :attr:`program` do."""
        taken = self.program.action[chosen].astype(np.int64)
        taken = taken[taken < original.pairs]
        found = towards(original, self.inside, original.state[taken])
        found[original.state[taken]] = taken
        # All others stay in their end.
        inner = np.flatnonzero(self.inside)[::-1]
        stay = np.full(original.states, -1, np.int64)
        stay[original.state[inner]] = inner
        return np.where(found < 0, stay, found)


def merged(program: Program) -> Merged:
    """Return a program of undiscounted rewards with its ends merged."""
    inside, chances = program.reward == 0.0, program.chances
    while True:
        label = connected_components(_moves(program, inside), connection="strong")[1].astype(np.int64)
        to = label[chances.indices]
        low, high = (each.reduceat(to, chances.indptr[:-1]) for each in (np.minimum, np.maximum))
        stays = inside & (low == high)[program.lottery] & (low[program.lottery] == label[program.state])
        if stays.sum() == inside.sum():
            break
        inside = stays
    ends, others = np.unique(label[program.state[inside]]), np.flatnonzero(~inside)
    into = sparse.csr_array((np.ones(program.states), label, np.arange(program.states + 1)))
    rows = sparse.csr_array(chances @ into)
    # The pair that stops leads nowhere: its row has one entry, 0.
    rows = sparse.csr_array(
        (np.append(rows.data, 0.0), np.append(rows.indices, 0), np.append(rows.indptr, rows.nnz + 1)),
        shape=(rows.shape[0] + 1, rows.shape[1]),
    )
    pairs = (
        np.append(label[program.state[others]], ends),
        np.append(others, np.full(ends.size, program.pairs)),
        np.append(program.reward[others], np.zeros(ends.size)),
        np.append(program.lottery[others], np.full(ends.size, chances.shape[0])),
    )
    return Merged(program_of(*pairs, rows, 1.0), label, inside)


def surely_ending(program: Program) -> Numbers:
    """Return a pair of every state, ``(n,)``, with which a merged program surely stops; -1 where none does."""
    stops = _stops(program)
    allowed = np.ones(program.pairs, np.bool_)
    while True:
        chosen = towards(program, allowed, program.state[stops])
        chosen[program.state[stops]] = np.flatnonzero(stops)
        left = chosen < 0
        more = allowed & ~((program.chances @ left.astype(np.float64)) > 0.0)[program.lottery]
        if more.sum() == allowed.sum():
            return chosen
        allowed = more


def endless(program: Program, chosen: Numbers) -> Flags:
    """Return the states from which a policy of a merged program may never stop, ``(n,)``."""
    mask = np.zeros(program.pairs, np.bool_)
    mask[chosen] = True
    ends = _stops(program) & mask
    found = towards(program, mask, program.state[ends]) < 0
    found[program.state[ends]] = False
    return found


def endless_pairs(program: Program, pairs: Numbers) -> Flags:
    """Return the states from which a policy of any program never comes to stay where rewards are 0, ``(n,)``."""
    mask = np.zeros(program.pairs, np.bool_)
    mask[pairs] = True
    moves = _moves(program, mask).tocoo()
    count, label = connected_components(moves, connection="strong")
    left = np.zeros(count, np.bool_)
    left[label[moves.row[label[moves.row] != label[moves.col]]]] = True
    left[label[program.reward[pairs] != 0.0]] = True
    stays = np.flatnonzero(~left[label])
    found = towards(program, mask, stays) < 0
    found[stays] = False
    return found


def towards(program: Program, allowed: Flags, targets: Numbers) -> Numbers:
    """Return an ``allowed`` pair of every state that brings it nearer to ``targets``, ``(n,)``; -1 where none does."""
    moves = _moves(program, allowed).tocoo()
    n = program.states
    back = np.append(moves.col, np.full(targets.size, n)), np.append(moves.row, targets)
    graph = sparse.csr_array((np.ones(back[0].size), back), shape=(n + 1, n + 1))
    before = breadth_first_order(graph, n, return_predecessors=True)[1]
    which = np.flatnonzero(allowed)[::-1]
    rows = program.chances[program.lottery[which]].tocoo()
    state = program.state[which[rows.row]]
    nearer = (before[state] == rows.col) & (rows.data > 0.0)
    found = np.full(n, -1, np.int64)
    found[state[nearer]] = which[rows.row[nearer]]
    return found


def _moves(program: Program, allowed: Flags) -> sparse.csr_array:
    """Return the graph of the states, ``(n, n)``, with an edge where an ``allowed`` pair may lead."""
    lottery, state = program.lottery[allowed], program.state[allowed]
    shape = program.states, program.chances.shape[0]
    return sparse.csr_array(sparse.csr_array((np.ones(state.size), (state, lottery)), shape=shape) @ program.chances)


def _stops(program: Program) -> Flags:
    """Return which pairs of a merged program stop."""
    found: Flags = (program.chances.sum(axis=1) == 0.0)[program.lottery]
    return found
