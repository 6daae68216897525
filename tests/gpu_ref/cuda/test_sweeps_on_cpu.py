"""The kernel of a whole solve, with policies evaluated along their paths, compiled for the processor."""

from __future__ import annotations

import ctypes
import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beltline.gpu_ref.cuda import kernels, sweeps
from beltline.gpu_ref.cuda.device_tables import OUTCOME
from beltline.gpu_ref.exact import exact_sweep
from support.concave_problems import RandomProblem, random_problem
from support.cuda_on_cpu import compiler

THREADS = 32
FOLDER = Path(sweeps.__file__).parent


def solve(compiled: Any, problem: Any, blocks: int, start: Any, rule: str = "spans", limit: int = 400) -> Any:
    """Solve in one team of ``blocks`` blocks of one warp; return value, policy, previous value and outcome."""
    points, states = problem.W.shape
    span = -(-points // blocks)
    code = "".join((FOLDER / f"{name}.cu").read_text() for name in ("common", "sweeps_search", "sweeps"))
    # What no C++ compiler reads: memory of a block of the size of a launch, and two instructions of the device.
    code = code.replace("extern __shared__ __align__(16) double shared[];", "double* const shared = (double*)SHARED;")
    code = re.sub(r'asm volatile\("red[^;]*;[^;]*;', "std::atomic_ref<u64>(*word).fetch_add(one);", code)
    code = re.sub(r'asm volatile\("ld[^;]*;[^;]*;', "now = std::atomic_ref<u64>(*word).load();", code)
    macros = {
        "RULE": kernels.RULES[rule], "ETA": kernels.kind_of([problem.eta]), "NZ": states, "POINTS": -(-span // THREADS),
        "THREADS": THREADS, "BLOCKS": 1, "RESERVE": 0,
    }  # fmt: skip
    options = tuple(f"-D{name}={value}" for name, value in macros.items())
    run = compiled(code.replace(")\n    sweeps(", ") sweeps("), options, "sweeps")
    given = [np.ascontiguousarray(table, np.float64) for table in (problem.X, problem.W, problem.Q, start)]
    shape = points, states
    value, previous, policy, outcome = np.empty(shape), np.empty(shape), np.empty(shape, np.int32), np.zeros(OUTCOME)
    row = np.array([table.ctypes.data for table in (*given, value, previous, policy, outcome)], np.uint64)
    numbers = np.array([problem.beta, problem.eta, 1e-10])
    rows = np.concatenate([row, numbers.view(np.uint64)])
    words, parts = np.zeros(32, np.uint64), np.empty((2, blocks, 2 * states + 2))
    tables = np.zeros((2, states, points + 2))
    first, *pointers = (ctypes.c_void_p(table.ctypes.data) for table in (rows, words, tables, parts))
    near, paths, guessed = int(blocks == 1), 1, 0
    run(blocks, THREADS, first, points, span, blocks, 1, limit, *pointers, guessed, near, paths)
    return value, policy, previous, outcome


@compiler
@pytest.mark.parametrize("blocks", [1, 3])
@pytest.mark.parametrize("eta", [2.0, 1.0])
def test_a_solve_along_paths_ends_with_an_exact_sweep(compiled: Any, blocks: int, eta: float) -> None:
    for seed in range(3):
        problem = random_problem(np.random.default_rng([seed, blocks]), 90, 2, "general")
        # Teams of several blocks follow paths only if this pays.
        problem = dataclasses.replace(problem, eta=eta, Q=np.array([[0.97, 0.03], [0.02, 0.98]]))
        value, policy, previous, outcome = solve(compiled, problem, blocks, problem.V0)
        sweeps_done, residual, converged, doubt, passes = outcome[[0, 1, 2, 3, 8]]
        assert (converged, doubt) == (1.0, 0.0)
        assert 0 < passes < sweeps_done <= 400
        assert residual < 1e-10
        _, exact = exact_sweep(problem.X, problem.W, problem.Q, previous, problem.beta, problem.eta)
        assert np.array_equal(policy, exact)
        after, _ = exact_sweep(problem.X, problem.W, problem.Q, value, problem.beta, problem.eta)
        assert np.abs(after - value).max() < 1e-10


@compiler
@pytest.mark.parametrize("blocks", [1, 3])
def test_plain_sweeps_end_with_an_exact_one(compiled: Any, blocks: int) -> None:
    X, Q = np.linspace(0.1, 6.0, 60), np.array([[0.7, 0.3], [0.2, 0.8]])
    W = 1.03 * X[:, None] + np.array([0.6, 1.4])
    problem = RandomProblem(X, W, Q, np.zeros(W.shape), 0.8, 2.0, "concave")
    value, policy, previous, outcome = solve(compiled, problem, blocks, problem.V0, "change")
    assert outcome[[2, 3, 8, 9]].tolist() == [1.0, 0.0, 0.0, 0.0]
    after, exact = exact_sweep(problem.X, problem.W, problem.Q, previous, problem.beta, 2.0)
    assert np.array_equal(policy, exact)
    assert np.array_equal(value, after)
    assert np.abs(value - previous).max() == outcome[1] < 1e-10
