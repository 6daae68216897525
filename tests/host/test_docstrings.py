"""The examples in the docstrings of these packages run, and print what the docstrings show."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

from support.paths import ROOT

FOLDERS = ("host/batch", "host/cli", "host/devices", "host/problem", "host/solver")

MODULES = [
    ".".join(("beltline", *path.relative_to(ROOT).with_suffix("").parts))
    for folder in FOLDERS
    for path in sorted((ROOT / folder).glob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_docstrings_run(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = doctest.testmod(importlib.import_module(module))
    assert found.attempted > 0
    assert found.failed == 0
