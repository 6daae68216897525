"""The panel's CUDA kernel with its host code, compiled for the processor and run on it, and on a device if one is
present.
"""

import numpy as np
import pytest

from beltline.gpu_ref.krusell_smith import cuda_panel, panel
from beltline.gpu_ref.krusell_smith.cuda_panel import Simulator, layout, once, options, source
from beltline.gpu_ref.krusell_smith.panel import INTERPOLATIONS
from beltline.gpu_ref.krusell_smith.shocks import draw_shocks
from support.cuda_on_cpu import compiler, in_small_blocks
from support.panels import CHAIN, SHARES, surface

gpu = pytest.mark.skipif(bool(cuda_panel.available()), reason=cuda_panel.available() or "there is a device")


def simulate(policy, x, m, shocks, *more):
    return Simulator(shocks).simulate(policy, x, m, *more)


@pytest.fixture
def on_cpu(monkeypatch, compiled):
    """Run the kernel on the processor, as a device with 3 multiprocessors and many small blocks."""
    with in_small_blocks(monkeypatch, cuda_panel, compiled, "simulate", 10) as found:
        yield found


def agree(found, wanted, slack):
    assert found.wealth.dtype == wanted.wealth.dtype
    assert np.abs(found.capital - wanted.capital).max() <= slack
    assert np.abs(found.wealth - wanted.wealth).max() <= slack
    assert (found.below, found.above, found.outside) == (wanted.below, wanted.above, wanted.outside)


@compiler
@pytest.mark.parametrize("method", INTERPOLATIONS)
@pytest.mark.parametrize("near", [True, False])
def test_kernels_on_the_processor_do_what_numba_does(on_cpu, monkeypatch, method, near):
    if not near:
        monkeypatch.setattr(cuda_panel, "NEAR_LIMIT", 0)
    policy, x, m = surface()
    shocks = draw_shocks(150, 25, CHAIN, SHARES, seed=1)
    wanted = panel.simulate(policy, x, m, shocks, 38.0, method)
    # Another order of sums can change wealth in single precision by a unit in its last place.
    agree(simulate(policy, x, m, shocks, 38.0, method), wanted, 1e-4 if method == "bicubic-single" else 1e-11)
    assert [(blocks, threads) for blocks, threads, _ in on_cpu.launches] == [(3, 8)] * 3
    assert (max(shared for *_, shared in on_cpu.launches) > 4096) == near


@compiler
@pytest.mark.parametrize("method", INTERPOLATIONS)
def test_blocks_of_many_agents_and_a_remainder(on_cpu, method):
    policy, x, m = surface()
    # 1,250 is neither a multiple of the agents that a thread moves at once, nor of those of a block.
    shocks = draw_shocks(1250, 12, CHAIN, SHARES, seed=2)
    start = np.random.default_rng(0).uniform(0, 80, 1250)
    wanted = panel.simulate(policy, x, m, shocks, start, method)
    agree(simulate(policy, x, m, shocks, start, method), wanted, 1e-4 if method == "bicubic-single" else 1e-11)
    assert {blocks for blocks, *_ in on_cpu.launches} == {5}


@compiler
@pytest.mark.parametrize("method", ["bicubic", "bicubic-single"])
def test_a_grid_with_many_intervals_where_a_search_begins(on_cpu, method):
    policy, _, m = surface(1500)
    x = np.linspace(0, 200, 1500)
    assert not once(panel.places(x, INTERPOLATIONS[method]))
    shocks = draw_shocks(150, 12, CHAIN, SHARES, seed=3)
    start = np.random.default_rng(0).uniform(0, 200, 150)
    wanted = panel.simulate(policy, x, m, shocks, start, method)
    agree(simulate(policy, x, m, shocks, start, method), wanted, 1e-4 if method == "bicubic-single" else 1e-11)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize(("points", "power"), [(60, 4), (100, 7), (500, 7), (100, 1), (400, 2)])
def test_one_comparison_suffices_exactly_where_reported(kind, points, power):
    search = panel.places(1000 * np.linspace(0, 1, points) ** power, kind)
    x = np.concatenate([search.grid, np.nextafter(search.grid[1:], kind(0)), np.geomspace(1e-12, 1000, 200_001)])
    x = np.minimum(x.astype(kind), search.grid[-1])
    bits = x.view(np.int32 if kind == np.float32 else np.int64)
    begin = search.table[np.maximum((bits >> search.shift) - search.base, 0)]
    beyond = np.clip(np.searchsorted(search.grid, x, side="right") - 1, 0, points - 2) - begin
    assert once(search) == (beyond.max() <= 1)


@pytest.mark.parametrize("agents", [50, 10_000, 500_000, 10_000_000])
@pytest.mark.parametrize("size", [4, 8])
def test_blocks_are_on_the_device_at_once_and_hold_all_agents(agents, size):
    plan = layout(agents, 132, size)
    assert plan.blocks <= 132 * cuda_panel.RESIDENT
    assert (plan.blocks - 1) * plan.span < agents <= plan.blocks * plan.span
    assert plan.span % 64 == 0


@compiler
def test_kernels_count_agents_that_would_leave_the_grid(on_cpu):
    policy, x, m = surface()
    shocks = draw_shocks(100, 3, CHAIN, SHARES)
    for table, start in ((policy * 0 + 201.0, 38.0), (policy * 0 - 1.0, 0.0)):
        agree(simulate(table, x, m, shocks, start), panel.simulate(table, x, m, shocks, start), 1e-12)


@compiler
def test_a_panel_too_large_for_the_device_is_refused(on_cpu):
    on_cpu.device.mem_info = (2**20, 2**34)
    policy, x, m = surface()
    with pytest.raises(MemoryError, match="the panel needs 0.06 GiB of device memory, and 0.00 GiB are free"):
        simulate(policy, x, m, draw_shocks(100, 3, CHAIN, SHARES), 38.0)


@pytest.mark.skipif(not cuda_panel.available(), reason="there is a device")
def test_without_a_device_one_sentence_is_printed():
    policy, x, m = surface()
    with pytest.raises(RuntimeError, match="CU"):
        simulate(policy, x, m, draw_shocks(100, 3, CHAIN, SHARES), 38.0)


def test_every_method_has_its_own_kernel():
    lines = {
        options(method, near, once) for method in INTERPOLATIONS for near in (True, False) for once in (True, False)
    }
    assert len(lines) == 12
    assert all(option.split("=")[0][2:] in source() for given in lines for option in given if option[:2] == "-D")


@gpu
@pytest.mark.parametrize("method", INTERPOLATIONS)
@pytest.mark.parametrize("points", [60, 500, 4000])
def test_the_device_does_what_the_processor_does(method, points):
    policy, x, m = surface(points)
    shocks = draw_shocks(100_000, 50, CHAIN, SHARES)
    found = simulate(policy, x, m, shocks, 38.0, method)
    wanted = panel.simulate(policy, x, m, shocks, 38.0, method)
    slack = 1e-3 if method == "bicubic-single" else 1e-9
    assert np.abs(found.capital - wanted.capital).max() < slack
    assert np.abs(found.wealth - wanted.wealth).max() < 10 * slack
    again = simulate(policy, x, m, shocks, 38.0, method)
    assert (again.wealth == found.wealth).all()
    assert (again.capital == found.capital).all()
