"""Short runs of what ``python -m tests.endurance`` does for hours."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from endurance.kills import SIGNALS, TASKS, kills

from support.paths import ROOT


def test_kills_and_signals_lose_nothing(tmp_path: Path) -> None:
    found = kills(tmp_path, len(TASKS) * len(SIGNALS), seed=2)
    assert found.pop("wrong") == []
    assert set(found.values()) == {1, found["processes"]}


@pytest.mark.parametrize("kind", ["npz", "nc"])
@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="Atheris is not installed")
def test_a_guided_search_finds_no_file_that_is_not_refused(kind: str, tmp_path: Path) -> None:
    seconds = "60" if os.environ.get("CI") else "5"
    command = [sys.executable, "-m", "tests.endurance", "fuzz", "--kind", kind, "--seconds", seconds]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert "Done " in ended.stderr


def test_the_command_prints_what_it_found() -> None:
    command = [sys.executable, "-m", "tests.endurance", "damage", "--kind", "npz", "--count", "60"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found: dict[str, Any] = json.loads(ended.stdout)["npz"]
    assert (ended.returncode, found["files"], found["wrong"]) == (0, 60, [])
    assert sum(count for name, count in found.items() if ": " in name) == 60
