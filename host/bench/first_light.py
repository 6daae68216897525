"""Solve the RBC model with the gateware in simulation: ``python -m beltline.host.bench.first_light``.

The simulated board is driven by the same calls as any device, and its solution is printed as soon as it is read. Then
the result is compared bit by bit with the software model, whose result is verified, and with a full grid search in
double precision. Code for these is compiled on first use, which takes longer than the solve.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

from beltline.gpu_ref.published import grid_search
from beltline.host.models.rbc import rbc
from beltline.host.solver.solve import solve
from beltline.hw.interface.parameters import CLOCK_HZ


def main(argv: list[str] | None = None) -> int:
    """Solve, compare and print; return 0 if everything agrees."""
    parser = argparse.ArgumentParser(prog="python -m beltline.host.bench.first_light", description=__doc__)
    parser.add_argument("--grid", type=int, default=64, help="grid points N_k (default: %(default)s)")
    parser.add_argument("--states", type=int, default=4, help="exogenous states N_z (default: %(default)s)")
    parser.add_argument("--tol", type=float, default=1e-10, help="stop below this change of V (default: %(default)s)")
    arguments = parser.parse_args(argv)

    def say(text: str) -> None:
        print(text, flush=True)

    problem = rbc(grid=arguments.grid, states=arguments.states)
    say(f"Solving the RBC, {problem.points} x {problem.states}, with the gateware in simulation ...")
    result = solve(problem, tol=arguments.tol, device="rtl", verify=False)
    say(str(result))
    work = problem.points * problem.states
    say(
        f"\n{result.sweeps:,} sweeps took {result.clocks:,} clocks in simulation, "
        f"{result.clocks / result.sweeps:,.1f} per sweep of {work:,} states: {result.clocks / CLOCK_HZ * 1e3:.2f} ms "
        f"at {CLOCK_HZ / 1e6:.0f} MHz (modelled: if timing closes).\n\nComparing it with the software model ..."
    )

    model = solve(problem, tol=arguments.tol, device="emulator", progress=False)
    same_bits = np.array_equal(result.value, model.value) and np.array_equal(result.policy, model.policy)
    same_bits = same_bits and (result.sweeps, result.clocks) == (model.sweeps, model.clocks)
    say(f"Software model: {'the same bits and the same clocks' if same_bits else 'DIFFERENT'}.")
    say(
        f"Verification of these bits by an exact search: {'passed' if model.success else 'FAILED'}, "
        f"max |TV - V| = {model.residual:.1e}, max |V - V*| <= {model.error_bound:.1e}."
    )

    brute = grid_search.solve(
        problem.grid,
        problem.wealth,
        problem.transition,
        problem.start,
        problem.beta,
        problem.eta,
        arguments.tol,
        interval=1,
    )
    wrong = int((result.policy != brute.policy).sum())
    gap = float(np.abs(result.value - brute.value).max())
    say(
        f"Full grid search in double precision: {brute.sweeps:,} sweeps; the policy differs in {wrong} of {work:,} "
        f"states, V by at most {gap:.1e}."
    )
    return 0 if result.success and model.success and same_bits and wrong == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
