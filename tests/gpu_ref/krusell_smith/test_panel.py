"""Compare shocks and the simulation of a panel with plain NumPy and SciPy."""

import numba
import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline, RegularGridInterpolator

from beltline.gpu_ref.krusell_smith import panel
from beltline.gpu_ref.krusell_smith.panel import INTERPOLATIONS, path_error, simulate
from beltline.gpu_ref.krusell_smith.shocks import aggregate_chain, draw_shocks
from support.panels import CHAIN, SHARES, surface


def by_hand(policy, x, m, shocks, start, method):
    """Simulate the panel agent by agent, interpolating in one direction after the other, with SciPy."""

    def cubic(grid, values, at):
        rows = np.arange(grid.size)
        low, high = np.maximum(rows - 1, 0), np.minimum(rows + 1, grid.size - 1)
        spread = (grid[high] - grid[low]).reshape(-1, *[1] * (values.ndim - 1))
        return CubicHermiteSpline(grid, values, (values[high] - values[low]) / spread, axis=0)(at)

    k = np.full(shocks.agents, start)
    path = [k.mean()]
    below = above = 0
    for t, a in enumerate(shocks.aggregate):
        at, work = np.clip(path[-1], m[0], m[-1]), shocks.employment(t)
        if method == "bilinear":
            ahead = np.empty_like(k)
            for e in (0, 1):
                here = work == e
                table = RegularGridInterpolator((x, m), policy[:, :, a, e])
                ahead[here] = table(np.column_stack([k[here], np.full(here.sum(), at)]))
        else:
            both = cubic(x, cubic(m, np.moveaxis(policy[:, :, a], 1, 0), at), k)
            ahead = np.where(work == 1, both[:, 1], both[:, 0])
        below, above = below + (ahead < x[0]).sum(), above + (ahead > x[-1]).sum()
        k = np.clip(ahead, x[0], x[-1])
        path.append(k.mean())
    return np.array(path), k, below, above


@pytest.mark.parametrize("agents", [50, 100, 6400, 10_000])
def test_unemployment_is_exact_in_every_period(agents):
    shocks = draw_shocks(agents, 300, CHAIN, SHARES, seed=agents)
    assert set(shocks.aggregate) == {0, 1}
    for t, a in enumerate(shocks.aggregate):
        assert shocks.unemployed(t) == round((0.10, 0.04)[a] * agents) == agents - shocks.employment(t).sum()


def test_a_bit_an_agent_and_period():
    shocks = draw_shocks(10_000, 20, CHAIN, SHARES)
    assert shocks.employed.nbytes == 20 * 157 * 8
    assert not (shocks.employed[:, -1] >> np.uint64(10_000 - 156 * 64)).any()


def test_agents_follow_the_chain():
    agents, periods = 5_000, 2_000
    shocks = draw_shocks(agents, periods, CHAIN, SHARES, seed=3)
    work = np.array([shocks.employment(t) for t in range(periods)])
    a, b = shocks.aggregate[:-1], shocks.aggregate[1:]
    joint = CHAIN.reshape(2, 2, 2, 2)
    for i in range(2):
        share = b[a == i].mean()
        assert abs(share - 0.875 * i - 0.125 * (1 - i)) < 5 * np.sqrt(0.11 / (a == i).sum())
        for j in range(2):
            now, then = work[:-1][(a == i) & (b == j)], work[1:][(a == i) & (b == j)]
            for e in range(2):
                wanted = joint[i, e, j, 1] / joint[i, e, j].sum()
                # The rounding of numbers of agents averages out over periods.
                assert abs(then[now == e].mean() - wanted) < 2e-3
    # No agent is favoured: time without work varies over agents as much as that of independent agents.
    idle = 1 - work.mean(axis=0)
    assert abs(idle.mean() - (1 - work.mean())) < 1e-12
    assert idle.min() > 0.02
    assert idle.max() < 0.14
    # Nor does it depend on an agent's place in its word.
    places = np.array([idle[j::64].mean() for j in range(64)])
    assert np.abs(places - idle.mean()).max() < 5 * idle.std() / np.sqrt(agents / 64)


def test_chain_of_the_aggregate_state():
    assert np.allclose(aggregate_chain(CHAIN), [[0.875, 0.125], [0.125, 0.875]], atol=1e-6)


@pytest.mark.parametrize("method", INTERPOLATIONS)
@pytest.mark.parametrize("means", [2, 3, 5])
def test_the_panel_is_that_of_scipy(method, means):
    policy, x, m = surface(means=means)
    shocks = draw_shocks(150, 200, CHAIN, SHARES, seed=1)
    found = simulate(policy, x, m, shocks, 38.0, method)
    path, wealth, below, above = by_hand(policy, x, m, shocks, 38.0, method)
    slack = 1e-4 if method == "bicubic-single" else 1e-10
    assert found.wealth.dtype == INTERPOLATIONS[method]
    assert np.abs(found.capital - path).max() < slack
    assert np.abs(found.wealth - wealth).max() < slack
    if method != "bicubic-single":
        assert (found.below, found.above) == (below, above)


@pytest.mark.parametrize("method", INTERPOLATIONS)
def test_threads_change_no_bit(method):
    policy, x, m = surface()
    shocks = draw_shocks(40_000, 20, CHAIN, SHARES)
    before = numba.get_num_threads()
    runs = []
    for count in (1, numba.config.NUMBA_NUM_THREADS):
        numba.set_num_threads(count)
        runs.append(simulate(policy, x, m, shocks, 38.0, method))
    numba.set_num_threads(before)
    assert (runs[0].capital == runs[1].capital).all()
    assert (runs[0].wealth == runs[1].wealth).all()
    assert runs[0].capital[-1] == pytest.approx(runs[0].wealth.mean(dtype=np.float64), rel=1e-12)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("power", [1, 2, 7])
def test_every_number_finds_its_interval(kind, power):
    grid = 1000 * np.linspace(0, 1, 500) ** power
    search = panel.places(grid, kind)
    x = np.random.default_rng(0).choice(search.grid[1:], 5_000)
    x = np.concatenate([search.grid, x, np.nextafter(x, kind(0)), x * kind(0.999), [grid[-1]]]).astype(kind)
    bits = x.view(np.int32 if kind == np.float32 else np.int64)
    start = search.table[np.maximum((bits >> search.shift) - search.base, 0)]
    wanted = np.clip(np.searchsorted(search.grid, x, side="right") - 1, 0, grid.size - 2)
    # The search may start a little too low, but never too high.
    assert (start <= wanted).all()
    assert np.percentile(wanted - start, 99) <= 12 // power


def test_agents_that_would_leave_the_grid_are_counted():
    policy, x, m = surface()
    shocks = draw_shocks(100, 3, CHAIN, SHARES)
    high = simulate(policy * 0 + 201.0, x, m, shocks, 38.0)
    assert (high.above, high.below, high.outside) == (300, 0, 2)
    assert (high.wealth == 200).all()
    low = simulate(policy * 0 - 1.0, x, m, shocks, 0.0)
    assert (low.above, low.below, low.outside) == (0, 300, 3)
    assert (low.wealth == 0).all()


def test_path_error_is_in_per_cent_of_the_reference():
    assert path_error([40, 39, 41], [40, 40, 40]) == pytest.approx(2.5)
    assert path_error([40, 10], [40, 20]) == pytest.approx(50)
