"""The notebook of the tour runs, and its outputs equal the stored ones, except for numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.paths import ROOT
from support.texts import plain

TOUR = ROOT / "docs" / "tour.ipynb"


def code(notebook: Any) -> list[Any]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def text(value: Any) -> str:
    return value if isinstance(value, str) else "".join(value)


def shown(notebook: Any) -> list[list[tuple[list[str], list[str]]]]:
    """Return formats and words of the outputs of each cell, without lines of progress, which depend on the speed."""
    found = []
    for cell in code(notebook):
        outputs = [output for output in cell["outputs"] if output["output_type"] != "display_data"]
        texts = [output["data"]["text/plain"] if "data" in output else output["text"] for output in outputs]
        formats = [sorted(output.get("data", ())) for output in outputs]
        found.append([(kinds, plain(text(each))) for kinds, each in zip(formats, texts, strict=True)])
    return found


def test_recorded_figures_are_of_one_run_and_complete() -> None:
    stored = json.loads(TOUR.read_text(encoding="utf-8"))
    cells = code(stored)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    for cell, outputs in zip(cells, shown(stored), strict=True):
        figures = [formats for formats, _ in outputs if "image/png" in formats]
        assert len(figures) == (".plot(" in text(cell["source"])), cell["source"]
        assert all(output["output_type"] in ("execute_result", "stream") for output in cell["outputs"])
    words = [word for outputs in shown(stored) for _, found in outputs for word in found]
    assert {"converged:", "finished:", "bound"} <= set(words)
    # The notebook has no data of the computer on which it was run.
    assert not [word for word in words if word.startswith("/")]


def test_it_runs_and_shows_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    stored, fresh = (nbformat.read(TOUR, as_version=4) for _ in range(2))
    for cell in code(fresh):
        cell["outputs"], cell["execution_count"] = [], None
    nbclient.NotebookClient(
        fresh, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    assert shown(fresh) == shown(stored)
    assert not list(tmp_path.iterdir())
