"""The kernel of the Euler-equation iteration, compiled for the processor and run on it, and on a device if one is
present.
"""

import numpy as np
import pytest

from beltline.gpu_ref.krusell_smith import cuda_euler, euler_iteration
from beltline.gpu_ref.krusell_smith.cuda_euler import band_of, solve
from beltline.gpu_ref.krusell_smith.euler_iteration import slope_matrix
from beltline.host.models.krusell_smith.model import krusell_smith
from support.cuda_on_cpu import compiler, in_small_blocks
from support.households import household

gpu = pytest.mark.skipif(bool(cuda_euler.available()), reason=cuda_euler.available() or "there is a device")


@pytest.fixture
def on_cpu(monkeypatch, compiled):
    """Run the kernel on the processor, as a device with 3 multiprocessors for the 8 places (4 points of K) and small
    blocks.
    """
    with in_small_blocks(monkeypatch, cuda_euler, compiled, "iterate", 9) as found:
        yield found


def both(economy, monkeypatch, **options):
    """Solve the household on the processor and by the kernel, with the same arguments."""
    wanted = household(economy, **options)
    return household(economy, solve=solve, **options), wanted


@compiler
@pytest.mark.parametrize("eta", [1.0, 2.5])
@pytest.mark.parametrize("count", [1, 30])
def test_the_kernel_on_the_processor_does_what_numba_does(on_cpu, monkeypatch, eta, count):
    found, wanted = both(krusell_smith(eta=eta, points=40), monkeypatch, max_iterations=count)
    assert (found.iterations, found.converged) == (count, False)
    assert (np.abs(found.policy - wanted.policy) <= 1e-12 * np.maximum(wanted.policy, 1)).all()
    assert found.change == pytest.approx(wanted.change, rel=1e-11)
    assert [launch[:2] for launch in on_cpu.launches] == [(3, 8)] * -(-count // 9)


@compiler
@pytest.mark.parametrize("means", [2, 5])
def test_it_stops_when_the_policy_no_longer_changes(on_cpu, monkeypatch, means):
    lines = []
    economy = krusell_smith(points=20, means=means, top=100.0, power=3.0, beta=0.9)
    wanted = household(economy, tol=1e-3)
    found = household(economy, solve=solve, tol=1e-3, progress=lambda done, change: lines.append(done))
    assert found.converged
    assert found.iterations == wanted.iterations
    assert found.change < 1e-3
    assert np.abs(found.policy - wanted.policy).max() < 1e-12
    assert (found.policy == 0).any()
    assert lines == list(range(9, found.iterations, 9))


@compiler
def test_a_policy_that_is_not_a_number_is_reported(on_cpu):
    economy = krusell_smith(points=12)
    k, means = economy.grid, economy.mean_grid
    wealth = economy.wealth(k).reshape(12, 4, 4)
    ahead = np.full((4, 2), 40.0)
    tables = k, means, wealth, ahead, economy.gross(ahead), economy.income(ahead).reshape(4, 2, 4), economy.transition
    start = np.repeat(0.9 * k, 16).reshape(12, 4, 4)
    start[3, 1, 2] = np.nan
    for solver in (euler_iteration.solve, solve):
        with pytest.raises(FloatingPointError, match="^the policy is not a number after 1 iterations$"):
            solver(*tables, 0.99, 1.0, start)


@compiler
def test_a_grid_too_large_for_the_device_is_refused(on_cpu):
    with pytest.raises(ValueError, match="^the grid of k may have 3,227 points on this CUDA device, not 4,000$"):
        solve(
            range(4000), range(4), np.ones((4000, 4, 4)), np.ones((4, 2)), np.ones((4, 2, 2)), np.ones((4, 2, 4)),
            np.ones((4, 4)), 0.9, 1.0, np.ones((4000, 4, 4)),
        )  # fmt: skip


@pytest.mark.parametrize(("points", "power"), [(40, 7), (100, 7), (500, 7), (300, 1)])
def test_entries_left_out_of_slopes_are_below_rounding(points, power):
    x = 1000 * np.linspace(0, 1, points) ** power
    matrix = slope_matrix(x)
    rows, columns = np.indices(matrix.shape)
    stored = np.where(np.abs(rows - columns) <= band_of(matrix), matrix, 0)
    values = 0.97 * x + 2 + np.sin(x)
    steps = np.append(np.diff(x), np.diff(x)[-1])
    assert np.abs(steps * ((matrix - stored) @ values)).max() < 1e-14
    assert points < 300 or band_of(matrix) < 60


@pytest.mark.skipif(not cuda_euler.available(), reason="there is a device")
def test_without_a_device_one_sentence_is_printed():
    with pytest.raises(RuntimeError, match="CU"):
        solve(*[0] * 7, 0.9, 1.0, 0)


@gpu
@pytest.mark.parametrize(("points", "means", "eta"), [(100, 4, 1.0), (100, 50, 2.0), (500, 4, 1.0)])
def test_the_device_does_what_the_processor_does(monkeypatch, points, means, eta):
    found, wanted = both(krusell_smith(points=points, means=means, eta=eta), monkeypatch)
    assert found.converged
    assert abs(found.iterations - wanted.iterations) <= 1
    assert np.abs(found.policy - wanted.policy).max() < 1e-9
