"""Run cocotb benches from pytest, on an Amaranth component or on Verilog.

A bench is a module of cocotb tests in ``sim/benches``. ``run_bench`` compiles the design with Verilator, once, and runs
the bench. With ``WAVES=1`` in the environment, waveforms are written to ``build/waves`` as VCD.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from amaranth.back import verilog
from amaranth.hdl import Elaboratable

from beltline.sim import verilator
from beltline.sim.cache import Progress, SimulationError, cached, digest
from beltline.sim.yosys import use_yosys

PARAMETERS = "BELTLINE_BENCH"
"""Environment variable with the parameters of a bench, as JSON."""

OPTIMISE = "-O1"
"""Flags of the C++ compiler. Most benches run for a shorter time than a higher optimisation would take to compile."""

OUTPUT_LINES = 40
"""Number of last lines of the simulator's output that a message quotes."""


class BenchFailure(AssertionError):
    """A test of a bench failed, or the bench ran no test."""


def bench_parameters() -> dict[str, Any]:
    """Return the ``parameters`` that were passed to ``run_bench``; for calls from a bench."""
    parameters: dict[str, Any] = json.loads(os.environ.get(PARAMETERS, "{}"))
    return parameters


def to_verilog(component: Elaboratable, top: str) -> dict[str, str]:
    """Convert ``component`` to the Verilog of a module ``top`` with the ports of its signature, ``{file name:
    text}``.
    """
    use_yosys(progress=print)
    # References to lines of the Python source are left out: an edit of a comment would change the Verilog.
    return {f"{top}.v": verilog.convert(component, name=top, emit_src=False)}


def run_bench(
    design: Elaboratable | Mapping[str, str],
    test_module: str,
    *,
    top: str = "top",
    tests: Sequence[str] = (),
    parameters: Mapping[str, Any] | None = None,
    seed: int = 1,
    blocks: Sequence[str] = (),
    optimise: str = OPTIMISE,
    progress: Progress | None = None,
) -> None:
    """Run the cocotb tests of ``test_module`` on ``design``.

    Parameters
    ----------
    design
        An Amaranth component, or Verilog ``{file name: text}``. Benches can access the signals of the top module, but
        not those of its submodules.
    test_module
        The bench, for instance ``beltline.sim.benches.fixed_latency``.
    top
        Name of the top module: of the module to which a component is converted, or of a module in the Verilog.
    tests
        Names of the tests to run; by default all.
    parameters
        Values that JSON can represent; the bench reads them with ``bench_parameters()``.
    seed
        Seed of ``random`` in the bench.
    blocks
        Modules that are compiled separately, once each; this saves time if a large design instantiates them often.
    optimise
        Flags of the C++ compiler.
    progress
        Called with a line of text while the design is compiled.

    Raises
    ------
    BenchFailure
        A test failed, or no test was run.
    SimulationError
        The design cannot be compiled, or the simulator failed.
    """
    __tracebackhide__ = True
    files = dict(design) if isinstance(design, Mapping) else to_verilog(design, top)
    waves = os.environ.get("WAVES", "0") not in ("", "0")
    directory = _compiled(files, top, blocks, optimise, waves, progress)
    with tempfile.TemporaryDirectory(prefix="beltline-bench-") as scratch:
        _run(directory, Path(scratch), test_module, top, tests, parameters or {}, seed, waves)


def _compiled(
    files: Mapping[str, str],
    top: str,
    blocks: Sequence[str],
    optimise: str,
    waves: bool,
    progress: Progress | None,
) -> Path:
    """Compile the design with cocotb's main program, once; returns the directory."""
    import cocotb
    from cocotb_tools import config

    libraries = config.libs_dir
    main = config.share_dir / "lib" / "verilator" / "verilator.cpp"
    # Blocks have the flag -fPIC; the same precompiled headers fit all if the top module has it, too.
    arguments = ["--vpi", "-CFLAGS", "-fPIC", "-LDFLAGS", f"-Wl,-rpath,{libraries} -L{libraries} -lcocotbvpi_verilator"]
    if waves:
        arguments.append("--trace-vcd")
    if blocks:
        arguments.append("--hierarchical")
    # Only the signals of the top module are accessible: access to all of them makes a large design 3 to 6 times slower.
    configuration = [f'public_flat_rw -module "{top}" -var "*"']
    configuration += [f'hier_block -module "{block}"' for block in blocks]
    key = digest(
        json.dumps([sorted(files.items()), top, arguments, configuration, optimise]),
        verilator.find().version,
        cocotb.__version__,
    )
    return cached(
        f"bench-{top}",
        key,
        lambda directory: verilator.compile_design(
            directory,
            files,
            top=top,
            product=top,
            sources=[main],
            arguments=arguments,
            configuration=configuration,
            optimise=optimise,
            progress=progress,
        ),
        progress=progress,
    )


def _run(
    directory: Path,
    scratch: Path,
    test_module: str,
    top: str,
    tests: Sequence[str],
    parameters: Mapping[str, Any],
    seed: int,
    waves: bool,
) -> None:
    """Run the bench in the directory ``scratch`` and check its results."""
    __tracebackhide__ = True
    from cocotb_tools.runner import get_runner

    results = scratch / "results.xml"
    log = scratch / "log"
    problem: BaseException | None = None
    try:
        get_runner("verilator").test(
            test_module=test_module,
            hdl_toplevel=top,
            hdl_toplevel_lang="verilog",
            build_dir=directory,
            test_dir=scratch,
            testcase=list(tests) or None,
            seed=seed,
            extra_env={PARAMETERS: json.dumps(parameters), "COCOTB_ANSI_OUTPUT": "0"},
            results_xml=str(results),
            log_file=log,
            waves=waves,
        )
    except (SystemExit, RuntimeError) as error:
        # The runner would end the process when a test fails, and pytest could not report which one.
        problem = error
    output = log.read_text(errors="replace") if log.exists() else ""
    if waves and (scratch / "dump.vcd").exists():
        folder = Path.cwd() / "build" / "waves"
        folder.mkdir(parents=True, exist_ok=True)
        name = os.environ.get("PYTEST_CURRENT_TEST", test_module).rpartition("::")[2].partition(" ")[0]
        shutil.move(scratch / "dump.vcd", folder / (re.sub(r"\W+", "-", f"{test_module}-{name}").strip("-") + ".vcd"))
    _check(results, output, test_module, tests, seed, problem)


def _check(
    results: Path,
    output: str,
    test_module: str,
    tests: Sequence[str],
    seed: int,
    problem: BaseException | None,
) -> None:
    """Raise an error if a test failed, none was run, or the simulator failed with ``problem``."""
    __tracebackhide__ = True
    tail = "\n".join(output.splitlines()[-OUTPUT_LINES:])
    if not results.exists():
        raise SimulationError(f"the simulation of {test_module} ended without results:\n{tail}") from problem
    cases = ElementTree.parse(results).getroot().findall(".//testcase")
    ran = [case for case in cases if case.find("skipped") is None]
    failures = []
    for case in ran:
        for kind in ("failure", "error"):
            for found in case.findall(kind):
                said = (found.text or found.get("message") or "no message").strip()
                failures.append(f"{case.get('name')}: {said}")
    if failures:
        raise BenchFailure(
            f"{len(failures)} of {len(ran)} tests of {test_module} failed (seed {seed})\n"
            + "\n".join(failures)
            + f"\nThe simulator's output ends:\n{tail}"
        )
    if not ran or len(ran) < len(tests):
        wanted = f" named {', '.join(tests)}" if tests else ""
        raise BenchFailure(f"{test_module} ran {len(ran)} tests{wanted}")
    if problem is not None:
        raise SimulationError(f"the simulation of {test_module} ended with an error:\n{tail}") from problem
