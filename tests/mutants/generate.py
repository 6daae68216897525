"""Single faults made from the syntax tree of a file, and the test files that import the file."""

from __future__ import annotations

import ast
import copy
import functools
import json
import re
import subprocess
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any, NamedTuple


class Fault(NamedTuple):
    """A single mistake in the source: what it is, its file relative to the root, the text of the file without and with
    it, and node ids of the tests that must find it.
    """

    what: str
    file: str
    before: str
    after: str
    tests: tuple[str, ...]


BOUNDARY: dict[Any, Any] = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
TURNED: dict[Any, Any] = {
    ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
EXCHANGED: dict[Any, Any] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
PAIRS = (("min", "max"), ("minimum", "maximum"), ("argmin", "argmax"), ("floor", "ceil"), ("any", "all"))
CALLS = {old: new for a, b in PAIRS for old, new in ((a, b), (b, a))}

WITHOUT = (ast.Raise, ast.Assert, ast.JoinedStr)
"""Nodes in which no fault is made: messages, and statements for the type checker."""
WITHOUT_FIELDS = ("annotation", "returns", "decorator_list")

PARTS = ("beltline", "hw", "sim", "gpu_ref", "constraints", "host")


def faults_of(file: str, text: str, tests: tuple[str, ...], lines: Set[int] | None = None) -> list[Fault]:
    """Make every single fault of the Python file ``file`` that changes one of ``lines``, by default any."""
    changes = [change for change in _changes(ast.parse(text)) if lines is None or change[0].lineno in lines]
    changes.sort(key=lambda change: (change[0].lineno, change[0].col_offset))
    return [
        Fault(f"line {node.lineno}: {_shown(text, node)} becomes {_shown(after)}", file, text,
              _replaced(text, node, after), tests)
        for node, after in changes
    ]  # fmt: skip


def _changes(node: Any) -> Iterator[tuple[Any, str]]:
    """Yield nodes of a tree, each with the text that replaces it."""
    if isinstance(node, WITHOUT):
        return
    yield from _changes_of(node)
    for field, value in ast.iter_fields(node):
        if field not in WITHOUT_FIELDS:
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _changes(child)


def _changes_of(node: Any) -> Iterator[tuple[Any, str]]:
    match node:
        case ast.Compare(ops=[operator]):
            for table in (BOUNDARY, TURNED):
                if type(operator) in table:
                    yield node, f"({_unparsed(node, ops=[table[type(operator)]()])})"
        case ast.BinOp(op=operator) | ast.BoolOp(op=operator):
            if type(operator) in EXCHANGED and not any(_is_text(child) for child in ast.iter_child_nodes(node)):
                yield node, f"({_unparsed(node, op=EXCHANGED[type(operator)]())})"
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            yield node, repr(number + 1)
        case ast.If() | ast.While() | ast.IfExp():
            yield node.test, f"(not ({ast.unparse(node.test)}))"
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield node, "pass"
        case ast.Call(func=ast.Attribute(attr="If" | "Elif"), args=[condition]):
            yield condition, f"(({ast.unparse(condition)}) == 0)"
        case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)) if name in CALLS:
            yield node.func, _unparsed(node.func, **{"id" if isinstance(node.func, ast.Name) else "attr": CALLS[name]})
        case ast.Subscript(slice=index) if not isinstance(node.value, ast.Name) or node.value.id[0].islower():
            for one in index.elts if isinstance(index, ast.Tuple) else [index]:
                for part in (one.lower, one.upper) if isinstance(one, ast.Slice) else [one]:
                    if isinstance(part, ast.Name | ast.BinOp):
                        yield part, f"(({ast.unparse(part)}) + 1)"


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _unparsed(node: Any, **fields: Any) -> str:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return ast.unparse(changed)


def _shown(text: str, node: Any = None) -> str:
    part = text if node is None else ast.get_source_segment(text, node) or ""
    return re.sub(r"\s+", " ", part)[:80]


def _replaced(text: str, node: Any, after: str) -> str:
    lines = text.encode().splitlines(keepends=True)
    begin = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset
    whole = text.encode()
    return (whole[:begin] + after.encode() + whole[end:]).decode()


def changed_lines(root: Path, commit: str) -> dict[str, set[int]]:
    """Return the lines of the sources that changed since ``commit``, by file."""
    command = ["git", "diff", "--unified=0", "--no-color", "--no-ext-diff", commit, "--", *(f"{p}/*.py" for p in PARTS)]
    found: dict[str, set[int]] = {}
    file = ""
    for line in subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout.splitlines():
        if line.startswith("+++ "):
            file = line[6:]
        elif hunk := re.match(r"@@ \S+ \+(\d+)(?:,(\d+))? @@", line):
            first, count = int(hunk[1]), int(hunk[2] or 1)
            found.setdefault(file, set()).update(range(first, first + count))
    return {file: lines for file, lines in found.items() if lines}


def importing_tests(root: Path, file: str) -> tuple[str, ...]:
    """Return the test files that import ``file``, or those that do so through the fewest other modules. The test of
    the same name is first, then those with the least recorded time.
    """
    modules, users = _graph(root)
    recorded = json.loads(path.read_text()) if (path := root / "tests/durations.json").is_file() else {}
    seen, ring = set[str](), {_module(Path(file))}
    while ring:
        seen |= ring
        tests = [path for module in ring if (path := modules.get(module)) and path.name.startswith("test_")]
        if tests:
            names = [str(path.relative_to(root)) for path in tests]
            spent = {name: sum(t for test, t in recorded.items() if test.startswith(f"{name}::")) for name in names}
            own = f"tests/{Path(file).parent}/test_{Path(file).name}"
            first = (own,) if (root / own).is_file() else ()
            return first + tuple(sorted(set(names) - {own}, key=lambda name: (spent[name], name)))
        ring = {user for module in ring for user in users.get(module, ())} - seen
    return ()


@functools.cache
def _graph(root: Path) -> tuple[dict[str, Path], dict[str, set[str]]]:
    """Return the file of each module of the project and its tests, and the modules that import each."""
    paths = [path for part in (*PARTS, "tests") for path in (root / part).rglob("*.py")]
    modules = {_module(path.relative_to(root)): path for path in paths}
    users: dict[str, set[str]] = {}
    for module, path in modules.items():
        for wanted in _imported(ast.parse(path.read_text(encoding="utf-8")), modules.keys()):
            users.setdefault(wanted, set()).add(module)
    return modules, users


def _module(path: Path) -> str:
    """Return the name by which tests import a file: ``beltline.hw.top.verilog``, ``support.files``."""
    parts = path.with_suffix("").parts
    parts = parts[1:] if parts[0] == "tests" else parts if parts[0] == "beltline" else ("beltline", *parts)
    return ".".join(parts).removesuffix(".__init__")


def _imported(tree: ast.AST, known: Set[str]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            while name and name not in known:
                name = name.rpartition(".")[0]
            if name:
                yield name
