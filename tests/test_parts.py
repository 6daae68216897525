"""The structure of the project: imports without circles and in one direction, short files and functions."""

from __future__ import annotations

import ast
import runpy
from collections import defaultdict
from pathlib import Path

import pytest

from support.paths import ROOT

PARTS = runpy.run_path(str(ROOT / "docs" / "parts.py"))

FILE_LINES, FUNCTION_LINES = 500, 120
LONG = "long because"
"""Words in the docstring of a longer function that precede the reason for its length."""

SAME_NAMES = {
    "__init__": "packages",
    "base": "what every device is, and what every model is",
    "utility": "CRRA utility: in gateware, for the host's bounds, and in the independent oracle",
    "parameters": "what is fixed when a machine is built, and when a sweep engine is",
    "model": "the software model of either engine, and the model of each economy",
    "datapath": "of either engine, and the ports of both",
    "engine": "of either engine",
    "clocks": "of either engine",
    "calibration": "of each economy",
    "load": "a solution of any kind from its file, and each economy",
    "options": "of a solve, and of one of Krusell and Smith's economy",
    "result": "of a problem, and of each economy",
}
"""File names that occur several times, and their common meaning."""


def test_no_module_imports_itself_by_a_circle() -> None:
    assert PARTS["circles"](PARTS["imports"]()) == []


def test_no_part_imports_against_the_direction() -> None:
    assert PARTS["against"]() == []


def test_circles_and_arrows_against_the_direction_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set(), "e": {"a"}}
    assert PARTS["circles"](graph) == [["a", "b", "c"]]
    assert PARTS["part_of"]("hw.sweep.search.fetch") == "hw/sweep"
    assert PARTS["part_of"]("host") == "host"
    assert PARTS["part_of"]("__init__") == "beltline"
    with pytest.raises(ValueError, match=r"^host/elsewhere/x\.py is in no part that docs/parts\.py knows$"):
        PARTS["part_of"]("host.elsewhere.x")


def test_imports_within_functions_and_for_the_type_checker_count() -> None:
    text = "def f():\n    from beltline.hw.top import verilog\nif A:\n    import beltline.sim.board\nimport numpy\n"
    assert set(PARTS["_imported"](ast.parse(text), PARTS["sources"]())) == {"hw.top.verilog", "sim.board"}


def test_imports_use_the_public_package_name() -> None:
    wrong = []
    for path in [*PARTS["sources"]().values(), *(ROOT / "tests").rglob("*.py"), *(ROOT / "examples").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if any(name.split(".")[0] in PARTS["FOLDERS"] for name in names):
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert wrong == []


def test_no_test_module_imports_another() -> None:
    wrong = [
        path.relative_to(ROOT)
        for path in (ROOT / "tests").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").rpartition(".")[2].startswith("test_")
    ]
    assert wrong == []


def test_no_file_is_longer_than_one_sitting() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in PARTS["sources"]().values()}
    assert {str(path.relative_to(ROOT)): n for path, n in lengths.items() if n > FILE_LINES} == {}


def test_no_function_is_longer_than_it_says_why() -> None:
    found = {}
    for name, path in PARTS["sources"]().items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES and LONG not in (ast.get_docstring(node) or ""):
                found[f"{name}.{node.name}"] = length
    assert found == {}


def test_one_name_means_one_thing() -> None:
    files: dict[tuple[str, str], list[Path]] = defaultdict(list)
    for name, path in PARTS["sources"]().items():
        if not name.startswith(("sim.benches", "__")):
            files[name.split(".")[0], path.stem].append(path)
    twice = {key: [str(p.relative_to(ROOT)) for p in paths] for key, paths in files.items() if len(paths) > 1}
    assert {key: paths for key, paths in twice.items() if key[1] not in SAME_NAMES} == {}


def test_the_tests_mirror_the_sources() -> None:
    folders = {str(path.parent.relative_to(ROOT)) for path in PARTS["sources"]().values()}
    wrong = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "tests").rglob("test_*.py")
        if str(path.parent.relative_to(ROOT / "tests")) not in {*folders, ".", "docs"}
    ]
    assert wrong == []


def test_the_oracle_shares_nothing_with_what_it_judges() -> None:
    for path in (ROOT / "tests" / "oracle").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            allowed = {"__future__", "dataclasses", "fractions", "types", "typing", "numpy", "scipy", "mpmath"}
            assert {name.split(".")[0] for name in names} <= allowed, path
