"""Conversion of problems to discrete dynamic programs and to the arrays of QuantEcon's ``DiscreteDP``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.checks import ProblemError, shown
from beltline.host.problem.discrete import DiscreteProblem
from beltline.host.problem.memory import memory_as_problem_error
from beltline.host.problem.problem import Problem

if TYPE_CHECKING:
    from beltline.gpu_ref.general.form import Tables


def to_discrete_dp(
    problem: Problem | DiscreteProblem,
) -> tuple[NDArray[np.float64], Any, float, NDArray[np.int64], NDArray[np.int64]]:
    """Convert a problem to the arguments of QuantEcon's ``DiscreteDP``, to check a solution with another solver.

    With QuantEcon: ``DiscreteDP(*bl.to_discrete_dp(problem)).solve(method="policy_iteration").v``.

    Parameters
    ----------
    problem : Problem or DiscreteProblem
        Of a :class:`~beltline.host.problem.problem.Problem`, state ``(r * N_k + x) * N_z + s`` is grid point ``x`` with
        exogenous state ``s`` in regime ``r``, and action ``d * N_k + x'`` is the choice of grid point ``x'`` under
        alternative ``d``. An alternative that is given by its value (``value=``) has this value as its reward, and
        leads to one additional state, the last, whose value is 0.

    Returns
    -------
    R : (L,) float64 array
        Reward of each feasible pair of a state and an action. Where several actions of a state lead to the same
        distribution of the next state, only the best is returned. A state of a discrete problem with the value minus
        infinity has one pair, with the reward ``-inf``.
    Q : (L, n) scipy.sparse array
        Probabilities of the next state of each pair.
    beta : float
        Discount factor.
    s_indices, a_indices : (L,) int64 array
        State and action of each pair.

    Raises
    ------
    ProblemError
        The problem has a finite horizon, taste shocks or several discount factors, which ``DiscreteDP`` has not; or the
        arrays do not fit in memory.

    Examples
    --------
    >>> import beltline as bl
    >>> R, Q, beta, s, a = bl.to_discrete_dp(bl.rbc(grid=64))
    >>> R.shape == s.shape == a.shape, Q.shape[1]
    (True, 256)
    """
    if not isinstance(problem, Problem | DiscreteProblem):
        raise ProblemError(f"problem must be a Problem or a DiscreteProblem, not {shown(problem)}")
    with memory_as_problem_error():
        if isinstance(problem, Problem):
            problem = discrete_of(problem)
        elif problem.horizon is not None:
            raise _lacks(problem, "an infinite horizon", f"{problem.horizon} ages")
        program = problem.program
        return (
            np.where(program.lost[program.state], -np.inf, program.reward),
            program.chances[program.lottery],
            program.beta,
            program.state.copy(),
            program.action.astype(np.int64),
        )


def discrete_of(problem: Problem) -> DiscreteProblem:
    """Convert a problem to a discrete dynamic program, with states, actions and errors as of :func:`to_discrete_dp`."""
    from scipy import sparse

    from beltline.gpu_ref.discrete.program import check_pairs, next_states, numbered, program_of
    from beltline.gpu_ref.general.form import Branch

    form = problem.form
    regimes, n_k, n_z = form.shape
    if problem.horizon is not None:
        raise _lacks(problem, "an infinite horizon", f"{problem.horizon} ages")
    if form.sigma > 0.0:
        raise _lacks(problem, "no taste shocks", f"taste = {form.sigma:g}")
    discounts = {float(each) for one in form.alternatives if isinstance(one, Branch) for each in np.unique(one.beta)}
    if len(discounts) > 1:
        raise _lacks(problem, "one beta", f"betas from {min(discounts):g} to {max(discounts):g}")
    outside = any(not isinstance(one, Branch) for one in form.alternatives)
    # Alternatives given by their value lead to one additional state.
    states = regimes * n_k * n_z + outside
    parts: list[tuple[Any, ...]] = []
    lotteries: list[Any] = []
    count = 0
    with memory_as_problem_error():
        check_pairs(len(form.alternatives) * n_k * n_k * n_z)
        for d, one in enumerate(form.alternatives):
            here = (one.regime * n_k + np.arange(n_k)[:, None]) * n_z + np.arange(n_z)
            if isinstance(one, Branch):
                tables = one.at(0)
                for s in range(n_z):
                    rewards = _rewards(tables, form.eta, s, form.negative)
                    x, to = np.nonzero(rewards > -np.inf)
                    parts.append((here[x, s], d * n_k + to, rewards[x, to], count + s * n_k + to))
                moved = next_states(tables.transition, n_k)
                rows = sparse.hstack([share * moved for share in tables.mix], format="csr")
            else:
                value = one.at(0)
                can = np.nonzero(value > -np.inf)
                nowhere = np.full(can[0].size, count)
                parts.append((here[can], np.full(can[0].size, d * n_k), value[can], nowhere))
                rows = sparse.csr_array(([1.0], ([0], [states - 1])))
            lotteries.append(sparse.csr_array((rows.data, rows.indices, rows.indptr), shape=(rows.shape[0], states)))
            count += rows.shape[0]
        if outside:
            end = sparse.csr_array(([1.0], ([0], [states - 1])), shape=(1, states))
            lotteries.append(end)
            parts.append(tuple(np.array([each]) for each in (states - 1, 0, 0.0, count)))
        state, action, reward, lottery = (np.concatenate(each) for each in zip(*parts, strict=True))
        chances = sparse.vstack(lotteries, format="csr")
        chances.eliminate_zeros()
        number, chances, group = numbered(state, lottery, chances)
        program = program_of(state, action, reward, number, chances, discounts.pop() if discounts else 0.0, group)
    return DiscreteProblem(program, (states,), problem.name)


def _rewards(tables: Tables, eta: float, s: int, negative: bool) -> NDArray[np.float64]:
    """Return utility and ``kappa`` of each pair of row and candidate, ``(N_k, N_k)``; ``-inf`` if not allowed."""
    from beltline.gpu_ref.utility import crra_utility

    consumption = tables.wealth[:, s, None] - tables.cost[None, :, s]
    candidates = np.arange(consumption.shape[1])
    allowed = (tables.low[:, s, None] <= candidates) & (candidates <= tables.high[:, s, None])
    if not negative:
        allowed &= consumption > 0.0
    with np.errstate(all="ignore"):
        utility = consumption if eta == 0.0 else crra_utility(consumption, eta)
    return np.where(allowed, utility + tables.kappa[s], -np.inf)


def _lacks(problem: Problem | DiscreteProblem, wanted: str, found: str) -> ProblemError:
    return ProblemError(f"a discrete dynamic program must have {wanted}, but problem {problem.name!r} has {found}")
