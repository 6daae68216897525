"""The command line, ``beltline``.

Exit codes: 0 solved; 1 not solved (what there is was still written), a device was lost or took too long, or a file
could not be read or written; 2 refused before any work; 130 interrupted, nothing written but a checkpoint. A plot of a
result that is not solved is drawn, and is exit code 1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

from beltline.host import __version__
from beltline.host.cli.arguments import (
    REFUSED,
    Parser,
    check_output,
    check_writable,
    file_name,
    kind_name,
    new_file_name,
)
from beltline.host.cli.interrupts import INTERRUPTED, begin_work

# Everything else is imported by the command that needs it, so that `beltline --help` answers at once.

ECONOMY = "krusell-smith"
"""The model that is an economy, with a command line of its own (:mod:`beltline.host.cli.krusell_smith`)."""


def _parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of all commands; only those among ``words`` have their arguments, which take imports to list."""
    parser = Parser(prog="beltline", description="An accelerator for Bellman equations.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"beltline {__version__}")
    commands = parser.add_subparsers(title="commands", dest="command", required=True, parser_class=Parser)
    for name, (text, description, epilog, add_arguments, _) in COMMANDS.items():
        command = commands.add_parser(name, help=text, description=description, epilog=epilog, allow_abbrev=False)
        if name in words:
            add_arguments(command)
    return parser


def _solve_arguments(parser: argparse.ArgumentParser) -> None:
    from beltline.gpu_ref.methods import METHODS
    from beltline.host.cli import krusell_smith as equilibrium_cli
    from beltline.host.devices import DEVICES, REFERENCES
    from beltline.host.models.catalogue import MODELS, parameters
    from beltline.host.results.save import SUFFIXES

    # No `choices`: they would blame the value of a mistyped option for being no model.
    default = next(iter(MODELS))
    known = "; ".join(f"{name}, {entry.about}{' (the default)' * (name == default)}" for name, entry in MODELS.items())
    parser.add_argument(
        "model",
        nargs="?",
        default=default,
        help=f"{known}; {ECONOMY}, whose options `beltline solve {ECONOMY} --help` lists",
    )

    def option(group: argparse._ArgumentGroup, flag: str, kind: type, default: float, text: str) -> None:
        group.add_argument(flag, type=kind, default=default, metavar="N" if kind is int else "X", help=text)

    model = parser.add_argument_group("model")
    for name, (kind, text) in parameters().items():
        model.add_argument(f"--{name}", type=kind, metavar="N" if kind is int else "X", help=text)
    run = parser.add_argument_group("solution")
    option(run, "--tol", float, 1e-10, "stop when no value changes by this much, in utility (default %(default)s)")
    option(run, "--max-sweeps", int, 10_000, "stop after this many sweeps in any case (default %(default)s)")
    run.add_argument(
        "--device",
        metavar="NAME",
        help=f"auto (the default: a board that is free, else a GPU where it pays, else the CPU), "
        f"{', '.join((*DEVICES, *REFERENCES))}",
    )
    run.add_argument(
        "--method",
        metavar="NAME",
        help=f"on {' and '.join(REFERENCES)}: auto, {', '.join(METHODS)} (by default auto where no device is "
        "named, else warm); on a sweep engine: shift",
    )
    run.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help=f"of the device or method, any number of times ({_device_options()})",
    )
    run.add_argument(
        "--timeout",
        type=float,
        metavar="X",
        help="of a machine, as --device emulator: stop a run that has not ended after this many seconds, exit code 1; "
        "with ages, their verification too",
    )
    run.add_argument(
        "--checkpoint",
        type=new_file_name,
        metavar="FILE.npz",
        help="of a machine, as --device emulator: save value and sweeps there every half minute and on Ctrl-C, and "
        "resume from it; deleted when converged",
    )
    run.add_argument("--no-verify", action="store_true", help="skip the exact double-precision check of the result")
    output = parser.add_argument_group("output")
    output.add_argument(
        "--out",
        type=new_file_name,
        metavar="FILE.npz",
        help=f"write value, policy and tables to this file ({', '.join(SUFFIXES)})",
    )
    equilibrium_cli.plot_option(output, "draw value and policy")
    output.add_argument("--kind", type=kind_name, metavar="NAME", help="what --plot draws, as for `beltline plot`")
    output.add_argument("--quiet", action="store_true", help="print no report and no progress")


def _plot_arguments(parser: argparse.ArgumentParser) -> None:
    from beltline.host.plots.figures import SUFFIXES
    from beltline.host.results.save import SUFFIXES as FILES

    parser.add_argument("file", type=file_name, metavar="FILE", help=f"a saved result ({', '.join(FILES)})")
    parser.add_argument(
        "--kind",
        type=kind_name,
        metavar="NAME",
        help="policy, value and policy; euler, Euler equation errors; distribution, the stationary one; irf, the "
        "response to a step of the exogenous state; ages and life, of a life cycle (default policy); regions, of "
        "the general form, where each alternative is taken; and of an economy what its page of the documentation names",
    )
    parser.add_argument(
        "--out",
        type=new_file_name,
        metavar="FILE.png",
        help=f"draw to this file ({', '.join(SUFFIXES)}), replacing it; by default a .png beside FILE, "
        "with -NAME after its name for other kinds than policy, if there is none yet",
    )
    parser.add_argument("--quiet", action="store_true", help="do not print where the figure is")


def _bench_arguments(parser: argparse.ArgumentParser) -> None:
    from beltline.host.bench.suite import BUDGET

    parser.add_argument(
        "--out", type=new_file_name, metavar="DIR", help="write bench.json, .csv, .md and .png to this directory"
    )
    parser.add_argument("--grids", metavar="N,N,...", help="grid points (default 16, 32, ... 65536, and 262144)")
    parser.add_argument(
        "--budget", type=float, default=BUDGET, metavar="X", help="seconds a solve may take (default %(default)s)"
    )
    parser.add_argument(
        "--seconds", type=float, default=540.0, metavar="X", help="seconds of the whole run (default %(default)s)"
    )
    parser.add_argument("--quiet", action="store_true", help="print the table only")


def _selftest_arguments(parser: argparse.ArgumentParser) -> None:
    from beltline.host.devices import DEVICES

    parser.add_argument("--device", required=True, metavar="NAME", help=", ".join(DEVICES))
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help=f"of the device, any number of times ({_device_options()})",
    )
    parser.add_argument("--quiet", action="store_true", help="print the report only, and no progress")


def _no_arguments(parser: argparse.ArgumentParser) -> None:
    pass


def _equilibrium_parser() -> argparse.ArgumentParser:
    from beltline.host.cli import krusell_smith as equilibrium_cli

    parser = Parser(
        prog=f"beltline solve {ECONOMY}",
        description="Solve Krusell and Smith's economy: the law of motion of capital, and a panel that follows it.",
        epilog="Exit code 0: solved; 1: not solved, for example at the limit of iterations; 2: refused; "
        "130: interrupted.",
        allow_abbrev=False,
    )
    equilibrium_cli.add_arguments(parser)
    return parser


def _device_options() -> str:
    """What the help says of them."""
    from beltline.host.devices import DEVICES

    return "; ".join(f"{name}: {', '.join(has.options)}" for name, has in DEVICES.items() if has.options)


def _options(given: Sequence[str]) -> dict[str, Any]:
    """Options as typed: whole numbers, hexadecimal ones too, true and false, otherwise text."""
    import inspect

    from beltline.host.problem.checks import ProblemError, shown
    from beltline.host.solver.solve import solve

    found: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not (name.isidentifier() and equals):
            raise ProblemError(f"option must be NAME=VALUE, not {shown(text)}")
        if name in found:
            raise ProblemError(f"option {shown(name)} is given twice")
        if name in inspect.signature(solve).parameters:
            raise ProblemError(f"option {name!r} is none of a device or method: use --{name.replace('_', '-')}")
        try:
            found[name] = {"true": True, "false": False}[value] if value in ("true", "false") else int(value, 0)
        except ValueError:
            found[name] = value
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    # No table problem but an outer loop around one, with options of its own.
    economy = words[:2] == ["solve", ECONOMY]
    try:
        given = _equilibrium_parser().parse_args(words[2:]) if economy else _parser(words).parse_args(words)
    except SystemExit as stop:
        return int(stop.code or 0)
    from beltline.host.devices.base import DeviceError, DeviceLostError, DeviceTimeoutError
    from beltline.host.problem.checks import ProblemError

    name = "beltline solve" if economy else f"beltline {given.command}"
    try:
        return _solve_economy(given) if economy else COMMANDS[given.command][-1](given)
    except (DeviceTimeoutError, DeviceLostError, OSError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    except (ProblemError, DeviceError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return REFUSED
    except KeyboardInterrupt as interrupt:
        left = f"; {interrupt}" if interrupt.args else ""
        print(f"{name}: interrupted{left}", file=sys.stderr)
        return INTERRUPTED


def _solve_economy(given: argparse.Namespace) -> int:
    from beltline.host.cli import krusell_smith as equilibrium_cli

    return equilibrium_cli.run(given, _options)


def _devices(given: argparse.Namespace) -> int:
    from beltline.host.devices.inventory import inventory, table

    print(table(inventory()), end="")
    return 0


def _selftest(given: argparse.Namespace) -> int:
    from beltline.host.bench.selftest import SIZES, selftest
    from beltline.host.devices import check_options, open_device
    from beltline.sim.progress import reporting

    options = _options(given.option)
    check_options(given.device, options)
    begin_work()
    with reporting(False if given.quiet else None) as progress:
        device = open_device(given.device, SIZES, progress, **options)
        try:
            report = selftest(device, " ".join([f"{given.device!r},", *given.option]).rstrip(","), progress)
        finally:
            device.close()
    print(report)
    return 0 if report.success else 1


def _bench(given: argparse.Namespace) -> int:
    from beltline.host.bench.suite import GRIDS, bench
    from beltline.host.bench.tables import markdown
    from beltline.host.problem.checks import ProblemError, shown

    try:
        grids = [int(text) for text in given.grids.split(",")] if given.grids else list(GRIDS)
    except ValueError:
        raise ProblemError(f"grids must be whole numbers with commas between, not {shown(given.grids)}") from None
    begin_work()
    result = bench(
        given.out,
        given.budget,
        given.seconds,
        grids,
        (lambda line: None) if given.quiet else lambda line: print(line, file=sys.stderr, flush=True),
    )
    print(markdown(result), end="")
    return 0 if all(row["agrees"] for row in result["rows"]) else 1


def _kind(given: argparse.Namespace) -> tuple[str, ...]:
    """The kind of figure, if one was named."""
    return () if given.kind is None else (given.kind,)


def _plot(given: argparse.Namespace) -> int:
    import warnings

    from beltline.host.plots.figures import check_plot
    from beltline.host.problem.checks import ProblemError
    from beltline.host.results.load import load

    out = given.out
    if out is None:
        ending = "" if given.kind in (None, "policy") else f"-{given.kind}"
        out = given.file.with_name(f"{given.file.stem}{ending}.png")
        if out.exists():
            raise ProblemError(f"{str(out)!r} exists already; name it with --out to replace it")
    check_plot(out)
    check_writable("plot", out)
    begin_work()
    result = load(given.file)
    with warnings.catch_warnings():
        # Said below, in one sentence and with the file's name.
        warnings.simplefilter("ignore")
        result.plot(out, *_kind(given))
    if not given.quiet:
        print(out)
    if not result.success:
        print(f"beltline plot: {str(given.file)!r} is not solved: {result.message}", file=sys.stderr)
        return 1
    return 0


def _solve(given: argparse.Namespace) -> int:
    from beltline.host.models.base import Model
    from beltline.host.models.catalogue import MODELS, made, parameters
    from beltline.host.plots.figures import KINDS, check_kind, check_plot
    from beltline.host.problem.checks import ProblemError, shown
    from beltline.host.problem.problem import Problem
    from beltline.host.results.files import check_target
    from beltline.host.results.save import check_out
    from beltline.host.solver.solve import solve

    if given.out is not None:
        check_out(given.out)
    if given.plot is not None:
        check_plot(given.plot)
    check_output(given)
    asked = {name: getattr(given, name) for name in parameters()}
    if given.model not in MODELS:
        known = (*MODELS, ECONOMY)
        raise ProblemError(f"model must be one of {', '.join(map(repr, known))}, not {shown(given.model)}")
    problem = made(given.model, {name: value for name, value in asked.items() if value is not None})
    if given.out is not None and isinstance(problem, Model):
        check_target("out", given.out, problem.suffixes)
    if given.kind is not None:
        own = isinstance(problem, Model) and problem.kinds
        check_kind(given.kind, own or tuple(KINDS), problem if isinstance(problem, Problem) else None)
    options = _options(given.option)
    if given.device is not None:
        options["device"] = given.device
    begin_work()
    result = solve(
        problem,
        tol=given.tol,
        max_sweeps=given.max_sweeps,
        progress=False if given.quiet else None,
        verify=not given.no_verify,
        method=given.method,
        timeout=given.timeout,
        checkpoint=given.checkpoint,
        **options,
    )
    if not given.quiet:
        print(result)
    for path, write, more in ((given.out, result.save, ()), (given.plot, result.plot, _kind(given))):
        if path is not None:
            write(path, *more)
            if not given.quiet:
                print(f"  {'written':<14}{path}")
    if not result.success:
        print(f"beltline solve: not solved: {result.message}", file=sys.stderr)
        return 1
    return 0


COMMANDS: dict[
    str,
    tuple[str, str, str, Callable[[argparse.ArgumentParser], None], Callable[[argparse.Namespace], int]],
] = {
    "solve": (
        "solve a model and report",
        "Solve a model by value function iteration and print a report.",
        "Exit code 0: solved; 1: not solved, for example at the sweep limit; 2: refused; 130: interrupted.",
        _solve_arguments,
        _solve,
    ),
    "plot": (
        "draw a saved result",
        "Draw a figure of a result that was saved, and say where it is.",
        "Exit code 0: drawn; 1: drawn, but the result is not solved, or a file cannot be read or written; "
        "2: refused; 130: interrupted.",
        _plot_arguments,
        _plot,
    ),
    "bench": (
        "time every device and method here",
        "Time every device and method that this computer has, check that they agree, and print one table.",
        "Exit code 0: all agree; 1: not all; 2: refused; 130: interrupted.",
        _bench_arguments,
        _bench,
    ),
    "selftest": (
        "check a device, and print a report to paste",
        "Check a device: who answers, its registers and tables, small solves against the software model, clocks "
        "against the formula and against this computer's timer, and the speed of transfers. Print a report to paste.",
        "Exit code 0: all checks passed; 1: one failed or could not be run, or the device was lost; 2: refused, or not "
        "opened; 130: interrupted.",
        _selftest_arguments,
        _selftest,
    ),
    "devices": (
        "list what there is to solve on here",
        "List the devices that can be named, and why those that are not here are not.",
        "Exit code 0.",
        _no_arguments,
        _devices,
    ),
}
"""Of each command: its line in the help, its description, its last words, its arguments, and what runs it."""
