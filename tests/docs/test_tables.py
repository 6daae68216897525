"""Programs that print the tables of the pages: at small sizes each prints what its page is about."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from typing import Any

import pytest

from docs.tables import fitting_engines, model_rows
from docs.tables.engines import PLAIN
from docs.tables.models import TABLE_II
from support.paths import ROOT

PATH = {"+1%, at once over": {"shock": 0.01, "persistence": 0.0, "periods": 150}}
FIRMS = {"grid": 40, "states": 7, "share": 0.6}

FUNCTIONS: list[tuple[str, tuple[Any, ...], str]] = [
    ("aiyagari_path.grids", ((20,),), r"\n\| 20 \| .* \| 0\.0"),
    ("aiyagari_path.shocks", (20, PATH), r"\n\| \+1%, at once over \| \+1\.000 \| "),
    ("aiyagari_types.types", (30, {"two": {"types": 2, "states": 3}}), r"\n\| two \| [234]\.\d+ \| "),
    ("arellano.moments", ([(21, 5)], 4, 800), r"\n\| [^|]+ \| -?[\d.]+ \([\d.e-]+\) \| "),
    ("cohort.errors", ((40, 120), 200), r"\n\| 40 \| .*\n\| 120 \| "),
    ("hopenhayn_rogerson.effects", (FIRMS, FIRMS | {"exits": "after"}), r"\n\| price \| 1\.000 \| 1\.026 \| "),
    ("models.aiyagari_tables", ("cpu", 400, {(0.4, 0.6): TABLE_II[0.4, 0.6]}), r"\| 3 \| 2\.7835 \| [23]\.\d+ \| "),
    ("models.life_cycle_tables", ("cpu", 60, 3, 4, 3), r"\| choices that differ from full search \| 0 of 720 \|"),
    ("refine.errors", ("savings without debt", (33,), 129), r"\n\| 33 \| consumption, mean \| "),
    ("retirement.errors", ([400],), r"\n\| 400 \| \d\.\de-0"),
]  # fmt: skip

COMMANDS: list[tuple[str, str, str]] = [
    ("batch_bench", "--problems 20 --sweeps 5", r"20 problems of 16 x 2 points, 5 sweeps each, .*; order True\n"),
    ("benchmarks", "--small --repeats 1", r"\| savings, 100 x 5 \| .* Numba, Howard steps .* 0 improvable \|"),
    ("engines", "--grid 256 --lanes 4 --tol 1e-6", r"sweep engine, 4 lanes, same bits \| .*; 0 choices differ"),
    ("fitting_engines", "--tol 1e-2 --seconds 0.01", r"\| `f2-sweep`: 32 lanes at 125 MHz, .* 85 W assumed \|"),
    ("several_peaks", "--repeats 1 --problems 5 --points 200", r"random grids: 5 of 5 problems solved and verified\n"),
    ("start_up", "--grid 64 --repeats 1", r"\nreturned +[\d.]+ s, "),
    ("sweep_acceleration", "--grid 256 --lanes 4 --tol 1e-6 --start flat --shift point", r"\nflat +point +0 +\d+"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "shown"), FUNCTIONS, ids=[name for name, *_ in FUNCTIONS])
def test_a_table_of_a_model(
    name: str, arguments: tuple[Any, ...], shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    module, function = name.split(".")
    getattr(importlib.import_module(f"docs.tables.{module}"), function)(*arguments)
    assert re.search(shown, capsys.readouterr().out)


@pytest.mark.parametrize(("name", "options", "shown"), COMMANDS, ids=[name for name, *_ in COMMANDS])
def test_a_command(
    name: str, options: str, shown: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(fitting_engines, "CASES", ((1024, PLAIN),))
    status = importlib.import_module(f"docs.tables.{name}").main(options.split())
    # The time of a batch may be too long on a busy computer, which does not fail here.
    assert status == 0 or name == "batch_bench"
    assert re.search(shown, capfd.readouterr().out)


def test_the_rows_of_models_and_their_pages(capsys: pytest.CaptureFixture[str]) -> None:
    assert model_rows.main(["lumpy-investment", "--small", "--repeats", "1", "--devices", "cpu"]) == 0
    assert "\n| lumpy-investment, convex cost | " in capsys.readouterr().out
    for file in sorted((ROOT / "docs" / "results").glob("*-models.json")):
        text = model_rows.page(json.loads(file.read_text()), file.stem)
        assert file.with_suffix(".md").read_text() == text, f"run {model_rows.PAGE.format(file)}"


def test_a_default_solve_imports_nothing_heavy_but_numba() -> None:
    heavy = ("amaranth", "asyncio", "cupy", "h5py", "matplotlib", "mpmath", "pandas", "scipy.optimize", "xarray")
    code = (
        "import sys, beltline as bl; bl.solve(bl.rbc(grid=64), progress=False); "
        f"print([name for name in {heavy!r} if name in sys.modules], 'numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[] True\n"
