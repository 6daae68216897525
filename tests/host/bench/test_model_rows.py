"""Rows of models by device: on the processor, and with a substitute for a second device whose results differ."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from beltline.host.bench import model_rows
from beltline.host.bench.model_rows import CASES, ModelRow, good, main, rows
from beltline.host.models.catalogue import MODELS


def test_every_model_of_the_command_line_has_a_row() -> None:
    """All models but the real business cycle, whose rows are those of the bench."""
    assert {case.name.partition(",")[0] for case in CASES} == set(MODELS) - {"rbc"}


def test_the_table_on_the_processor(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "rows.json"
    words = ["arellano", "lumpy-investment", "--small", "--repeats", "1", "--devices", "cpu", "--out", str(out)]
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[0] for line in lines[2:6]] == [
        "| arellano",
        "| arellano",
        "| lumpy-investment",
        "| lumpy-investment, convex cost",
    ]
    content = json.loads(out.read_text())
    assert content["machine"]["cores"] >= 1
    assert [row["status"] for row in content["rows"]] == ["converged"] * 4
    assert all(row["seconds"] > 0 and row["difference"] is None for row in content["rows"])


@pytest.mark.parametrize(("off", "agrees"), [(0.0, True), (1e-3, False), (math.nan, False)])
def test_devices_are_compared_with_the_processor(off: float, agrees: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    solve = model_rows.solve

    def other(model: Any, device: str, progress: Any) -> Any:
        found = solve(model, device="cpu", progress=progress)
        if device == "gpu":
            found.solution.value[0, 0, 0] += off
        return found

    monkeypatch.setattr(model_rows, "solve", other)
    done = rows(("cpu", "gpu"), 1, True, ["lumpy-investment"])
    # Only the processor solves problems with a convex cost.
    assert [each.device for each in done] == ["cpu", "gpu", "cpu"]
    assert math.isnan(done[0].difference)
    assert good(done) is agrees


def test_an_unsolved_problem_makes_no_row() -> None:
    made = ModelRow("a", "1", "cpu", 1.0, True, "converged", math.nan)
    assert good([made])
    assert not good([made, ModelRow("a", "1", "cpu", 1.0, False, "sweep limit reached", math.nan)])


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["rbc"], "model must be one of 'arellano', "),
        (["--repeats", "0"], "--repeats must be from 1, not 0"),
        (["--out", "rows.csv"], "out must end in .json, not 'rows.csv'"),
        (["--devices", "gpu"], "device 'gpu' cannot be used: no GPU was found"),
    ],
)
def test_refusals(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_rows, "available", lambda: "no GPU was found")
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2
    assert sentence in capsys.readouterr().err
