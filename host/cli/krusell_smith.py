"""The command ``beltline solve krusell-smith``. Exit codes are those of :mod:`beltline.host.cli.main`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from beltline.gpu_ref.methods import METHODS
from beltline.host.cli.arguments import check_output, kind_name, new_file_name
from beltline.host.cli.interrupts import begin_work
from beltline.host.cli.output import complain, say
from beltline.host.devices import REFERENCES
from beltline.host.models.catalogue import sentence
from beltline.host.models.krusell_smith.model import KrusellSmith, krusell_smith
from beltline.host.models.krusell_smith.options import Options
from beltline.host.models.krusell_smith.result import panel_errors
from beltline.host.plots.figures import SUFFIXES, check_kind, check_plot
from beltline.host.problem.checks import ProblemError
from beltline.host.results.fields import table_of
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


MODEL = ["agents", "periods", "discard", "points", "choices", "top", "means", "low", "high", "beta", "eta", "seed"]
RUN = ["tol", "household_tol", "relaxation", "max_iterations", "device", "household", "panel", "interpolation"]
"""Parameters of the economy and options of its solve that have options of the command."""

FLAGS = {"points": ["--grid"], "eta": ["--eta", "--gamma"]}
"""Options of the command that are not called as the parameter."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``beltline solve krusell-smith``."""
    known = {each.name: each for of in (Options, KrusellSmith) for each in fields(of)}
    model, run = parser.add_argument_group("model"), parser.add_argument_group("solution")
    for group, names in ((model, MODEL), (run, RUN)):
        for name in names:
            default, text = known[name].default, known[name].metadata["field"].text
            kind: Any = {"household_tol": float, "household": str}.get(name, type(default))
            group.add_argument(
                *FLAGS.get(name, [f"--{name.replace('_', '-')}"]), dest=name, type=kind, default=default,
                metavar={int: "N", float: "X", str: "NAME"}[kind],
                help=sentence(text).replace("%", "%%") + (" (default %(default)s)" if default is not None else ""),
            )  # fmt: skip
    run.add_argument(
        "--method",
        metavar="NAME",
        help=f"for household table, on {' and '.join(REFERENCES)}: {', '.join(METHODS)}; on a sweep engine: shift",
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
    of_device = options(given.option) | ({} if given.method is None else {"method": given.method})
    for name in of_device:
        if name != "method" and name in vars(given):
            raise ProblemError(f"{name!r} is not an option of a device or method: use --{name.replace('_', '-')}")
    begin_work()
    of_model = {name: getattr(given, name) for name in MODEL if name in table_of(KrusellSmith)}
    of_solve = {name: getattr(given, name) for name in (*MODEL, *RUN) if name not in of_model}
    progress: Any = False if given.quiet else None
    result = krusell_smith(**of_model).solve(progress, **of_solve, **of_device)
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
