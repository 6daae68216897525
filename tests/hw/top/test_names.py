"""Names of signals, which must not depend on the version of Python: the hash of a build covers them."""

from __future__ import annotations

import ast

import pytest
from amaranth.hdl import Signal

from beltline.hw.top.names import same_names, stored_first
from support.paths import ROOT


def test_signals_have_the_names_that_python_3_11_finds() -> None:
    same_names()
    alone = Signal()
    first, second = Signal(), Signal()
    chosen = Signal()
    again = chosen
    assert [signal.name for signal in (alone, first, second, again)] == ["alone", "$signal", "second", "chosen"]


@pytest.mark.parametrize(
    ("instructions", "number"),
    [
        ([("STORE_FAST_STORE_FAST", 0x21)], 2),
        ([("STORE_FAST_LOAD_FAST", 0x3A)], 3),
        ([("CACHE", 0), ("LOAD_GLOBAL", 7), ("CACHE", 0), ("STORE_FAST_LOAD_FAST", 0x10)], 1),
        # A long argument; one before another instruction does not count.
        ([("EXTENDED_ARG", 1), ("STORE_FAST_STORE_FAST", 0x21)], 0x12),
        ([("EXTENDED_ARG", 1), ("LOAD_GLOBAL", 7), ("STORE_FAST_STORE_FAST", 0x21)], 2),
        ([("STORE_FAST", 2)], None),
        ([("CALL", 0), ("STORE_FAST_STORE_FAST", 0x21)], None),
        ([], None),
    ],
)
def test_the_first_of_two_variables(instructions: list[tuple[str, int]], number: int | None) -> None:
    assert stored_first(iter(instructions)) == number


def test_a_signal_that_versions_would_name_differently_has_an_explicit_name() -> None:
    """The hash of a build covers names, and Python 3.11 and 3.12 find another one for a signal that is made in an
    assignment of several and read in a comprehension: such a signal has an explicit name.
    """
    found = []
    for path in sorted((ROOT / "hw").rglob("*.py")):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef):
                read = {
                    name.id
                    for node in ast.walk(function)
                    if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp)
                    for name in ast.walk(node)
                    if isinstance(name, ast.Name)
                }
                found += [f"{path.relative_to(ROOT)}:{line}: {name}" for name, line in _made(function) if name in read]
    assert found == []


def _made(function: ast.FunctionDef) -> list[tuple[str, int]]:
    """Return the names without an explicit one of signals that are made in assignments of two, with their lines.

    Signals that are made three or more at once have no name in any version.
    """
    made = []
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple) and len(node.value.elts) == 2:
            for target in node.targets:
                for name, value in zip(getattr(target, "elts", ()), node.value.elts, strict=False):
                    if isinstance(name, ast.Name) and isinstance(value, ast.Call):
                        called, given = ast.unparse(value.func), {word.arg for word in value.keywords}
                        made += [(name.id, node.lineno)] if called.startswith("Signal") and "name" not in given else []
    return made
