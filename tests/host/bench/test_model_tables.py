"""The tables of the models' pages print the models' numbers, tested at small sizes."""

from __future__ import annotations

import re

import pytest

import beltline as bl
from docs.tables import models as model_tables
from docs.tables.models import TABLE_II, TABLES, aiyagari_tables, life_cycle_tables, main
from support.paths import ROOT


def rows(text: str) -> list[list[str]]:
    """Return the cells of each row of a printed table, except the head."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@pytest.mark.parametrize("device", ["cpu", "emulator"])
def test_the_life_cycle_is_compared_with_full_search(device: str, capsys: pytest.CaptureFixture[str]) -> None:
    life_cycle_tables(device, grid=60, states=3, ages=4, calls=3)
    found = dict(rows(capsys.readouterr().out))
    result = bl.solve(bl.life_cycle(60, 3, 4), device=device, progress=False)
    assert found["V(x_1, e_2) at age 1"] == f"{result.value[0, 0, 1]:.5f}"
    assert found["choices that differ from full search"] == "0 of 720"
    assert float(found["largest difference of values"]) < 1e-13
    assert found["second differences of V above zero"] == "0 of 696"
    if device == "emulator":
        assert found["clocks"] == f"{result.clocks:,} (modelled by formula)"
    else:
        assert re.fullmatch(r"[\d.]+ ms, of which the solve [\d.]+ ms", found["a whole life, median of 3"])


def test_choices_that_are_wrong_are_counted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(*arguments: object, **more: object) -> bl.Result:
        result = bl.solve(*arguments, **more)  # type: ignore[arg-type]
        result.policy[1, 5, 2] += 1
        return result

    monkeypatch.setattr(model_tables, "solve", wrong)
    life_cycle_tables("cpu", grid=60, states=3, ages=4, calls=1)
    assert dict(rows(capsys.readouterr().out))["choices that differ from full search"] == "1 of 720"


def test_economies_are_compared_with_published_ones(capsys: pytest.CaptureFixture[str]) -> None:
    cells = {(0.4, 0.6): TABLE_II[0.4, 0.6]}
    aiyagari_tables("cpu", grid=400, cells=cells)
    found = rows(capsys.readouterr().out)
    assert [row[:4] + row[5:6] for row in found] == [
        ["0.4", "0.6", "1", "3.7567", "24.50"],
        ["0.4", "0.6", "3", "2.7835", "26.71"],
        ["0.4", "0.6", "5", "1.8070", "29.37"],
    ]
    economy = bl.solve(
        bl.aiyagari(grid=400, eta=3.0, rho=0.6, sigma=0.4, high=60.0), tol=1e-7, device="cpu", progress=False
    )
    assert found[1][4] == f"{100 * economy.interest:.4f}"
    assert found[1][6:] == [f"{100 * economy.saving_rate:.2f}", f"{economy.gini:.3f}", f"{economy.at_top:.0e}"]
    # Even on this coarse grid, interest rates fall as in the published table.
    rates = [float(row[4]) for row in found]
    assert rates == sorted(rates, reverse=True)
    for row in found:
        assert float(row[4]) == pytest.approx(float(row[3]), abs=0.4)


def test_an_unsolved_economy_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    aiyagari_tables("cpu", grid=8, cells={(0.2, 0.0): TABLE_II[0.2, 0.0]})
    assert "| On this grid of 8 points the long run depends on" in capsys.readouterr().out


def test_published_saving_rates_are_what_the_published_returns_imply() -> None:
    # In a stationary economy delta K / Y = alpha delta / (r + delta), alpha 0.36 and delta 0.08.
    for cells in TABLE_II.values():
        for rate, saving in cells:
            assert saving == pytest.approx(100 * 0.36 * 0.08 / (rate / 100 + 0.08), abs=0.006)


def test_the_page_has_the_published_figures_and_near_ones_of_ours() -> None:
    page = (ROOT / "docs" / "aiyagari.md").read_text()
    found = rows(page[page.index("| sigma | rho") :].split("\n\n")[0])
    wanted = [
        [f"{sigma}", f"{rho}", f"{eta}", f"{rate:.4f}", f"{saving:.2f}"]
        for (sigma, rho), published in TABLE_II.items()
        for eta, (rate, saving) in zip((1, 3, 5), published, strict=True)
    ]
    assert [[*row[:4], row[5].rstrip("*")] for row in found] == wanted
    gaps = [abs(float(row[4]) - float(row[3])) for row in found]
    # As the page says.
    assert sum(gap <= 0.1 for gap in gaps) == 18
    assert 0.26 <= max(gaps) < 0.27


def test_tables_are_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[tuple[str, str]] = []
    for name in list(TABLES):
        monkeypatch.setitem(TABLES, name, lambda device, name=name: called.append((name, device)))
    assert main([]) == 0
    assert called == [(name, "cpu") for name in TABLES]
    called.clear()
    assert main(["life-cycle", "--device", "emulator"]) == 0
    assert called == [("life-cycle", "emulator")]
    capsys.readouterr()
    with pytest.raises(SystemExit) as stop:
        main(["huggett"])
    assert stop.value.code == 2
    assert "model must be one of 'life-cycle', 'cohort'" in capsys.readouterr().err
