"""Every system call that changes files fails once, in every writer: afterwards the old file or the new one exists."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.paths import ROOT, TESTS

COMPILER = shutil.which("cc") or shutil.which("gcc")
CALLS = {
    "npz": {"open", "write", "fsync", "rename"},
    "nc": {"open", "write", "fsync", "rename"},
    "checkpoint": {"open", "write", "fsync", "rename"},
    "store": {"open", "write", "fsync", "rename", "mkdir"},
    "cache": {"open", "write", "rename", "mkdir"},
}


@pytest.mark.skipif(COMPILER is None or sys.platform != "linux", reason="a compiler makes the layer, for Linux only")
def test_each_call_of_each_writer_fails_once(tmp_path: Path) -> None:
    layer = tmp_path / "layer.so"
    source = TESTS / "support" / "failing_calls.c"
    subprocess.run([str(COMPILER), "-shared", "-fPIC", "-O1", "-o", layer, source, "-ldl"], check=True)
    ended = subprocess.run(
        [sys.executable, "-m", "support.failing_calls", str(tmp_path / "disk")],
        env={**os.environ, "LD_PRELOAD": str(layer), "PYTHONPATH": os.pathsep.join((str(ROOT), str(TESTS)))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert len(found) == 2 * len(CALLS) - 1
    for kind, counts in found.items():
        assert counts["wrong"] == [], kind
        assert set(counts["calls"]) == CALLS[kind.split(",")[0]] | ({"unlink"} if "again" in kind else set())
        assert counts["runs"] >= 28, kind
