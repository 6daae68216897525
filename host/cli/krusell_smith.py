"""The command ``beltline solve krusell-smith``. Exit codes are those of :mod:`beltline.host.cli.main`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from beltline.gpu_ref.krusell_smith.panel import INTERPOLATIONS
from beltline.gpu_ref.methods import METHODS
from beltline.host.cli.arguments import check_output, kind_name, new_file_name
from beltline.host.cli.interrupts import begin_work
from beltline.host.cli.output import complain, say
from beltline.host.devices import DEVICES, REFERENCES
from beltline.host.models.krusell_smith.calibration import CHOICES
from beltline.host.models.krusell_smith.model import KrusellSmith, krusell_smith
from beltline.host.models.krusell_smith.options import HOUSEHOLDS, PANELS
from beltline.host.models.krusell_smith.panel import panel_errors
from beltline.host.plots.figures import SUFFIXES, check_kind, check_plot
from beltline.host.problem.checks import ProblemError
from beltline.host.results.files import check_target


def plot_option(group: Any, draws: str) -> None:
    """Add the option ``--plot``, whose file is ``policy.png`` by default; ``draws`` begins its help text."""
    group.add_argument(
        "--plot",
        type=new_file_name,
        nargs="?",
        const=Path("policy.png"),
        metavar="FILE.png",
        help=f"{draws} to this file ({', '.join(SUFFIXES)}; default policy.png)",
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``beltline solve krusell-smith``."""

    def option(group: Any, flag: str, kind: type, default: float, text: str, *also: str) -> None:
        group.add_argument(
            flag,
            *also,
            type=kind,
            default=default,
            metavar="N" if kind is int else "X",
            help=f"{text} (default %(default)s)",
        )

    model = parser.add_argument_group("model")
    option(model, "--agents", int, 10_000, "number of households in the panel, a multiple of 50")
    option(model, "--periods", int, 1_100, "number of quarters of the panel")
    option(model, "--discard", int, 100, "number of first quarters of the panel that are discarded")
    option(model, "--grid", int, 100, "grid points of capital k, for household euler")
    option(model, "--choices", int, CHOICES, "grid points of capital k, for household table")
    option(model, "--top", float, 1000.0, "highest grid point of k")
    option(model, "--means", int, 4, "grid points of mean capital K; four of them give 16 exogenous states of a table")
    option(model, "--low", float, 30.0, "lowest grid point of K")
    option(model, "--high", float, 50.0, "highest grid point of K")
    option(model, "--beta", float, 0.99, "quarterly discount factor")
    option(model, "--eta", float, 1.0, "relative risk aversion; 1 is log utility", "--gamma")
    option(model, "--seed", int, 0, "seed of the random shocks")
    run = parser.add_argument_group("solution")
    option(run, "--tol", float, 1e-7, "stop when the expected and the estimated law of motion differ by less than this")
    run.add_argument(
        "--household-tol",
        type=float,
        metavar="X",
        help="solve the household until k' changes by less than this, or the value function for household table "
        "(default 1e-08, 1e-07)",
    )
    option(run, "--relaxation", float, 0.4, "weight of the estimated law in the next expected law")
    option(run, "--max-iterations", int, 100, "largest number of laws of motion that are tried")
    run.add_argument(
        "--device",
        default="auto",
        metavar="NAME",
        help=f"where the household is solved: auto (the processor), {', '.join((*DEVICES, *REFERENCES))} (default "
        "%(default)s)",
    )
    run.add_argument(
        "--household",
        metavar="NAME",
        help=f"{' or '.join(HOUSEHOLDS)}: solve the household by iteration on the Euler equation, or as a Bellman "
        "equation on a grid (default euler on cpu and gpu, table on others)",
    )
    run.add_argument(
        "--panel",
        default="cpu",
        metavar="NAME",
        help=f"where the panel is simulated: {' or '.join(PANELS)} (default cpu)",
    )
    run.add_argument(
        "--interpolation",
        default="bicubic",
        metavar="NAME",
        help=f"interpolation of the policy in the panel: {', '.join(INTERPOLATIONS)} (default %(default)s)",
    )
    run.add_argument(
        "--method",
        metavar="NAME",
        help=f"for household table, on {' and '.join(REFERENCES)}: {', '.join(METHODS)} (default mpi); on a sweep "
        "engine: shift",
    )
    run.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the device or method; may be repeated; `beltline devices --options` lists them",
    )
    run.add_argument(
        "--compare",
        action="store_true",
        help="simulate with every interpolation and print the error of each in the path of K",
    )
    output = parser.add_argument_group("output")
    output.add_argument("--out", type=new_file_name, metavar="FILE", help="write the result to this file (.npz or .nc)")
    plot_option(output, "draw a figure")
    output.add_argument(
        "--kind",
        type=kind_name,
        metavar="NAME",
        help=f"kind of the figure of --plot: {', '.join(KrusellSmith.kinds)} (default policy)",
    )
    output.add_argument("--quiet", action="store_true", help="print no report and no progress")


def run(given: argparse.Namespace, options: Callable[[list[str]], dict[str, Any]]) -> int:
    """Run the command and return its exit code; ``options`` parses the values of ``--option``."""
    if given.out is not None:
        check_target("out", given.out, KrusellSmith.suffixes)
    kind = "policy" if given.kind is None else given.kind
    check_kind(kind, KrusellSmith.kinds)
    if given.plot is not None:
        check_plot(given.plot)
    check_output(given)
    model = "top means low high beta eta"
    run = "agents periods discard household device interpolation panel tol relaxation max_iterations choices seed"
    run += " household_tol"
    of_device = options(given.option) | ({} if given.method is None else {"method": given.method})
    for name in of_device:
        if name != "method" and name in vars(given):
            raise ProblemError(f"{name!r} is not an option of a device or method: use --{name.replace('_', '-')}")
    begin_work()
    result = krusell_smith(points=given.grid, **{name: getattr(given, name) for name in model.split()}).solve(
        **{name: getattr(given, name) for name in run.split()},
        progress=False if given.quiet else None,
        **of_device,
    )
    if not given.quiet:
        say(result)
    if given.compare:
        for name, gap in panel_errors(result).items():
            say(f"  {'error of K':<16}{name}: {gap:.3g} %")
    for path, write, more in ((given.out, result.save, ()), (given.plot, result.plot, (kind,))):
        if path is not None:
            write(path, *more)
            if not given.quiet:
                say(f"  {'written':<16}{path}")
    if not result.success:
        complain(f"beltline solve: not solved: {result.message}")
        return 1
    return 0
