"""Every example runs to its end and reports that its problems were solved."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from support.paths import ROOT

# The device needs a board; tests/host/devices/test_example_device.py runs it with a substitute. "smm" is a module of
# two others.
EXAMPLES = [
    path for path in sorted((ROOT / "examples").glob("*.py")) if "device" not in path.stem and path.stem != "smm"
]


SMALLER = {
    "estimation": ["--grid", "128", "--samples", "20", "--periods", "1000"],
    "adjustment_costs": ["--samples", "15", "--plants", "300", "--steps", "1"],
}
"""Arguments that shorten examples which would take a minute."""


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example(
    example: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(example.parent))
    monkeypatch.setattr(sys, "argv", [str(example), *SMALLER.get(example.stem, [])])
    code: object = None
    try:
        runpy.run_path(str(example), run_name="__main__")
    except SystemExit as stop:
        code = stop.code
    assert not code
    assert "converged" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())
