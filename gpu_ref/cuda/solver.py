"""Solve table problems on CUDA devices, in double precision: a whole solve, or a batch of them, is one launch.

:func:`solve` takes the arguments of every solver and returns a :class:`~beltline.gpu_ref.methods.Solution`.
:func:`solve_batch` solves many problems of one shape side by side, on one device or several. Both need CuPy, which is
imported when it is first needed; :func:`available` says why a device cannot be used.

*How a solve runs* (``sweeps.cu``). The thread blocks stay on the device until the stopping rule is met. Each thread
owns whole grid points with the values of all exogenous states, and caches the utilities of its choices and of their
neighbours, so a sweep in which a choice does not change computes no utility. Threads exchange only discounted
expectations, through the second-level cache, with one barrier per sweep, which also reports whether some value still
changes.

*What is certain.* ``warm`` and the methods built on it search locally, which is exact if objectives have a single peak.
The device checks this for the last sweep, from the curvature of the expectations that it read: if ``curvature of EV <
curvature of U`` at the largest wealth, by more than rounding, the computed objective of every state has a single peak,
and the policy has the bits of full search. The stopping rules only concern the last sweep, so their guarantee then
holds whatever the earlier sweeps did. If the check fails, the last sweep is repeated by divide and conquer, which needs
no single peak (``gpu_ref/exact.py``). If the rule is then not met after all, the solve continues with sweeps that are
proven by brackets (``gpu_ref/cuda/proven_sweeps.py``). :attr:`~beltline.gpu_ref.methods.Solution.exact_sweeps` counts
all of these. If wealth is not concave, and in ``mpi``, sweeps proven by brackets are tried first.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike

from beltline.gpu_ref.cuda.ages import AGES, solve_ages
from beltline.gpu_ref.cuda.batch import BATCHED, solve_batch
from beltline.gpu_ref.cuda.device import Clock, available, ready, refuse
from beltline.gpu_ref.cuda.device_tables import Tables, memory
from beltline.gpu_ref.cuda.exact_sweeps import Exact, iterate
from beltline.gpu_ref.cuda.kernels import PLAIN, WARM, check_method, exact_kernels, kind_of, search_of
from beltline.gpu_ref.cuda.layout import Layout
from beltline.gpu_ref.cuda.proven_sweeps import STEPS, bends_up, prove
from beltline.gpu_ref.cuda.start import INNER, Start, with_guess
from beltline.gpu_ref.cuda.sweeps import solve_in_one_launch
from beltline.gpu_ref.methods import Arguments, Solution, check_arguments

__all__ = ["AGES", "BATCHED", "METHODS", "available", "solve", "solve_ages", "solve_batch"]

METHODS = ("grid", "binary", "grid+howard", "interp", "monotone", "warm", "mpi", "macqueen", "shift")
"""Methods of ``beltline.gpu_ref.methods`` that run on a CUDA device."""


def solve(
    X: ArrayLike,
    W: ArrayLike,
    Q: ArrayLike,
    V0: ArrayLike,
    beta: float,
    eta: float,
    epsilon: float,
    max_sweeps: int = 100_000,
    method: str = "warm",
    *,
    device: int = 0,
    previous: bool = True,
    checked: bool = False,
    least: float = math.nan,
    contraction: float | None = None,
    **options: Any,
) -> Solution:
    """Solve one table problem on a CUDA device.

    Parameters
    ----------
    X, W, Q, V0, beta, eta
        See :mod:`beltline.gpu_ref`.
    epsilon, max_sweeps, method, options
        See :mod:`beltline.gpu_ref.methods`; ``method`` is one of :data:`METHODS`. Here ``monotone`` starts from the
        last policy, as ``warm`` does, but caches no utilities: all states are searched at once, so the choice of the
        neighbouring state is not yet known.
    device
        Number of the CUDA device.
    previous
        Whether to return :attr:`~beltline.gpu_ref.methods.Solution.previous` too.
    checked
        Whether the tables are contiguous ``float64`` arrays that are known to meet all conditions. Then they are not
        checked again.
    least
        With ``checked``, the lowest ``W(x, s) - x``, if it is known. If not, the device computes it for starts that
        depend on it.
    contraction
        If given, the result is compared with an exact sweep, while it is copied to the host
        (:attr:`~beltline.gpu_ref.methods.Solution.compared`). It is the contraction modulus of the Bellman operator:
        values may differ by this share of the residual, plus rounding. Not supported for a rule `own`.

    Returns
    -------
    Solution
        ``seconds["solve"]`` is the time for the launch, the whole iteration and the exact sweeps, if any were needed;
        it includes no transfer of tables to or from the host. ``seconds["verify"]`` is the time for which the
        comparison continues after the result was copied.

    Raises
    ------
    ValueError
        An argument is wrong, or the method does not run on a CUDA device.
    MemoryError
        The problem does not fit into the memory of the device; nothing was allocated.
    RuntimeError
        There is no CUDA device that can be used.
    """
    # The starts of policy iteration are chosen on the host.
    known = checked and method != "mpi"
    arguments = check_arguments(
        X, W, Q, V0, beta, eta, epsilon, max_sweeps, method, options, checked=known, least=least
    )
    check_method(method, METHODS, arguments.W.shape[1])
    arguments = with_guess(arguments)
    cupy = ready()
    with cupy.cuda.Device(device):
        if method == "mpi":
            return _solve_mpi(cupy, arguments)
        if search_of(arguments) in (WARM, PLAIN) and bends_up(arguments.X, arguments.W):
            found = _solve_by_proof(cupy, arguments, previous)
            if found is not None:
                return found
        moduli = None if contraction is None else [contraction]
        return solve_in_one_launch(cupy, [arguments], None, previous, moduli)[0]


def _solve_by_proof(cupy: Any, problem: Arguments, previous: bool) -> Solution | None:
    """Solve a problem that may have several peaks by proven sweeps; ``None`` if these do not converge."""
    clock = Clock(cupy)
    clock.restart()
    # A constant start contains no information about choices: start from the value of staying instead.
    V0 = None if problem.start != "given" or (problem.V0 == problem.V0[0, 0]).all() else problem.V0
    return _ended(problem, prove(cupy, problem, V0, None, 0, STEPS, clock, previous), STEPS)


def _ended(problem: Arguments, found: Solution | None, steps: int) -> Solution | None:
    """Return the solution if it converged or if ``max_sweeps`` allowed no further sweep after ``steps``.

    Otherwise ``None``. A rule that shifts values may still be met in fewer sweeps by the other solver.
    """
    if found is None:
        return None
    if not found.converged and (problem.rule != "change" or found.sweeps + steps < problem.max_sweeps):
        return None
    return replace(found, exact_sweeps=found.maximising_sweeps)


def _solve_mpi(cupy: Any, problem: Arguments) -> Solution:
    """Solve by modified policy iteration. Policy evaluation does not keep values concave, so every search is exact."""
    points, states = problem.W.shape
    start = Start(cupy, [problem])
    refuse(cupy, memory(points, states) + 8 * 4 * points * states + start.memory())
    exact_kernels(cupy.cuda.Device().id, kind_of([problem.eta]))
    clock = Clock(cupy)
    clock.restart()
    plan = Layout(32, 1, 1, 1, 1, points)
    tables = Tables(cupy, [problem], plan, previous=False, near=True, more=start.tables())
    clock.lap("allocate")
    tables.load()
    start.load(tables)
    clock.lap("load")
    start.work(tables)
    clock.lap("solve")
    V0 = problem.V0 if problem.start == "given" else tables["V0"][0].get()
    steps = INNER
    found = _ended(problem, prove(cupy, problem, V0, None, 0, steps, clock), steps)
    if found is not None:
        return found
    exact = Exact(cupy, problem, tables["X"][0], tables["W"][0], tables["Q"][0])
    swept = iterate(exact, problem, tables["V0"][0], 0, steps)
    clock.lap("solve")
    solution = swept.solution(problem)
    clock.lap("read")
    return replace(solution, seconds=clock.seconds)
