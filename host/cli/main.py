"""The command line, ``beltline``.

Exit codes are 0 if the problem was solved; 1 if it was not solved (the result is still written), if a device was lost
or took too long, or if a file or standard output could not be written; 2 if the input was refused before any work, or
if the problem does not fit into the memory of this computer; 130 if the command was interrupted, 143 if SIGTERM and 129
if SIGHUP ended it (nothing is written except a checkpoint). A plot of a result that is not solved is drawn, with exit
code 1.
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
    check_any_kind,
    check_output,
    check_writable,
    directory_name,
    file_name,
    kind_name,
    new_file_name,
)
from beltline.host.cli.interrupts import INTERRUPTED, begin_work
from beltline.host.cli.output import complain, ended, say
from beltline.sim.ctrl_c import terminated

# Everything else is imported by the command that needs it, so that `beltline --help` appears at once.

ECONOMY = "krusell-smith"
"""The model with a command line of its own (:mod:`beltline.host.cli.krusell_smith`)."""


def _parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser. Only the commands in ``words`` get their arguments, because listing these needs imports."""
    about = "Solve Bellman equations exactly on a grid, with a proven error bound."
    parser = Parser(prog="beltline", description=about, allow_abbrev=False)
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

    # Without `choices`: argparse would then report the value of a mistyped option as an invalid model.
    default = next(iter(MODELS))
    known = "\n".join(f"{name}: {entry.about}{' (the default)' * (name == default)}" for name, entry in MODELS.items())
    parser.add_argument(
        "model",
        nargs="?",
        default=default,
        help=f"{known}\n{ECONOMY}: Krusell and Smith (1998); `beltline solve {ECONOMY} --help` lists its options",
    )

    def option(group: argparse._ArgumentGroup, flag: str, kind: type, default: float | None, text: str) -> None:
        group.add_argument(flag, type=kind, default=default, metavar="N" if kind is int else "X", help=text)

    model = parser.add_argument_group("model")
    for name, (kind, text) in parameters().items():
        text = text.replace("%", "%%")
        model.add_argument(f"--{name}", type=kind, metavar="N" if kind is int else "X", help=text)
    run = parser.add_argument_group("solution")
    option(
        run, "--tol", float, None,
        "stop when all values change by less than this, in utility (default 1e-10, or less if utility is small)",
    )  # fmt: skip
    option(run, "--max-sweeps", int, 10_000, "largest number of sweeps (default %(default)s)")
    run.add_argument(
        "--device",
        metavar="NAME",
        help=f"auto (the default: a free board, else a GPU if it saves time, else the CPU), "
        f"{', '.join((*DEVICES, *REFERENCES))}; `beltline devices` describes them",
    )
    run.add_argument(
        "--method",
        metavar="NAME",
        help=f"on {' and '.join(REFERENCES)}: auto, {', '.join(METHODS)} (default auto if no device is named, else "
        "warm); on a sweep engine: shift",
    )
    run.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the device or method; may be repeated; `beltline devices --options` lists them",
    )
    run.add_argument(
        "--timeout",
        type=float,
        metavar="X",
        help="on the accelerator, such as --device emulator: stop a run after this many seconds, with exit code 1; for "
        "a finite horizon also its verification",
    )
    run.add_argument(
        "--checkpoint",
        type=new_file_name,
        metavar="FILE.npz",
        help="on the accelerator, such as --device emulator: save the value function to this file every 30 seconds and "
        "on Ctrl-C, and continue from it if it exists; it is deleted after convergence, when --out is written",
    )
    run.add_argument("--no-verify", action="store_true", help="skip the exact check of the result in double precision")
    output = parser.add_argument_group("output")
    output.add_argument(
        "--out",
        type=new_file_name,
        metavar="FILE.npz",
        help=f"write value, policy and tables to this file ({', '.join(SUFFIXES)})",
    )
    equilibrium_cli.plot_option(output, "draw value and policy")
    output.add_argument(
        "--kind", type=kind_name, metavar="NAME", help="kind of the figure of --plot, as in `beltline plot --help`"
    )
    output.add_argument("--quiet", action="store_true", help="print no report and no progress")


def _plot_arguments(parser: argparse.ArgumentParser) -> None:
    from beltline.host.plots.figures import SUFFIXES
    from beltline.host.results.save import SUFFIXES as FILES

    parser.add_argument("file", type=file_name, metavar="FILE", help=f"a saved result ({', '.join(FILES)})")
    parser.add_argument(
        "--kind",
        type=kind_name,
        metavar="NAME",
        help="policy (the default): value and policy; euler: Euler equation errors; distribution: the stationary "
        "distribution; irf: the response to a step of the exogenous state; ages, life: figures of a life cycle; "
        "regions: where each alternative of the general form is taken; further kinds of an economy are on its page of "
        "the documentation",
    )
    parser.add_argument(
        "--out",
        type=new_file_name,
        metavar="FILE.png",
        help=f"write the figure to this file ({', '.join(SUFFIXES)}), replacing it; by default to a new .png file "
        "beside FILE, with -NAME after its name for kinds other than policy",
    )
    parser.add_argument("--quiet", action="store_true", help="do not print the path of the figure")


def _bench_arguments(parser: argparse.ArgumentParser) -> None:
    from beltline.host.bench.suite import BUDGET

    parser.add_argument(
        "--out",
        type=directory_name,
        metavar="DIR",
        help="write bench.json and bench.md to this directory, which exists",
    )
    parser.add_argument("--grids", metavar="N,N,...", help="grid points (default 16, 32, ... 65536, and 262144)")
    parser.add_argument(
        "--budget",
        type=float,
        default=BUDGET,
        metavar="X",
        help="longest expected time of a solve in seconds, beyond which a method is not timed on larger grids; ten "
        "times as long for the published baseline, five times for models of the accelerator (default %(default)s)",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=540.0,
        metavar="X",
        help="longest time in total in seconds: what is not expected to end in time is left out, and listed; a solve "
        "that has begun, and compilation of a method that is used for the first time, may end later (default "
        "%(default)s)",
    )
    parser.add_argument("--quiet", action="store_true", help="print the table only, without progress")


def _selftest_arguments(parser: argparse.ArgumentParser) -> None:
    from beltline.host.devices import DEVICES

    parser.add_argument("--device", required=True, metavar="NAME", help=", ".join(DEVICES))
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the device; may be repeated; `beltline devices --options` lists them",
    )
    parser.add_argument("--quiet", action="store_true", help="print the report only, without progress")


def _devices_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--options",
        action="store_true",
        help="list instead what each device takes as --option NAME=VALUE: name, meaning, limits and default",
    )


def _equilibrium_parser() -> argparse.ArgumentParser:
    from beltline.host.cli import krusell_smith as equilibrium_cli

    parser = Parser(
        prog=f"beltline solve {ECONOMY}",
        description="Solve the economy of Krusell and Smith (1998): the law of motion of aggregate capital that "
        "households expect, and a panel of households whose capital follows it.",
        epilog="Exit code 0: solved; 1: not solved, for example at the limit of iterations; 2: the input was refused; "
        "130: interrupted.",
        allow_abbrev=False,
    )
    equilibrium_cli.add_arguments(parser)
    return parser


def _options(given: Sequence[str]) -> dict[str, Any]:
    """Return the values of ``--option``: integers (also hexadecimal), decimals, ``true``, ``false``, or else text."""
    import inspect
    import re

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
            raise ProblemError(f"{name!r} is not an option of a device or method: use --{name.replace('_', '-')}")
        try:
            found[name] = {"true": True, "false": False}[value] if value in ("true", "false") else int(value, 0)
        except ValueError:
            found[name] = float(value) if re.fullmatch(r"\d*\.\d+", value, re.ASCII) else value
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    # This model has an outer loop around a problem, and therefore options of its own.
    economy = words[:2] == ["solve", ECONOMY]
    try:
        given = _equilibrium_parser().parse_args(words[2:]) if economy else _parser(words).parse_args(words)
    except SystemExit as stop:
        return ended("beltline", int(stop.code or 0))
    from beltline.host.devices.base import DeviceError, DeviceLostError, DeviceTimeoutError
    from beltline.host.problem.checks import ProblemError
    from beltline.host.problem.memory import memory_as_problem_error

    name = "beltline solve" if economy else f"beltline {given.command}"
    try:
        with memory_as_problem_error():
            code = _solve_economy(given) if economy else COMMANDS[given.command][-1](given)
    except (DeviceTimeoutError, DeviceLostError, OSError) as error:
        complain(f"{name}: {error}")
        code = 1
    except (ProblemError, DeviceError) as error:
        complain(f"{name}: {error}")
        code = REFUSED
    except KeyboardInterrupt as interrupt:
        left = f"; {interrupt}" if interrupt.args else ""
        complain(f"{name}: {'terminated' if terminated() else 'interrupted'}{left}")
        code = terminated() or INTERRUPTED
    return ended(name, code)


def _solve_economy(given: argparse.Namespace) -> int:
    from beltline.host.cli import krusell_smith as equilibrium_cli

    return equilibrium_cli.run(given, _options)


def _devices(given: argparse.Namespace) -> int:
    from beltline.host.devices.inventory import inventory, options_table, table

    say(options_table() if given.options else table(inventory()), end="")
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
    say(report)
    return 0 if report.success else 1


def _bench(given: argparse.Namespace) -> int:
    from beltline.host.bench.suite import GRIDS, bench
    from beltline.host.bench.tables import markdown
    from beltline.host.problem.checks import ProblemError, shown

    try:
        grids = [int(text) for text in given.grids.split(",")] if given.grids is not None else list(GRIDS)
    except ValueError:
        raise ProblemError(f"grids must be whole numbers with commas between, not {shown(given.grids)}") from None
    if given.out is not None and given.out.is_dir():
        check_writable("out", given.out / "bench.json")
    begin_work()
    result = bench(
        given.out,
        given.budget,
        given.seconds,
        grids,
        (lambda line: None) if given.quiet else complain,
    )
    say(markdown(result), end="")
    return 0 if all(row["agrees"] for row in result["rows"]) else 1


def _kind(given: argparse.Namespace) -> tuple[str, ...]:
    """Return the kind of figure as an argument, or none if the option was not given."""
    return () if given.kind is None else (given.kind,)


def _plot(given: argparse.Namespace) -> int:
    import warnings

    from beltline.host.plots.figures import SUFFIXES, check_plot
    from beltline.host.problem.checks import ProblemError
    from beltline.host.results.load import load

    if given.file.suffix.lower() in SUFFIXES:
        raise ProblemError(f"FILE must be a saved result, such as rbc.npz, not a figure, {str(given.file)!r}")
    unknown = None
    try:
        check_any_kind(given.kind)
    except ProblemError as error:
        # The result, if it can be loaded, names its own kinds instead.
        unknown = error
    out = given.out
    if out is None:
        ending = "" if given.kind in (None, "policy") else f"-{given.kind}"
        out = given.file.with_name(f"{given.file.stem}{ending}.png")
        if out.exists():
            raise ProblemError(f"{str(out)!r} exists already: pass it as --out to replace it")
    check_plot(out, "out")
    check_writable("out", out)
    begin_work()
    try:
        result = load(given.file)
    except (OSError, ProblemError) as error:
        if unknown is not None:
            raise unknown from None
        if isinstance(error, ProblemError):
            raise
        raise ProblemError(f"FILE {str(given.file)!r} cannot be read: {error.strerror or error}") from None
    with warnings.catch_warnings():
        # Reported below, in one sentence with the name of the file.
        warnings.simplefilter("ignore")
        result.plot(out, *_kind(given))
    if not given.quiet:
        say(out)
    if not result.success:
        complain(f"beltline plot: {str(given.file)!r} is not solved: {result.message}")
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
    from beltline.host.solver.options import TOL
    from beltline.host.solver.run import Checkpoint
    from beltline.host.solver.solve import solve

    if given.out is not None:
        check_out(given.out)
    if given.plot is not None:
        check_plot(given.plot)
    check_output(given)
    values = {name: getattr(given, name) for name in parameters()}
    if given.model not in MODELS:
        known = (*MODELS, ECONOMY)
        raise ProblemError(f"model must be one of {', '.join(map(repr, known))}, not {shown(given.model)}")
    problem = made(given.model, {name: value for name, value in values.items() if value is not None})
    if given.out is not None and isinstance(problem, Model):
        check_target("out", given.out, problem.suffixes)
    if given.kind is not None:
        own = isinstance(problem, Model) and problem.kinds
        check_kind(given.kind, own or tuple(KINDS), problem if isinstance(problem, Problem) else None)
    options = _options(given.option)
    if "choices" in options:
        raise ProblemError("'choices' is an option in Python only: bl.solve(problem, choices='continuous')")
    if given.device is not None:
        options["device"] = given.device
    saving = None if given.checkpoint is None else Checkpoint(given.checkpoint, stays=True)
    begin_work()
    result = solve(
        problem,
        tol=TOL if given.tol is None and not isinstance(problem, Problem) else given.tol,
        max_sweeps=given.max_sweeps,
        progress=False if given.quiet else None,
        verify=not given.no_verify,
        method=given.method,
        timeout=given.timeout,
        checkpoint=saving,
        **options,
    )
    if not given.quiet:
        say(result)
    for path, write, more in ((given.out, result.save, ()), (given.plot, result.plot, _kind(given))):
        if path is not None:
            write(path, *more)
            if not given.quiet:
                say(f"  {'written':<14}{path}")
    if saving is not None and saving.over:
        saving.remove()
    if not result.success:
        complain(f"beltline solve: not solved: {result.message}")
        return 1
    return 0


COMMANDS: dict[
    str,
    tuple[str, str, str, Callable[[argparse.ArgumentParser], None], Callable[[argparse.Namespace], int]],
] = {
    "solve": (
        "solve a model and print a report",
        "Solve a model and print a report: status, error bound, device and times. The value function and the policy "
        "can be written to a file and drawn.",
        "Exit code 0: solved; 1: not solved, for example at the sweep limit; 2: the input was refused; "
        "130: interrupted.",
        _solve_arguments,
        _solve,
    ),
    "plot": (
        "draw a saved result",
        "Draw a figure of a result that was saved by `beltline solve --out` or `result.save`, and print its path.",
        "Exit code 0: drawn; 1: drawn, but the result is not solved, or a file cannot be written; "
        "2: the input was refused; 130: interrupted.",
        _plot_arguments,
        _plot,
    ),
    "bench": (
        "time all devices and methods on this computer",
        "Time all devices and methods that can be used on this computer, check that they agree, and print a table.",
        "Exit code 0: all agree; 1: some disagree; 2: the input was refused; 130: interrupted.",
        _bench_arguments,
        _bench,
    ),
    "selftest": (
        "check a device and print a report",
        "Check a device of the accelerator: its identity, registers and tables, small solves against the emulator, its "
        "number of clocks against the formula and this computer's timer, and the speed of transfers. Print a report, "
        "for a bug report for example.",
        "Exit code 0: all checks passed; 1: a check failed or could not be run, or the device was lost; 2: the input "
        "was refused, or the device could not be opened; 130: interrupted.",
        _selftest_arguments,
        _selftest,
    ),
    "devices": (
        "list the devices, which of them can be used here, and their options",
        'List all devices: name, description, and either "here" or why it cannot be used on this computer.',
        "Exit code 0.",
        _devices_arguments,
        _devices,
    ),
}
"""For each command: its line in the help, its description and epilog, and the functions that add its arguments and run
it."""
