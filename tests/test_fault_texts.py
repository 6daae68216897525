"""The list of single faults: each applies to the present source, and the tests that it names find it."""

from __future__ import annotations

import ast
import functools
import json
from pathlib import Path

import pytest

from mutants.faults import FAULTS
from mutants.runner import FOUND, run
from support.paths import ROOT

LEAST = 60


@functools.cache
def functions_of(path: Path) -> dict[str, bool]:
    """Return the tests of a file, and whether the default suite leaves each out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    left_out = ("pytest.mark.slow", "pytest.mark.speed")
    return {
        function.name: any(ast.unparse(mark).startswith(left_out) for mark in function.decorator_list)
        for function in functions
    }


def test_there_are_enough_faults_and_none_twice() -> None:
    assert len(FAULTS) >= LEAST
    assert len({fault.what for fault in FAULTS}) == len(FAULTS)
    assert len({(fault.file, fault.before, fault.after) for fault in FAULTS}) == len(FAULTS)


@pytest.mark.parametrize("file", sorted({fault.file for fault in FAULTS}))
def test_every_fault_is_a_change_that_can_run(file: str) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    for fault in FAULTS:
        if fault.file != file:
            continue
        assert text.count(fault.before) == 1, fault
        changed = text.replace(fault.before, fault.after)
        assert changed != text, fault
        if file.endswith(".py"):
            assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(text)), fault
        else:
            assert file.endswith(".md") or json.loads(changed)


def test_every_fault_names_tests_of_the_default_suite() -> None:
    for fault in FAULTS:
        assert fault.tests, fault
        for test in fault.tests:
            file, _, name = test.partition("::")
            assert functions_of(ROOT / file)[name.partition("[")[0]] is False, fault


@pytest.mark.slow
def test_every_fault_is_found(tmp_path: Path) -> None:
    assert set(run(FAULTS, tmp_path).values()) == {FOUND}
