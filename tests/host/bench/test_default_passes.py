"""The clocks of sovereign default, divided among the passes of a sweep."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from beltline.host.models.arellano.model import arellano
from beltline.host.solver.solve import solve
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.prices.parameters import PricesParameters
from docs.tables import default_passes

KINDS: dict[str, Any] = {"proof": True, "costs": True, "alternatives": True, "multipliers": 4, "prices": True}
OPTIONS = ("--bonds", "61", "--incomes", "7", "--lanes", "4")


def test_passes_add_up_to_the_clocks_of_all_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert default_passes.main([*OPTIONS]) == 0
    said, _, header, _, *rows, _, differs, measure = capsys.readouterr().out.splitlines()
    assert measure.endswith("asked at most 0: measured 0, holds")
    assert header == default_passes.HEADER
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert tuple(row[0] for row in cells) == default_passes.PASSES
    clocks = {row[0]: [int(cell.replace(",", "")) for cell in (row[1], *row[3:])] for row in cells}
    build: dict[str, Any] = {"lanes": 4, "proof": 1, "costs": 1, "alternatives": 1}
    found: Any = solve(arellano(bonds=61, incomes=7), device="emulator", progress=False, **build)
    assert f": {found.solution.sweeps:,} sweeps, {found.solution.clocks:,} clocks; on coarser grids before it " in said
    assert sum(total for total, _, _ in clocks.values()) == found.solution.clocks
    for total, first, other in clocks.values():
        assert total == first + other
        assert min(first, other) >= 0
    # First sweeps of runs search every state without a check.
    assert clocks[default_passes.CHECK][1] == 0 < clocks[default_passes.CHECK][2]
    assert clocks[default_passes.BEGINS][2] == 0
    assert clocks[default_passes.PRICES][0] == 0
    assert differs.startswith("choices that differ from the processor's: 0 of 427; largest difference of a price ")


@pytest.mark.parametrize(("most", "status"), [(2.0, 0), (1e-3, 1)])
def test_the_measure_counts_all_grids(
    most: float, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(default_passes, "MEASURED", (61, 7))
    monkeypatch.setattr(default_passes, "MOST", most)
    assert default_passes.main([*OPTIONS, "--prices", "--multipliers", "4"]) == status
    said, *_, measure = capsys.readouterr().out.splitlines()
    words = said.replace(",", "").split()
    clocks = int(words[words.index("clocks;") - 1]) + int(words[-2])
    assert f"measured {clocks / 1e6:.4g} million, {'does not hold' if status else 'holds'}" in measure


def test_prices_that_the_machine_computes(capsys: pytest.CaptureFixture[str]) -> None:
    """Updates of prices take clocks of their own, as many in each; all clocks are those of the solve."""
    assert default_passes.main([*OPTIONS, "--prices", "--multipliers", "4", "--update-every", "1"]) == 0
    said, updates, _, _, _, *rows, _, differs, _ = capsys.readouterr().out.splitlines()
    assert differs.startswith("choices that differ from the processor's: 0 of 427; largest difference of a price ")
    build: dict[str, Any] = {"lanes": 4, "proof": 1, "costs": 1, "alternatives": 1, "multipliers": 4, "prices": 1}
    found: Any = solve(arellano(bonds=61, incomes=7), device="emulator", progress=False, update_every=1, **build)
    assert f": {found.solution.sweeps:,} sweeps, {found.solution.clocks:,} clocks; " in said
    assert sum(int(row.split("|")[2].replace(",", "")) for row in rows) == found.solution.clocks
    number = int(updates.split()[-2])
    spent = int(rows[-1].split("|")[2].replace(",", ""))
    assert number > 1
    parameters = PricesParameters(SweepParameters(64, 16, 4, **KINDS))
    assert spent == number * parameters.clocks(16, 14)


def test_a_different_choice_is_counted(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def wrong(model: Any, **options: Any) -> Any:
        found: Any = solve(model, **options)
        if "device" in options:
            return found
        policy = found.policy.copy()
        policy[3, 2] += 1
        return SimpleNamespace(policy=policy, prices=found.prices)

    monkeypatch.setattr(default_passes, "solve", wrong)
    assert default_passes.main([*OPTIONS]) == 1
    assert "choices that differ from the processor's: 1 of 427; " in capsys.readouterr().out


@pytest.mark.parametrize(("option", "word"), [("--lanes", "3"), ("--slots", "5"), ("--bonds", "60")])
def test_what_is_refused(option: str, word: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        default_passes.main([*OPTIONS, option, word])
    assert option[2:] in capsys.readouterr().err
