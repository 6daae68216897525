"""The function :func:`solve_family`, which solves many problems whose tables one function makes from parameters."""

from __future__ import annotations

import importlib
import inspect
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from beltline.host.batch.solve_many import solve_many
from beltline.host.devices.base import Progress
from beltline.host.problem.checks import ProblemError, check_progress, numbers_of, shown, table, word
from beltline.host.problem.problem import ROW_SUM_TOLERANCE, Problem
from beltline.host.problem.report import Report, as_html, as_text, report
from beltline.host.results.result import Result
from beltline.host.solver.judgement import NOTICEABLE
from beltline.host.solver.options import default_tol, no_gpu, options_with
from beltline.host.solver.reference import reference_module
from beltline.host.solver.solve import solve
from beltline.hw.arithmetic.numbers import ETA_LIMIT
from beltline.sim.progress import reporting

NAMES = ("grid", "wealth", "transition", "beta", "eta")
"""What a family returns."""

TRIED = 8
"""Number of problems of which the lowest default tolerance is that of the family."""

BYTES = 2**32
"""Device memory of a launch, about."""


@dataclass(frozen=True, eq=False)
class Solutions:
    """Solutions of a family as arrays with the problem as first index, as :func:`solve_family` returns them.

    ``solutions[i]`` is the :class:`~beltline.Result` of a problem, made and verified again when it is asked for, and
    ``len`` the number of problems.

    Parameters
    ----------
    family, parameters
        As given.
    value : (B, N_k, N_z) array
        Value function of each problem, units of utility; NaN if it was refused.
    policy : (B, N_k, N_z) array of int32
        Grid indexes of the choices.
    residual, error_bound : (B,) arrays
        As the fields of a :class:`~beltline.Result`, units of utility; infinite if there is no bound.
    sweeps : (B,) array of int
    success : (B,) array of bool
        Whether each problem was solved, and its solution was proven by an exact sweep.
    messages : dict of int to str
        What happened to the problems without success, by their numbers.
    tol : float
        Tolerance, units of utility.
    device : str
        ``"cpu"`` or ``"gpu"``.
    seconds : float
        Wall-clock time of the whole call.
    """

    family: Callable[..., Mapping[str, Any]]
    parameters: Mapping[str, NDArray[Any]]
    value: NDArray[np.float64]
    policy: NDArray[np.int32]
    residual: NDArray[np.float64]
    error_bound: NDArray[np.float64]
    sweeps: NDArray[np.int64]
    success: NDArray[np.bool_]
    messages: dict[int, str]
    tol: float
    device: str
    seconds: float

    def __len__(self) -> int:
        return len(self.success)

    def __getitem__(self, i: int) -> Result:
        if not -len(self) <= i < len(self):
            raise IndexError(f"number of a problem must be below {len(self):,}, not {i}")
        problem = problem_of(self.family, self.parameters, i % len(self))
        start = self.value[i] if np.isfinite(self.value[i]).all() else None
        return solve(problem if start is None else replace(problem, start=start), self.tol, device="cpu")

    def __iter__(self) -> Iterator[Result]:
        return (self[i] for i in range(len(self)))

    def _report(self) -> Report:
        count, solved = len(self), int(self.success.sum())
        rows = [
            ("solved", f"{solved:,} of {count:,}, each proven by an exact sweep"),
            ("error bound", f"at most {self.error_bound.max():.3g}" if count else "none"),
            ("sweeps", f"{int(np.median(self.sweeps)):,} by the median" if count else "none"),
            (
                "time",
                f"{self.seconds:.3g} s on the {self.device}, {1e6 * self.seconds / max(count, 1):.3g} us a problem",
            ),
        ]
        rows += [(f"problem {i}", text) for i, text in list(self.messages.items())[:3]]
        return report(f"Family of {count:,} problems", rows)

    __str__ = __repr__ = as_text
    _repr_html_ = as_html


def solve_family(
    family: Callable[..., Mapping[str, Any]],
    parameters: Mapping[str, Any],
    tol: float | None = None,
    max_sweeps: int = 10_000,
    *,
    device: str = "auto",
    progress: Progress | Literal[False] | None = None,
) -> Solutions:
    """Solve the problems that a function makes from many parameters, as an estimation needs them.

    On a GPU the function makes all tables on the card, where the problems are solved and proven side by side; only
    solutions come back. A problem whose solution is not proven there is solved again by :func:`beltline.solve`. On a
    processor the problems are solved one after the other.

    Parameters
    ----------
    family : callable
        Called as ``family(xp, **columns)``, where ``xp`` is NumPy or CuPy and each column a ``(B,)`` array of ``xp``.
        Returns a mapping with ``grid`` ``(B, N_k)`` or ``(N_k,)``, ``wealth`` ``(B, N_k, N_z)``, ``transition``
        ``(B, N_z, N_z)`` or ``(N_z, N_z)``, ``beta`` and ``eta`` ``(B,)`` or numbers: the parameters of
        :class:`~beltline.Problem` of the simple form with an infinite horizon.
    parameters : mapping of str to (B,) array
        One value for each problem.
    tol, max_sweeps, progress
        As in :func:`beltline.solve`. The default ``tol`` is the lowest default of some of the problems.
    device : {"auto", "cpu", "gpu"}
        By default a GPU if there is one.

    Returns
    -------
    Solutions

    Raises
    ------
    ProblemError
        An argument is wrong, or the function returns other tables. A problem whose tables break a condition is no
        success, and its message says why.
    DeviceError
        There is no GPU that can be used.

    Examples
    --------
    >>> import numpy as np, beltline as bl
    >>> def savings(xp, beta, rate):
    ...     grid, income = xp.linspace(0.0, 10.0, 200), xp.array([0.5, 1.5])
    ...     wealth = (1.0 + rate[:, None, None]) * grid[:, None] + income
    ...     chain = xp.array([[0.9, 0.1], [0.1, 0.9]])
    ...     return {"grid": grid, "wealth": wealth, "transition": chain, "beta": beta, "eta": 2.0}
    >>> found = bl.solve_family(savings, {"beta": [0.9, 0.95], "rate": [0.02, 0.03]}, device="cpu")
    >>> found.value.shape, found.success.tolist(), found[1].problem.beta
    ((2, 200, 2), [True, True], 0.95)
    """
    begin = time.perf_counter()
    check_progress(progress)
    options = options_with(tol, max_sweeps)
    if not callable(family):
        raise ProblemError(f"family must be a function of NumPy or CuPy and of the parameters, not {shown(family)}")
    columns = _columns(parameters)
    try:
        inspect.signature(family).bind(np, **columns)
    except (TypeError, ValueError) as error:
        if isinstance(error, TypeError):
            raise ProblemError(f"family must take NumPy or CuPy and each of parameters by its name: {error}") from None
    count = len(next(iter(columns.values())))
    device = word("device of a family", device, ("auto", "cpu", "gpu"))
    if device == "auto":
        device = "cpu" if no_gpu() else "gpu"
    shape = count, *_tables(family, np, _some(columns, 0, 1))["wealth"].shape[1:]
    tol = options.tol
    if options.lowers_tol:
        tol = min(_default(family, columns, i) for i in {round(i * (count - 1) / TRIED) for i in range(TRIED + 1)})
    parts: list[_Part] = []
    if device == "gpu":
        reference_module("gpu")
        each = max(1, BYTES // (60 * shape[1] * shape[2]))
        with reporting(progress) as say:
            for low in range(0, count, each):
                parts.append(_on_gpu(family, _some(columns, low, low + each), tol, max_sweeps))
                if say:
                    say(f"{min(low + each, count):,} of {count:,} problems solved on the gpu")
    else:
        none = np.full(count, np.inf)
        parts.append(
            (np.empty(shape), np.zeros(shape, np.int32), none, none.copy(), np.zeros(count, np.int64), none < 0.0)
        )
    value, policy, residual, bound, sweeps, success = (
        own[0] if len(own) == 1 else np.concatenate(own) for own in zip(*parts, strict=True)
    )
    value[~success] = np.nan
    left, messages = np.flatnonzero(~success).tolist(), dict[int, str]()
    makers = (partial(problem_of, family, columns, i) for i in left)
    for attempt in solve_many(makers, tol, max_sweeps, device="cpu", progress=progress):
        i, one = left[attempt.index], attempt.result
        if one is None:
            messages[i] = str(attempt.error)
            continue
        if one.value.shape != shape[1:]:
            raise ProblemError(
                f"the tables of problem {i} have shape {one.value.shape}, those of the first {shape[1:]}"
            )
        value[i], policy[i], success[i] = one.value, one.policy, one.success
        residual[i], bound[i], sweeps[i] = one.residual, one.error_bound, one.sweeps
        if not one.success:
            messages[i] = one.message
    return Solutions(
        family, columns, value, policy, residual, bound, sweeps, success, messages, tol, device,
        time.perf_counter() - begin,
    )  # fmt: skip


def _some(columns: Mapping[str, NDArray[Any]], begin: int, end: int) -> dict[str, NDArray[Any]]:
    """Return the parameters of some problems."""
    return {name: column[begin:end] for name, column in columns.items()}


def _columns(parameters: Any) -> dict[str, NDArray[Any]]:
    """Return checked parameters as arrays of one length."""
    if not isinstance(parameters, Mapping) or not parameters:
        raise ProblemError(f"parameters must map names to arrays of numbers, not {shown(parameters)}")
    columns = {}
    for name, values in parameters.items():
        if not isinstance(name, str) or not name.isidentifier():
            raise ProblemError(f"each name of parameters must be a Python identifier, not {shown(name)}")
        columns[name] = table(f"parameter {name!r}", values).copy()
        if columns[name].ndim != 1 or not len(columns[name]):
            raise ProblemError(f"parameter {name!r} must have one value for each problem, not {shown(values)}")
        columns[name].flags.writeable = False
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ProblemError(f"parameters must have equally many values, not {shown(lengths)}")
    return columns


def _tables(family: Callable[..., Any], xp: Any, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables of the columns, each with the problem as its first index."""
    count = len(next(iter(columns.values())))
    found = family(xp, **columns)
    if not isinstance(found, Mapping) or set(found) != set(NAMES):
        what = list(found) if isinstance(found, Mapping) else found
        raise ProblemError(f"a family must return a mapping with {', '.join(NAMES)}, not {shown(what)}")
    tables = {}
    for name, axes in zip(NAMES, (1, 2, 2, 0, 0), strict=True):
        given = found[name]
        if xp is np or not isinstance(given, xp.ndarray):
            given = numbers_of(f"{name} of a family", given)
        made = xp.asarray(given, dtype=xp.float64)
        if made.ndim not in (axes, axes + 1) or (made.ndim > axes and made.shape[0] != count):
            wanted = f"{axes} axes, or {axes + 1} of which the first has {count:,}"
            raise ProblemError(f"{name} of a family must have {wanted}, not shape {made.shape}")
        tables[name] = made if made.ndim > axes else xp.broadcast_to(made, (count, *made.shape))
    return tables


def problem_of(family: Callable[..., Any], columns: Mapping[str, NDArray[Any]], i: int) -> Problem:
    """Return problem ``i``, made on the processor."""
    own = _some(columns, i, i + 1)
    tables = {name: table[0] for name, table in _tables(family, np, own).items()}
    numbers = {name: float(column[0]) for name, column in own.items()}
    return Problem(
        grid=tables["grid"], wealth=tables["wealth"], transition=tables["transition"], beta=float(tables["beta"]),
        eta=float(tables["eta"]), parameters=numbers,
    )  # fmt: skip


def _default(family: Callable[..., Any], columns: Mapping[str, NDArray[Any]], i: int) -> float:
    """Return the default tolerance of a problem; that of any if its tables break a condition."""
    try:
        return default_tol(problem_of(family, columns, i))
    except ProblemError:
        return options_with(None).tol


_Part = tuple[Any, Any, Any, Any, Any, Any]
"""The arrays of :class:`Solutions` for some of the problems, in their order there."""


def _on_gpu(family: Callable[..., Any], own: Mapping[str, NDArray[Any]], tol: float, max_sweeps: int) -> _Part:
    """Solve problems on the card; those that are proven are successes."""
    cupy = importlib.import_module("cupy")
    module = importlib.import_module("beltline.gpu_ref.cuda.family")
    tables = _tables(family, cupy, {name: cupy.asarray(column) for name, column in own.items()})
    chain = tables["transition"]
    # What the comparison on the device does not look at.
    stochastic = (cupy.abs(chain.sum(axis=2) - 1.0) <= ROW_SUM_TOLERANCE).all(axis=1) & (chain >= 0.0).all(axis=(1, 2))
    sums = chain.sum(axis=2).max(axis=1).get()
    beta, eta = tables["beta"].get(), tables["eta"].get()
    allowed = stochastic.get() & (beta > 0.0) & (beta < 1.0) & (eta > 0.0) & (eta <= ETA_LIMIT)
    one = module.solve_family(
        tables["grid"], tables["wealth"], cupy.ascontiguousarray(chain).get(), np.where(allowed, beta, 0.5),
        np.where(allowed, eta, 2.0), tol, max_sweeps, beta * sums,
    )  # fmt: skip
    size = one.value[0].size
    flat, eighth = one.value.reshape(-1, size), size // 8
    # Tables that are not finite give values that are not.
    with np.errstate(invalid="ignore", divide="ignore"):
        # As in judgement.noticeable: almost always these two states decide.
        apart = np.abs(flat[:, eighth] - flat[:, size - 1 - eighth])
        bound = (one.residual + one.rounding) / (1.0 - beta * sums)
    success = allowed & one.converged & np.isfinite(bound) & (bound <= NOTICEABLE * apart)
    return one.value, one.policy, one.residual, bound, one.sweeps, success
