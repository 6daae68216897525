"""Compare solvers on a CUDA device with the reference solvers. Skipped, with the reason, if there is no device."""

import dataclasses

import numba
import numpy as np
import pytest

from beltline.gpu_ref import cpu
from beltline.gpu_ref.cuda import solver as cuda
from beltline.gpu_ref.cuda import sweeps
from beltline.gpu_ref.cuda.device import refuse
from beltline.gpu_ref.cuda.device_tables import memory
from beltline.gpu_ref.cuda.layout import layout
from beltline.gpu_ref.cuda.proven_sweeps import bends_up
from beltline.gpu_ref.exact import exact_sweep
from beltline.gpu_ref.methods import METHODS, can_stay, modulus
from beltline.gpu_ref.published import grid_search, staged_search, staged_search_cuda
from beltline.gpu_ref.published.iteration import solve as reference_solve
from support.concave_problems import headline, random_problem


@pytest.fixture(autouse=True)
def one_thread():
    """Run the reference solvers on one thread, because tests that run in parallel would otherwise wait for each other's
    threads.
    """
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(before)


gpu = pytest.mark.skipif(bool(cuda.available()), reason=cuda.available() or "there is a device")

EPSILON = 1e-9
ROUNDING = 1e-12
"""Relative tolerance: power and logarithm of the device differ from the C library's by a unit in the last place."""


def close(a, b, slack=0.0):
    finite = np.isfinite(b)
    assert np.array_equal(np.isfinite(a), finite)
    assert np.abs(a[finite] - b[finite]).max(initial=0.0) <= slack + ROUNDING * (1 + np.abs(b[finite]).max(initial=0.0))


def check_policy(problem, solution):
    """Check that the policy is that of full search from `previous`, except where two choices tie within rounding."""
    X, W, Q = problem.X, problem.W, problem.Q
    value, policy = grid_search.sweep(X, W, Q, solution.previous, problem.beta, problem.eta)
    differ = np.argwhere(policy != solution.policy)
    if problem.eta == 2.0 and solution.exact_sweeps == 0:
        assert differ.size == 0
    ev = problem.beta * (solution.previous @ Q.T)
    for x, s in differ:
        i, j = policy[x, s], solution.policy[x, s]
        assert i >= 0
        assert j >= 0
        with np.errstate(all="ignore"):
            c = W[x, s] - X[[i, j]]
            u = np.log(c) if problem.eta == 1.0 else c ** (1 - problem.eta) / (1 - problem.eta)
        a, b = u + ev[[i, j], s]
        assert abs(a - b) <= ROUNDING * (1 + abs(a))
    return value


def test_a_reason_is_a_sentence():
    reason = cuda.available()
    assert reason == "" or (reason.endswith(".") and reason[0].isupper())


@pytest.mark.skipif(not cuda.available(), reason="there is a device")
def test_without_a_device_solve_refuses():
    problem = random_problem(np.random.default_rng(0))
    with pytest.raises(RuntimeError, match="CU"):
        cuda.solve(*problem.arguments, EPSILON)


@pytest.mark.parametrize(("points", "states"), [(1, 1), (16, 4), (500, 8), (65_536, 4), (1_000_000, 4), (3_000, 64)])
@pytest.mark.parametrize("problems", [1, 7, 1000])
def test_every_layout_covers_the_grid_and_fits(points, states, problems):
    plan = layout(points, states, problems, 132)
    assert plan.threads % 32 == 0
    assert plan.threads * plan.points >= plan.span
    assert (plan.blocks - 1) * plan.span < points <= plan.blocks * plan.span
    assert plan.blocks * plan.teams <= 132


@gpu
@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("method", ["warm", "shift", "mpi"])
def test_random_problems(seed, method):
    # Each number of states is another kernel to compile; `test_numbers_of_states` has more of them.
    problem = random_problem(np.random.default_rng(seed), states=(1, 4, 7)[seed % 3])
    solution = cuda.solve(*problem.arguments, EPSILON, method=method)
    assert solution.converged
    assert solution.residual < EPSILON
    once = check_policy(problem, solution)
    X, W, Q = problem.X, problem.W, problem.Q
    size = 1 + np.abs(solution.value).max()
    if METHODS[method].rule == "change":
        reference = reference_solve(*problem.arguments, EPSILON, sweep=grid_search.sweep)
        # A local search that ended on a wrong peak, which the check then found, may take more sweeps.
        if solution.exact_sweeps <= 1:
            assert abs(solution.sweeps - reference.sweeps) <= (0 if problem.eta == 2.0 else 1)
            close(solution.value, reference.value, 2 * EPSILON)
        close(solution.value, once)
    again, _ = exact_sweep(X, W, Q, solution.value, problem.beta, problem.eta)
    factor = modulus(Q, problem.beta)
    assert np.abs(again - solution.value).max() <= factor * EPSILON + ROUNDING * size
    tight = reference_solve(*problem.arguments, 1e-12 * size, sweep=exact_sweep)
    assert np.abs(solution.value - tight.value).max() <= solution.error_bound + 1e-12 * size / (1 - factor)


@gpu
@pytest.mark.parametrize("method", ["warm", "shift"])
@pytest.mark.parametrize("grid", [1, 2, 3, 5, 33, 1025, 4097])
def test_odd_sizes_over_blocks(grid, method):
    problem = random_problem(np.random.default_rng(grid), max(grid, 2), 3, "general")
    if grid == 1:
        problem = dataclasses.replace(problem, X=problem.X[:1], W=problem.W[:1], V0=problem.V0[:1])
    solution = cuda.solve(*problem.arguments, EPSILON, method=method)
    assert solution.converged
    check_policy(problem, solution)


@gpu
@pytest.mark.parametrize("states", [1, 2, 3, 8, 9, 17, 25, 64])
def test_numbers_of_states(states):
    problem = random_problem(np.random.default_rng(states), 130, states, "general")
    for method in ("warm", "shift"):
        check_policy(problem, cuda.solve(*problem.arguments, EPSILON, method=method))


@gpu
@pytest.mark.parametrize("rule", ["corrected", "published"])
def test_staged_search_is_the_reference_bit_by_bit(rule):
    problem = headline(1024)
    # Poor states, in which the rules differ.
    poor = problem.W - (problem.W[0].min() - problem.X[0]) * 0.9
    for W in (problem.W, poor):
        tables = (problem.X, W, problem.Q, problem.V0, problem.beta, problem.eta)
        ours, theirs = (module.solve(*tables, 0.0, 30, rule=rule) for module in (staged_search_cuda, staged_search))
        assert ours.sweeps == theirs.sweeps == 30
        assert ours.residual == theirs.residual
        for name in ("value", "policy", "previous"):
            assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name


@gpu
@pytest.mark.parametrize("points", [16, 1024, 5000])
def test_headline_is_the_reference_bit_by_bit(points):
    problem = headline(points)
    tables = (problem.X, problem.W, problem.Q, problem.V0, problem.beta, problem.eta)
    reference = reference_solve(*tables, 1e-10)
    solution = cuda.solve(*tables, 1e-10, method="warm")
    assert solution.sweeps == reference.sweeps == 1353
    assert solution.residual == reference.residual
    for name in ("value", "policy", "previous"):
        assert np.array_equal(getattr(solution, name), getattr(reference, name)), name


@gpu
@pytest.mark.parametrize("points", [700, 1024, 2049, 5000, 30_000])
def test_starts_need_fewer_sweeps(points):
    problem = headline(points)
    tables = (problem.X, problem.W, problem.Q, problem.V0, problem.beta, problem.eta)
    given = cuda.solve(*tables, 1e-10, method="shift")
    stay = cuda.solve(*tables, 1e-10, method="shift", start="stay")
    coarse = cuda.solve(*tables, 1e-10, method="shift", start="coarse")
    exact = cuda.solve(*tables, 1e-10, method="warm")
    assert coarse.sweeps < min(stay.sweeps - 50, given.sweeps)
    assert max(stay.sweeps, given.sweeps) < exact.sweeps == 1353
    for found in (given, stay, coarse):
        check_policy(problem, found)
        assert found.converged
        assert np.abs(found.value - exact.value).max() <= found.error_bound + exact.error_bound
    processor = cpu.solve(*tables, 1e-10, method="shift", start="coarse")
    assert np.abs(processor.value - coarse.value).max() <= processor.error_bound + coarse.error_bound


@gpu
@pytest.mark.parametrize("start", ["stay", "coarse"])
def test_a_batch_may_mix_problems_that_can_and_cannot_stay(start):
    problems = [random_problem(np.random.default_rng(seed), 1200, 4, "general") for seed in range(12)]
    stays = [can_stay(problem.X, problem.W, problem.eta) for problem in problems]
    assert 0 < sum(stays) < len(stays)
    batch = cuda.solve_batch([problem.arguments for problem in problems], EPSILON, start=start, previous=True)
    for problem, solution in zip(problems, batch, strict=True):
        assert solution.converged
        check_policy(problem, solution)
        single = cuda.solve(*problem.arguments, EPSILON, method="shift", start=start)
        # How many sweeps policy evaluation saves depends on the layout.
        assert single.converged
        assert np.abs(solution.value - single.value).max() <= solution.error_bound + single.error_bound


@gpu
def test_states_without_a_choice_and_values_of_states_that_cannot_be_reached():
    rng = np.random.default_rng(3)
    problem = random_problem(rng, 120, 2, "general")
    W = problem.W.copy()
    W[:7, 1] = problem.X[0]
    problem = dataclasses.replace(problem, W=W, Q=np.eye(2))
    solution = cuda.solve(*problem.arguments, 0.0, 1)
    value, policy = grid_search.sweep(*problem.arguments)
    assert np.array_equal(policy, solution.policy)
    close(solution.value, value)
    unaffordable = problem.V0.copy()
    unaffordable[:5] = -np.inf
    problem = dataclasses.replace(problem, V0=unaffordable)
    solution = cuda.solve(*problem.arguments, 0.0, 3)
    reference = reference_solve(*problem.arguments, 0.0, 3, sweep=grid_search.sweep)
    close(solution.value, reference.value)
    assert solution.exact_sweeps == 3


@gpu
@pytest.mark.parametrize("method", ["warm", "shift"])
@pytest.mark.parametrize(("points", "count"), [(100, 300), (3000, 40)])
def test_a_batch_is_the_single_solves(points, count, method):
    problems = [random_problem(np.random.default_rng(seed), points, 3, "general") for seed in range(count)]
    batch = cuda.solve_batch([problem.arguments for problem in problems], EPSILON, method=method, previous=True)
    for problem, solution in list(zip(problems, batch, strict=True))[:: max(1, count // 12)]:
        single = cuda.solve(*problem.arguments, EPSILON, method=method)
        assert solution.converged
        check_policy(problem, solution)
        if not bends_up(problem.X, problem.W):
            assert solution.sweeps == single.sweeps
            close(solution.value, single.value)
        assert np.abs(solution.value - single.value).max() <= solution.error_bound + single.error_bound


@gpu
@pytest.mark.parametrize("method", ["warm", "shift"])
@pytest.mark.parametrize("parts", [2, 5])
def test_groups_of_a_batch_have_the_bits_of_one_launch(monkeypatch, parts, method):
    """Some solutions of the random problems are in doubt and settled by exact sweeps, beside the next group."""
    problems = [random_problem(np.random.default_rng(seed), 2048, 3, "general") for seed in range(24)]
    tables = [problem.arguments for problem in problems]
    moduli = [modulus(problem.Q, problem.beta) for problem in problems]
    whole = cuda.solve_batch(tables, EPSILON, method=method, previous=True, contractions=moduli)
    monkeypatch.setattr(sweeps, "groups", lambda *sizes: parts)
    seen = []
    divided = cuda.solve_batch(
        tables,
        EPSILON,
        method=method,
        previous=True,
        contractions=moduli,
        devices=[0],
        seen=lambda number, one: seen.append((number, one)),
    )
    assert [number for number, _ in seen] == list(range(len(problems)))
    assert all(one is divided[number] for number, one in seen)
    for one, other in zip(whole, divided, strict=True):
        assert one.converged
        assert (one.sweeps, one.residual, one.error_bound) == (other.sweeps, other.residual, other.error_bound)
        assert one.compared == other.compared
        for name in ("value", "policy", "previous"):
            assert np.array_equal(getattr(one, name), getattr(other, name)), name


@gpu
def test_what_does_not_fit_is_refused():
    assert memory(65_536, 4) < 2**26
    import cupy

    with pytest.raises(MemoryError, match="needs .* GiB of device memory, and .* GiB are free"):
        refuse(cupy, 2**60)
