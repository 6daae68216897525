"""The examples in all docstrings of the package run, and print what the docstrings show."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

import pytest

from support.paths import ROOT

FOLDERS = ("gpu_ref", "host", "hw")

EXAMPLE = re.compile(r"^ *>>> (?!.*doctest: \+SKIP)", re.M)
"""A line of an example that is run."""

MODULES = [
    ".".join(("beltline", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
    for folder in FOLDERS
    for path in sorted((ROOT / folder).rglob("*.py"))
    if EXAMPLE.search(path.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("module", [*MODULES, "beltline"])
def test_examples_in_docstrings_run(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = doctest.testmod(importlib.import_module(module))
    assert found.attempted > 0
    assert found.failed == 0
