"""The parts of the project and the imports between them, read from the code: ``python docs/parts.py`` prints them.

``docs/draw.py`` draws them for the page on design, and ``tests/test_parts.py`` checks their direction.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

LAYERS: tuple[tuple[str, ...], ...] = (
    ("beltline/compiled",),
    ("hw/interface", "gpu_ref"),
    ("hw/arithmetic",),
    ("hw/memory",),
    ("hw/bus", "hw/control"),
    ("hw/line", "hw/sweep"),
    ("hw/top",),
    ("sim",),
    ("constraints",),
    ("host/problem",),
    ("host/devices", "host/results"),
    ("host",),
    ("host/solver", "host/analysis"),
    ("host/plots",),
    ("host/models",),
    ("host/batch",),
    ("host/bench",),
    ("host/cli",),
    ("beltline",),
)
"""The parts from the bottom up: a part imports only parts of lower layers, and its own files without circles.

``"host"`` is the package's own ``__init__.py`` alone, ``"beltline/compiled"`` the modules of :data:`COMPILED`.
"""

COMPILED = ("compiled", "callees", "compile_clock", "ownership")
"""Modules beside the public face that compile, and measure how long it takes."""

FOLDERS = ("hw", "sim", "gpu_ref", "constraints", "host")
"""Folders of sources, each a subpackage of ``beltline``."""


def sources() -> dict[str, Path]:
    """Return the file of every module by its dotted name without ``beltline.``, packages by their folder's name."""
    found = {path.stem: path for path in sorted((ROOT / "beltline").glob("*.py"))}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            found[name.removesuffix(".__init__")] = path
    return found


def _imported(tree: ast.AST, known: Mapping[str, Path]) -> Iterator[str]:
    """Yield the modules of the project that a module imports, wherever in it the import stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            wanted = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            wanted = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in wanted:
            first, _, rest = name.partition(".")
            if first != "beltline":
                continue
            while rest and rest not in known:
                rest = rest.rpartition(".")[0]
            yield rest or "__init__"


def imports() -> dict[str, set[str]]:
    """Return the modules that each module of the project imports.

    Imports within functions and those for the type checker count like all others. Packages whose ``__init__.py`` is a
    docstring and nothing else are left out.
    """
    known = sources()
    found = {}
    for name, path in known.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found[name] = set(_imported(tree, known)) - {name}
    return found


def part_of(module: str) -> str:
    """Return the part that a module belongs to, ``"beltline"`` for the public face.

    Raises
    ------
    ValueError
        It is in no part of :data:`LAYERS`.
    """
    path = module.replace(".", "/")
    if module in COMPILED:
        return "beltline/compiled"
    for layer in LAYERS:
        for part in layer:
            if path == part or (part != "host" and path.startswith(part + "/")):
                return part
    if path.split("/")[0] in FOLDERS and path not in FOLDERS:
        raise ValueError(f"{path}.py is in no part that docs/parts.py knows")
    return "beltline"


def arrows() -> dict[tuple[str, str], list[tuple[str, str]]]:
    """Return the imports between parts: of each pair of parts, the modules that import and are imported."""
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for module, others in sorted(imports().items()):
        for other in sorted(others):
            pair = part_of(module), part_of(other)
            if pair[0] != pair[1]:
                found.setdefault(pair, []).append((module, other))
    return found


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that import each other in circles (strongly connected components, after Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            group = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(group) > 1:
                found.append(sorted(group))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def reduced() -> dict[str, set[str]]:
    """Return the parts that each part imports, less those that it reaches by way of another that it imports.

    Imports against the direction are not counted.
    """
    graph: dict[str, set[str]] = {part: set() for layer in LAYERS for part in layer}
    layer = {part: number for number, parts in enumerate(LAYERS) for part in parts}
    for part, other in arrows():
        if layer[other] < layer[part]:
            graph[part].add(other)

    def reach(part: str) -> set[str]:
        return {other for near in graph[part] for other in {near, *reach(near)}}

    return {
        part: {other for other in others if not any(other in reach(near) for near in others - {other})}
        for part, others in graph.items()
    }


def against() -> list[str]:
    """Return the imports against the direction of the layers, a line each."""
    layer = {part: number for number, parts in enumerate(LAYERS) for part in parts}
    lines = []
    for (part, other), modules in arrows().items():
        if layer[part] <= layer[other]:
            lines += [f"{part} must not import {other}: {module} imports {there}" for module, there in modules]
    return lines


if __name__ == "__main__":
    for (part, other), modules in arrows().items():
        print(f"{part} imports {other}, {len(modules)} times")
    for group in circles(imports()):
        print("circle:", ", ".join(group))
    for line in against():
        print(line)
