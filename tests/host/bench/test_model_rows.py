"""Rows of models by device: on the processor, and with a substitute for a second device whose results differ."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from beltline.host.models.catalogue import MODELS
from beltline.host.problem.checks import ProblemError
from docs.tables import model_rows
from docs.tables.model_page import page
from docs.tables.model_rows import CASES, ModelRow, good, main, rows
from support.paths import ROOT


def test_every_model_of_the_command_line_has_a_row() -> None:
    """Every model of the command line has a row, except the real business cycle, which the benchmarks cover."""
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
    text = out.with_suffix(".md").read_text()
    assert text == page(content, "rows")
    out.with_suffix(".md").unlink()
    assert main(["--page", str(out)]) == 0
    assert out.with_suffix(".md").read_text() == text


def test_no_file_is_written_if_a_model_is_not_solved(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    solve = model_rows.solve

    def one_fails(model: Any, device: str, progress: Any) -> Any:
        if not hasattr(model, "convex"):
            raise ProblemError("grid must be finer")
        return solve(model, device=device, progress=progress)

    monkeypatch.setattr(model_rows, "solve", one_fails)
    out = tmp_path / "rows.json"
    words = ["arellano", "lumpy-investment", "--small", "--repeats", "1", "--devices", "cpu", "--out", str(out)]
    assert main(words) == 1
    printed = capsys.readouterr().out
    assert "| arellano | small | cpu | nan | ProblemError: grid must be finer | - |" in printed
    assert (
        f"not solved, or another solution than the processor's: arellano on cpu, arellano on cpu; {out} is" in printed
    )
    assert list(tmp_path.iterdir()) == []


def test_the_page_shows_every_row() -> None:
    made = [
        ModelRow("a", "10 x 2", "cpu", 1.234, 5, True, "converged", math.nan),
        ModelRow("a", "10 x 2", "gpu", 0.0123, 4, True, "converged", 2e-9),
        ModelRow("b", "9 x 2", "cpu", 20.0, 1, True, "solved", math.nan),
    ]
    content = {
        "machine": {"date": "2026-11-25", "cores": 16, "gpu": "NVIDIA H200", "processor": "P"},
        "repeats": 5,
        "rows": model_rows.finite([vars(each) for each in made]),
    }
    text = page(content, "2026-11-25-h200-models")
    assert text.startswith("# Models on 2026-11-25: 16 cores and NVIDIA H200\n\n`python -m docs.tables.model_rows ")
    assert "\n- processor: P\n" in text
    assert [line for line in text.splitlines() if line.startswith("|")] == [
        "| model | size | `cpu`, s | `gpu`, s | difference |",
        "|---|---|---:|---:|---:|",
        "| a | 10 x 2 | 1.23 (5) | 0.0123 (4) | 2.0e-09 |",
        "| b | 9 x 2 | 20 (1) | - | - |",
    ]


def test_pages_of_results_are_those_of_their_files() -> None:
    files = sorted((ROOT / "docs" / "results").glob("*-models.json"))
    assert files
    for file in files:
        content = json.loads(file.read_text())
        assert file.with_suffix(".md").read_text() == page(content, file.stem), f"run {model_rows.PAGE.format(file)}"
        rows_of = [
            {**row, "difference": math.nan if row["difference"] is None else row["difference"]}
            for row in content["rows"]
        ]
        found = [ModelRow(**row) for row in rows_of]
        assert good(found)
        assert {row.model.partition(",")[0] for row in found} == set(MODELS) - {"rbc"}


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
    made = ModelRow("a", "1", "cpu", 1.0, 1, True, "converged", math.nan)
    assert good([made])
    assert not good([made, ModelRow("a", "1", "cpu", 1.0, 1, False, "sweep limit reached", math.nan)])


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["rbc"], "model must be one of 'arellano', "),
        (["--repeats", "0"], "--repeats must be from 1, not 0"),
        (["--seconds", "0"], "--seconds must be above 0, not 0"),
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
