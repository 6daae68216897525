"""The package on a board's own processor: it needs Python 3.10, but neither SciPy nor Numba."""

from __future__ import annotations

import ast
import os
import subprocess
import sys

import pytest

from beltline.hw.interface.parameters import MachineParameters
from support.boards import Fabric
from support.paths import ROOT
from support.serial_end import SerialEnd

NEEDED = (
    "beltline.host.devices.pynq",
    "beltline.host.devices.f2",
    "beltline.host.devices.serial",
    "beltline.host.devices.xdma",
    "beltline.host.solver.driver",
    "beltline.host.solver.session",
    "beltline.host.results.load",
    "beltline.host.bench.selftest",
    "beltline.host.cli.main",
    "beltline.host.models.rbc",
)
"""Modules that the board's processor imports."""

BLOCKED = "import sys\nsys.modules.update(dict.fromkeys(('numba', 'llvmlite', 'scipy')))\n"
"""Make imports of SciPy and Numba fail, as if they were not installed."""

NEWER = {"UTC", "StrEnum", "ReprEnum", "EnumType", "TaskGroup", "file_digest", "add_note", "Self", "LiteralString"}
NEWER |= {"NotRequired", "Required", "Never", "assert_never", "assert_type", "reveal_type", "Unpack", "TypeVarTuple"}
NEWER |= {"dataclass_transform", "ExceptionGroup", "BaseExceptionGroup", "tomllib", "cbrt", "exp2", "nonmember"}
NEWER |= {"batched", "override", "TypeAliasType", "getLevelNamesMapping", "show_flag_values"}
"""Names added to the standard library in Python 3.11 and 3.12, as code would import or use them."""


def run(code: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)


def test_board_part_is_imported_without_scipy_and_numba() -> None:
    code = (
        f"{BLOCKED}import importlib, sys\nfor name in {NEEDED}: importlib.import_module(name)\n"
        "for name, module in sorted(sys.modules.items()):\n"
        "    if name.split('.')[0] == 'beltline' and module is not None: print(module.__file__)"
    )
    done = run(code)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) > 40


def test_device_is_checked_without_scipy_and_numba() -> None:
    """A device is checked in a process without SciPy and Numba, over a serial line that ends in this process."""
    end = SerialEnd(Fabric(MachineParameters(grid=16, states=3)))
    words = ["selftest", "--device", "serial", "--option", f"port={end.port}", "--quiet"]
    try:
        done = run(f"{BLOCKED}from beltline.host.cli.main import main\nsys.exit(main({words}))")
    finally:
        end.close()
    assert done.returncode == 1, done.stderr
    assert done.stdout.splitlines()[-1] == "Of 10 checks 3 not run (solve, table POLICY, clocks)."


def newer(tree: ast.AST) -> list[str]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names = [(node.module or "", alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [(alias.name, alias.name) for alias in node.names]
        elif isinstance(node, ast.Attribute):
            names = [(ast.unparse(node.value), node.attr)]
        else:
            continue
        found += [name for module, name in names if module.split(".")[0] in sys.stdlib_module_names and name in NEWER]
    return found


@pytest.mark.parametrize("folder", ["beltline", "hw", "host", "sim", "gpu_ref", "constraints"])
def test_sources_are_python_3_10(folder: str) -> None:
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files
    found = {}
    for path in files:
        # Syntax that Python 3.10 does not have is an error here.
        tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 10))
        if names := newer(tree):
            found[str(path.relative_to(ROOT))] = names
    assert found == {}


@pytest.mark.parametrize(
    "text",
    ["import datetime\ndatetime.UTC", "from enum import StrEnum", "import tomllib", "from typing import Self"],
)
def test_names_of_python_3_11_are_seen(text: str) -> None:
    assert newer(ast.parse(text))


def test_solve_without_numba_is_refused_in_a_sentence() -> None:
    code = f"{BLOCKED}import beltline as bl\nbl.solve(bl.rbc(grid=32), device='serial', port='/dev/null')"
    done = run(code)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "beltline.host.problem.checks.ProblemError: solving needs the Python package numba, which is not installed "
        "here: compiled code checks the results; `beltline selftest` makes most of its checks without it"
    )
