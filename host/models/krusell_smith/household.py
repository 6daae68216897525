"""The household's problem, given a law of motion: by its Euler equation, or as tables on a device."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.krusell_smith import euler_iteration
from beltline.host.analysis.between import Between
from beltline.host.devices import REFERENCES, Progress
from beltline.host.models.krusell_smith.calibration import Calibration
from beltline.host.models.krusell_smith.options import Options
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError
from beltline.host.problem.problem import Problem
from beltline.host.solver.options import machine_method
from beltline.host.solver.reference import reference_module
from beltline.host.solver.session import Session, in_session


class Household(Protocol):
    """A solver of the household's problem for one law after another, each solve starting from the last solution."""

    grid: Array
    work: int

    def solve(self, law: Array, report: Progress | None) -> Array:
        """Return ``k'``, ``(N_k, N_K, 2, 2)`` on ``grid``; adds the number of iterations to ``work``."""


class NotSolved(Exception):
    """The household's problem is not solved; the message is a sentence."""


class EulerHousehold:
    """Solves the Euler equation by iteration: :mod:`beltline.gpu_ref.krusell_smith.euler_iteration`, or ``cuda_euler``
    there on a GPU.
    """

    def __init__(self, economy: Calibration, tol: float, device: str = "cpu") -> None:
        self.economy, self.tol = economy, tol
        self._module: Any = (
            euler_iteration if device == "cpu" else importlib.import_module("beltline.gpu_ref.krusell_smith.cuda_euler")
        )
        self.grid = economy.grid
        self.work = 0
        self._wealth = economy.wealth(self.grid).reshape(economy.points, economy.means, 4)
        self._policy = 0.9 * np.broadcast_to(self.grid[:, None, None], self._wealth.shape)

    def solve(self, law: Array, report: Progress | None) -> Array:
        economy = self.economy
        ahead = economy.ahead(law)
        try:
            found: euler_iteration.Household = self._module.solve(
                self.grid,
                economy.mean_grid,
                self._wealth,
                ahead,
                economy.gross(ahead),
                economy.income(ahead).reshape(economy.means, 2, 4),
                economy.transition,
                economy.beta,
                economy.eta,
                self._policy,
                self.tol,
                progress=None
                if report is None
                else lambda n, change: report(f"household: iteration {n:,}, {change:.2g}"),
            )
        except FloatingPointError as error:
            raise NotSolved(f"The household is not solved: {error}.") from None
        except ValueError as error:
            raise ProblemError(f"{error}") from error
        self.work += found.iterations
        if not found.converged:
            raise NotSolved(
                f"The household's k' still changed by {found.change:.3g} after {found.iterations:,} iterations, "
                f"and its tolerance is {self.tol:g}."
            )
        self._policy = found.policy
        return found.policy.reshape(economy.points, economy.means, 2, 2)


class TableHousehold:
    """Solves the Bellman equation as tables on a device; only the transition matrix changes from law to law.

    ``session`` is an open one or the name of a solver in double precision, which ``options`` are for; those of a
    machine are ``method`` and the ``start`` of the first solve. With ``refine`` the policy is improved between grid
    points.
    """

    def __init__(
        self,
        economy: Calibration,
        choices: Array,
        session: Session | str,
        tol: float,
        refine: bool,
        options: dict[str, Any],
    ) -> None:
        self.economy, self.grid, self.tol, self.refine = economy, choices, tol, refine
        self.work = 0
        self._session, self._options = session, options
        self._value: Array | None = None

    def solve(self, law: Array, report: Progress | None) -> Array:
        problem = self.economy.problem(law, self.grid)
        if isinstance(self._session, str):
            value, policy = self._by_reference(problem, report)
        else:
            value, policy = self._by_machine(self._session, problem, report, verify=False)
        chosen = Between(problem).improve(value[None]).choice if self.refine else self.grid[policy]
        return chosen.reshape(self.grid.size, self.economy.means, 2, 2)

    def check(self, law: Array, report: Progress | None) -> None:
        """Solve once more and verify by an exact search; the solvers in double precision always do that."""
        if not isinstance(self._session, str):
            self._by_machine(self._session, self.economy.problem(law, self.grid), report, verify=True)

    def _by_machine(
        self, session: Session, problem: Problem, report: Progress | None, verify: bool
    ) -> tuple[Array, NDArray[np.int32]]:
        start, method = self._options["start"], self._options["method"]
        if self.work or start == "problem":
            start = "last"
        result = session.solve(problem, self.tol, start=start, method=method, progress=_named(report), verify=verify)
        self.work += result.sweeps
        if not result.success:
            raise NotSolved(f"The household is not solved: {result.message}")
        return result.value, result.policy

    def _by_reference(self, problem: Problem, report: Progress | None) -> tuple[Array, NDArray[np.int32]]:
        # Not by solve(), which would measure the error of every household by one more exact sweep.
        assert isinstance(self._session, str)
        if report:
            report(f"household: on the {self._session}")
        start = problem.start if self._value is None else self._value
        tables = (problem.grid, problem.wealth, problem.transition, start, problem.beta, problem.eta, self.tol)
        try:
            found = reference_module(self._session).solve(*tables, **self._options)
        except (ValueError, MemoryError) as error:
            raise ProblemError(f"{error}") from error
        self.work += found.sweeps
        if not found.converged:
            raise NotSolved(
                f"The household's V still changed by {found.residual:.3g}, and its tolerance is {self.tol:g}."
            )
        self._value = found.value
        return found.value, found.policy


def _named(report: Progress | None) -> Progress | Literal[False]:
    return False if report is None else lambda text: report(f"household: {text}")


@contextlib.contextmanager
def opened(economy: Calibration, options: Options) -> Iterator[Household]:
    """Open the device that ``options`` name and give the household on it; a device that was opened here is closed."""
    device: Any = options.device
    if options.household == "euler":
        yield EulerHousehold(economy, options.tolerance, str(device))
        return
    choices = economy.choices(options.choices)
    if isinstance(device, str) and device in REFERENCES:
        of_solver = {"method": "mpi", **options.options}
        yield TableHousehold(economy, choices, device, options.tolerance, options.refine, of_solver)
        return
    of_device = dict(options.options)
    method, start = machine_method(device, of_device.pop("method", None), of_device)
    with in_session(device, of_device) as session:
        where = {"method": method, "start": start}
        yield TableHousehold(economy, choices, session, options.tolerance, options.refine, where)
