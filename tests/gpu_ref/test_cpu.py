"""Compare every method on the processor with full search, and every stopping rule with the solution."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import beltline.gpu_ref.memory
from beltline.gpu_ref import cpu, exact_sweep
from beltline.gpu_ref.methods import METHODS, error_bound
from beltline.gpu_ref.published import grid_search, iteration
from beltline.gpu_ref.tables import as_writable
from beltline.gpu_ref.threads import THREADS_WORTH, threads_for
from support import concave_problems

from .rows import any_problem


@pytest.fixture(autouse=True)
def one_thread(request):
    """Run all tests but that of threads on one thread, because these problems are too small for several."""
    before = numba.get_num_threads()
    if "threads" not in request.node.name:
        numba.set_num_threads(1)
    yield
    numba.set_num_threads(before)


def headline(grid, states=4):
    return concave_problems.headline(grid, states).arguments


def same(a, b):
    np.testing.assert_array_equal(a.policy, b.policy)
    np.testing.assert_array_equal(a.value, b.value)
    assert (a.sweeps, a.residual, a.converged) == (b.sweeps, b.residual, b.converged)


@pytest.mark.parametrize("method", METHODS)
def test_read_only_tables_are_neither_copied_nor_changed(method, monkeypatch):
    """Compiled code, which takes read-only tables for writable, neither copies nor changes them."""
    monkeypatch.setattr("beltline.gpu_ref.tables._LEAST_LENT", 1)
    *given, beta, eta = headline(64)
    before = [table.copy() for table in given]
    wanted = cpu.solve(*before, beta, eta, 1e-6, 50, method)
    for table in given:
        table.flags.writeable = False
        assert np.shares_memory(as_writable(table), table)
        assert not table.flags.writeable
    same(cpu.solve(*given, beta, eta, 1e-6, 50, method), wanted)
    for table, one in zip(given, before, strict=True):
        np.testing.assert_array_equal(table, one)


def test_views_of_writable_tables_are_taken_without_a_copy():
    owner = np.ones((8, 2))
    view = owner.view()
    view.flags.writeable = False
    assert as_writable(view) is owner
    for other in (owner[:4], owner[::-1], owner.T, np.frombuffer(bytes(64))):
        other = other.view()
        other.flags.writeable = False
        found = as_writable(other)
        assert found.flags.writeable
        assert found is not owner
        np.testing.assert_array_equal(found, other)


@pytest.mark.parametrize("method", METHODS)
def test_checked_and_unbounded_solves_have_the_same_bits(method):
    *tables, beta, eta = headline(64)
    wanted = cpu.solve(*tables, beta, eta, 1e-6, 500, method)
    found = cpu.solve(*tables, beta, eta, 1e-6, 500, method, checked=True, bounded=False)
    same(found, wanted)
    assert found.error_bound == np.inf


@pytest.mark.parametrize("known", [False, True])
def test_a_start_that_some_state_cannot_afford_is_replaced_in_checked_tables_too(known):
    X, W, Q, V0, beta, eta = headline(64)
    W = np.minimum(W, X[-1] - 0.01)
    least = float((W - X[:, None]).min())
    assert least < 0.0
    for start in ("stay", "coarse"):
        wanted = cpu.solve(X, W, Q, V0, beta, eta, 1e-6, 500, "shift", start=start)
        given = {"least": least} if known else {}
        found = cpu.solve(X, W, Q, V0, beta, eta, 1e-6, 500, "shift", start=start, checked=True, **given)
        same(found, wanted)
        assert found.converged


@settings(derandomize=True, deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), tolerance=st.integers(2, 9))
def test_plain_sweeps_have_the_bits_of_full_search(seed, tolerance):
    rng = np.random.default_rng(seed)
    anything = any_problem(rng, float(rng.choice([0.2, 1.0, 1.5, 2.0, 5.0])))
    for arguments in (concave_problems.random_problem(np.random.default_rng(seed)).arguments, anything):
        epsilon, limit = 10.0**-tolerance, 40
        oracle = grid_search.solve(*arguments, epsilon, limit, interval=1)
        same(cpu.solve(*arguments, epsilon, limit), oracle)


@settings(derandomize=True, deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32 - 1))
def test_every_proven_bound_holds(seed):
    """The distance from a solution that is a thousand times more precise is within the bound, and the residual
    satisfies the rule.
    """
    rng = np.random.default_rng(seed)
    problem = concave_problems.random_problem(rng, grid=int(2 ** rng.integers(2, 7)))
    X, W, Q, V0, beta, eta = problem.arguments
    beta = min(beta, 0.9)
    truth = iteration.solve(X, W, Q, V0, beta, eta, 1e-11 * max(1.0, np.abs(V0).max()))
    for method in METHODS:
        start = "stay" if "start" in METHODS[method].options and rng.random() < 0.5 else None
        options = {"start": start} if start else {}
        found = cpu.solve(X, W, Q, V0, beta, eta, 1e-7, method=method, **options)
        assert found.converged
        assert found.residual < 1e-7
        error = np.abs(found.value - truth.value).max()
        assert error <= found.error_bound + truth.error_bound
        change = np.abs(exact_sweep(X, W, Q, found.value, beta, eta)[0] - found.value).max()
        assert change <= beta * found.residual + 1e-11 * max(1.0, np.abs(found.value).max())
        least = error_bound(found.residual, found.value, Q, beta, eta)
        # A shift and a proof by brackets add some rounding, but not much.
        assert least <= found.error_bound <= least + 1e-11 * max(1.0, np.abs(found.value).max())
        assert set(found.seconds) == {"allocate", "load", "solve", "read"}
        assert found.method == method


@pytest.mark.parametrize(("method", "options", "sweeps"), [
    ("warm", {}, 1353),
    ("shift", {}, None),
    ("shift", {"start": "stay"}, None),
    ("shift", {"start": "coarse"}, None),
    ("mpi", {"start": "stay"}, None),
])  # fmt: skip
def test_headline_sweeps(method, options, sweeps):
    arguments = headline(2048)
    found = cpu.solve(*arguments, 1e-10, method=method, **options)
    exact = cpu.solve(*arguments, 1e-10)
    assert found.converged
    assert found.sweeps == sweeps if sweeps else found.sweeps < 1353
    # Two values that differ within their bounds may choose neighbours at near ties.
    assert np.abs(found.policy - exact.policy).max() <= 1
    assert np.count_nonzero(found.policy != exact.policy) <= 8
    assert np.abs(found.value - exact.value).max() <= found.error_bound + exact.error_bound


@pytest.mark.parametrize("states", [1, 3, 12])
def test_coarse_start_of_random_problems(states):
    """The result does not depend on the start."""
    for seed in range(8):
        problem = concave_problems.random_problem(np.random.default_rng(seed), 1100, states, "general")
        found = cpu.solve(*problem.arguments, 1e-9, method="shift", start="coarse")
        given = cpu.solve(*problem.arguments, 1e-9, method="shift")
        assert found.converged
        assert np.abs(found.value - given.value).max() <= found.error_bound + given.error_bound


def test_threads_change_nothing(monkeypatch):
    arguments = headline(THREADS_WORTH // 4 + 77)
    before = numba.get_num_threads()
    assert threads_for(100) == 1
    assert threads_for(10**6) == before
    many = cpu.solve(*arguments, 1e-4)
    mpi = cpu.solve(*arguments, 1e-4, method="mpi")
    monkeypatch.setattr(cpu, "threads_for", lambda states: 1)
    same(cpu.solve(*arguments, 1e-4), many)
    same(cpu.solve(*arguments, 1e-4, method="mpi"), mpi)
    assert numba.get_num_threads() == before


@pytest.mark.parametrize("method", METHODS)
def test_what_does_not_fit_is_refused_before_it_is_allocated(method, monkeypatch):
    arguments = headline(1024)
    monkeypatch.setattr(beltline.gpu_ref.memory, "available", lambda: 2**28 + 1000)
    monkeypatch.setattr(beltline.gpu_ref.memory, "UNCHECKED", 0)
    sentence = rf"^method '{method}' on 1,024 x 4 states needs 0\.00 GiB, more than the 0\.00 GiB that this process"
    with pytest.raises(MemoryError, match=sentence.replace("+", r"\+")):
        cpu.solve(*arguments, 1e-6, method=method)


@pytest.mark.parametrize("method", ["warm", "shift", "mpi"])
def test_no_more_sweeps_than_the_limit(method):
    for limit in (1, 2, 7, 22, 43):
        found = cpu.solve(*headline(64), 0.0, limit, method=method)
        assert (found.sweeps, found.converged) == (limit, False)


def test_limit_and_nothing_to_choose():
    short = cpu.solve(*headline(64), 0.0, 3)
    assert (short.sweeps, short.converged) == (3, False)
    for method in METHODS:
        X, W = np.array([1.0, 2.0, 3.0, 4.0]), np.array([[0.5], [2.5], [4.5], [6.5]])
        found = cpu.solve(X, W, [[1.0]], np.zeros((4, 1)), 0.9, 2.0, 1e-9, method=method)
        assert found.converged
        assert found.value[0, 0] == -np.inf
        assert found.policy[0, 0] == -1
        assert np.isfinite(found.value[2:]).all()
