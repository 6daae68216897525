"""Arrangement of alternatives as product states of a machine: which share a product state, and which form a group.

:mod:`beltline.host.solver.products` defines product states. A machine takes running maxima over neighbouring product
states, which begin again at the first state of each group (:mod:`beltline.hw.sweep.combine`). So one group can serve
two regimes: if every alternative of regime ``r`` is also one of regime ``t``, the group has the product states of ``r``
first, and then those that only ``t`` has. The running maximum at the last product state of ``r`` is the value of ``r``,
and at the last one of ``t`` the value of ``t``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.general.form import Branch, Form, Outside


@dataclass(frozen=True, eq=False)
class Arrangement:
    """The position (*place*) of each alternative among the ``count`` product states of an exogenous state.

    Parameters
    ----------
    count
        Product states of each exogenous state, at most ``N_d``.
    place : (N_d,) int64 array
        Place of each alternative, from 0. Alternatives of different regimes with the same tables have the same place.
    first, last : (N_r,) int64 arrays
        Places of the first and the last alternative of each regime.
    """

    count: int
    place: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]

    @property
    def largest(self) -> int:
        """Largest number of alternatives of a regime."""
        return int((self.last - self.first).max()) + 1


def arranged(form: Form, start: NDArray[np.float64]) -> Arrangement:
    """Arrange the alternatives of a problem.

    The alternatives of a regime are sorted: tables of values first, others in the problem's order. Two regimes share a
    group if neither has a table of values, the alternatives of the first are some of those of the second, and the first
    guess of its value is nowhere above that of the second. The alternatives of the first regime then come first.

    Parameters
    ----------
    form
        Tables of the problem.
    start : (N_r, N_k, N_z) float64 array
        First guess of the value of each regime, in units of utility.
    """
    regimes = form.shape[0]
    kind = _kinds(form)
    members = [
        sorted(form.of_regime(r), key=lambda d: (not isinstance(form.alternatives[d], Outside), d))
        for r in range(regimes)
    ]
    chains: list[list[int]] = []
    for r in sorted(range(regimes), key=lambda r: (len(members[r]), r)):
        for chain in chains:
            if _begins_group(form, members, kind, chain[-1], r) and (start[chain[-1]] <= start[r]).all():
                chain.append(r)
                break
        else:
            chains.append([r])
    place = np.zeros(len(form.alternatives), np.int64)
    first, last = np.zeros(regimes, np.int64), np.zeros(regimes, np.int64)
    count = 0
    for chain in sorted(chains, key=min):
        begin, of_kind = count, dict[int, int]()
        for r in chain:
            for d in members[r]:
                if len(chain) == 1 or kind[d] not in of_kind:
                    of_kind[kind[d]] = count
                    count += 1
                place[d] = of_kind[kind[d]]
            first[r], last[r] = begin, count - 1
    return Arrangement(count, place, first, last)


def _begins_group(form: Form, members: list[list[int]], kind: list[int], lower: int, upper: int) -> bool:
    """Return whether the alternatives of regime ``lower`` are some, but not all, of those of regime ``upper``."""
    tables = any(isinstance(form.alternatives[d], Outside) for r in (lower, upper) for d in members[r])
    few, many = ({kind[d] for d in members[r]} for r in (lower, upper))
    # A maximum takes two equal alternatives of a regime as one; a log-sum must not.
    twice = form.sigma > 0.0 and len(few) + len(many) < len(members[lower]) + len(members[upper])
    return not tables and not twice and few < many


def _kinds(form: Form) -> list[int]:
    """Return for each alternative the number of the first one that is equal except for its name and regime."""
    found: list[int] = []
    for d, one in enumerate(form.alternatives):
        same = (c for c in range(d) if _same(form.alternatives[c], one))
        found.append(next(same, d))
    return found


_TABLES = ("wealth", "cost", "transition", "beta", "mix", "kappa", "low", "high")


def _same(one: Branch | Outside, other: Branch | Outside) -> bool:
    if isinstance(one, Outside) or isinstance(other, Outside):
        return False
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in _TABLES)
