"""Show the error of the published search rule on the headline problem.

``python -m beltline.gpu_ref.published.search_rule`` prints the grid, the number of sweeps compared, and for both rules
how many states end wrong and by how much. The tables are computed here from their formulas, because this package does
not depend on the models that users call.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from beltline.gpu_ref.exact import exact_sweep
from beltline.gpu_ref.published import grid_search, staged_search
from beltline.gpu_ref.published.iteration import Sweep, sup_norm
from beltline.gpu_ref.tables import Array

ALPHA, BETA, DELTA, ETA, RHO, SIGMA = 0.35, 0.984, 0.01, 2.0, 0.95, 0.005
WIDTH = 3.0
"""Half-width of the Tauchen grid in unconditional standard deviations."""


@dataclass(frozen=True)
class Headline:
    """The RBC problem as tables; shapes and units as in :mod:`beltline.gpu_ref`."""

    X: Array
    W: Array
    Q: Array
    V0: Array
    beta: float = BETA
    eta: float = ETA


def headline(grid: int = 65_536, states: int = 4) -> Headline:
    """Return the tables of the RBC problem of Aldrich, Fernandez-Villaverde, Gallant and Rubio-Ramirez (2011).

    ``W = z k^alpha + (1 - delta) k`` on a uniform grid from ``0.95 kss(z_min)`` to ``1.05 kss(z_max)``, ``kss(z) =
    ((1/beta - 1 + delta) / (alpha z))^(1/(alpha - 1))``. The chain is Tauchen's (1986). The starting value is ``U(z
    kss(z)^alpha - delta kss(z))``, the same for all ``k``.

    Raises
    ------
    ValueError
        ``grid`` or ``states`` is below 2.
    """
    if grid < 2 or states < 2:
        raise ValueError(f"grid and states must be at least 2, not {grid} and {states}")
    half = WIDTH * SIGMA / math.sqrt(1.0 - RHO**2)
    log_z = np.linspace(-half, half, states)
    edges = (log_z[1:] + log_z[:-1]) / 2
    Q = np.empty((states, states))
    for i in range(states):
        below = [0.5 * math.erfc(-(edge - RHO * log_z[i]) / (SIGMA * math.sqrt(2.0))) for edge in edges]
        Q[i] = np.diff([0.0, *below, 1.0])
    z = np.exp(log_z)
    steady = ((1.0 / BETA - 1.0 + DELTA) / (ALPHA * z)) ** (1.0 / (ALPHA - 1.0))
    X = np.linspace(0.95 * steady[0], 1.05 * steady[-1], grid)
    W = z * X[:, None] ** ALPHA + (1.0 - DELTA) * X[:, None]
    start = -1.0 / (z * steady**ALPHA - DELTA * steady)
    return Headline(X, W, Q, np.tile(start, (grid, 1)))


def _spread(counts: Sequence[int]) -> str:
    """Return the range of the counts as text."""
    return f"{counts[0]}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Iterate with the exact sweep, compare both rules with it in every sweep, and print the outcome."""
    parser = argparse.ArgumentParser(prog="python -m beltline.gpu_ref.published.search_rule", description=__doc__)
    parser.add_argument("--grid", type=int, default=65_536, help="grid points, a power of two from 4 (default 65,536)")
    parser.add_argument("--states", type=int, default=4, help="exogenous states (default 4)")
    parser.add_argument(
        "--sweeps", type=int, default=0, help="number of sweeps to examine (default: until convergence)"
    )
    parser.add_argument("--epsilon", type=float, default=1e-10, help="largest change at convergence (default 1e-10)")
    parser.add_argument(
        "--brute",
        type=int,
        default=1,
        help="check the exact sweep by full grid search in the first BRUTE sweeps and the last",
    )
    options = parser.parse_args(arguments)
    problem = headline(options.grid, options.states)
    X, W, Q = problem.X, problem.W, problem.Q
    begin = time.perf_counter()
    counts: dict[staged_search.Rule, list[int]] = {"published": [], "corrected": []}
    lost: list[int] = []
    own: list[int] = []
    losses = {"published": 0.0, "corrected": 0.0}
    differ = checked = sweeps = 0
    value = iterated = problem.V0
    while True:
        previous = value
        value, policy = exact_sweep(X, W, Q, previous, BETA, ETA)
        sweeps += 1
        if checked < options.brute:
            differ += int(np.count_nonzero(grid_search.sweep(X, W, Q, previous, BETA, ETA)[1] != policy))
            checked += 1
        truth = value, policy
        oracle: Sweep = lambda *_, truth=truth: truth  # noqa: E731
        for rule in ("published", "corrected"):
            wrong = staged_search.wrong_states(X, W, Q, previous, BETA, ETA, rule, oracle)
            counts[rule].append(wrong.count)
            losses[rule] = max(losses[rule], wrong.largest_loss)
            if rule == "published":
                lost.append(wrong.lost)
        iterated, own_policy = staged_search.sweep(X, W, Q, iterated, BETA, ETA, "published")
        own.append(int(np.count_nonzero(own_policy != policy)))
        if sup_norm(value, previous) < options.epsilon or sweeps == options.sweeps:
            break
    if options.brute and checked < sweeps:
        differ += int(np.count_nonzero(grid_search.sweep(X, W, Q, previous, BETA, ETA)[1] != policy))
        checked += 1
    reached = np.isfinite(iterated)
    gap = np.abs(iterated[reached] - value[reached]).max(initial=0.0)
    print(f"""\
grid            {options.grid} x {options.states} = {W.size} states, X from {X[0]:.6f} to {X[-1]:.6f}
sweeps          {sweeps}, largest change of the last {sup_norm(value, previous):.3e}
exact sweep     differs from full grid search in {differ} states of {checked} sweep(s) checked
published rule  from the exact V of the sweep before:
                {_spread(counts["published"])} wrong states in each sweep, of which {_spread(lost)} end without a
                feasible choice (value -inf), and the others lose at most {losses["published"]:.3e}
                iterating on its own values:
                {_spread(own)} wrong states in each sweep, {own[-1]} in the last, after which
                {np.count_nonzero(~reached)} values are -inf and the others are off by at most {gap:.3e}
corrected rule  {_spread(counts["corrected"])} wrong states in each sweep
time            {time.perf_counter() - begin:.1f} s""")


if __name__ == "__main__":
    main()
