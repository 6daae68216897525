"""The tables of the page on Hopenhayn and Rogerson's economy print the model's numbers; tested at small sizes."""

from __future__ import annotations

import pytest

import beltline as bl
from docs.tables.hopenhayn_rogerson import (
    BENCHMARK,
    COSTS,
    GRIDS,
    PAPER,
    REPLICATION,
    ROWS,
    costs,
    effects,
    grids,
    main,
    tables,
)
from support.paths import ROOT

SMALL = {"grid": 40, "states": 7, "share": 0.6}


def parts(text: str) -> list[list[list[str]]]:
    """Return the cells of each row of all printed tables, without the lines below the heads."""
    found: list[list[list[str]]] = [[]]
    for line in text.splitlines():
        if not line.startswith("|"):
            found += [[]] if found[-1] else []
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not set("".join(cells)) <= {"-", ":"}:
            found[-1].append(cells)
    return [rows for rows in found if rows]


def solved(tau: float, **parameters: float | str) -> bl.FirmEconomy:
    found: bl.FirmEconomy = bl.solve(bl.hopenhayn_rogerson(tau=tau, **parameters), progress=False)  # type: ignore[arg-type]
    return found


def test_effects_are_compared_with_published_ones(capsys: pytest.CaptureFixture[str]) -> None:
    effects(SMALL, SMALL | {"exits": "after"})
    by_tau, by_row = parts(capsys.readouterr().out)
    assert by_tau[0][1:4] == ["paper, tau = 0", "paper, tau = 0.1", "paper, tau = 0.2"]
    table = {row[0]: row[1:] for row in by_tau[1:]}
    assert list(table) == list(ROWS) == list(PAPER) == list(REPLICATION)
    assert table["price"][:3] == ["1.000", "1.026", "1.048"]
    assert table["price"][6:9] == ["1.000", "1.021", "1.040"]
    ours, after = solved(0.2, **SMALL), solved(0.2, **SMALL, exits="after")
    assert (table["price"][5], table["price"][11]) == (f"{ours.price:.3f}", f"{after.price:.3f}")
    assert table["total employment"][5] == f"{100 * ours.employment / 0.6:.1f}"
    assert float(table["average productivity"][5]) == pytest.approx(
        100 * float(table["consumption (output)"][5]) / float(table["total employment"][5]), abs=0.2
    )
    assert table["utility-adjusted consumption"][5] == f"{100 * ours.welfare:.1f}"
    assert [row[0] for row in by_row[1:]] == list(BENCHMARK)
    free = solved(0.0, **SMALL)
    assert by_row[2] == ["exit rate of firms", ".39", f"{free.exit_rate:.2f}", ".30",
                         f"{solved(0.0, **SMALL, exits='after').exit_rate:.2f}"]  # fmt: skip
    hired = free.jobs_created * free.employment
    assert by_row[4][2] == f"{free.entrants * free.entrant_size / hired:.2f}"


def test_grids_and_costs_are_those_of_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    grids([("log", 30), ("uniform", 31)])
    ((_, log, uniform),) = parts(capsys.readouterr().out)
    assert (log[:2], uniform[:2]) == (["log", "30"], ["uniform", "31"])
    low = solved(0.1, grid=31, spacing="uniform")
    assert uniform[2] == f"{low.price:.5f}"
    assert uniform[6] == f"{100 * low.welfare:.2f}"
    assert uniform[9] == f"{low.jobs_created:.4f}"
    assert uniform[11] == " to ".join(f"{n:,.0f}" for n in low.bands[-1])
    costs([(20.0, 0.6)], grid=40, states=7)
    ((_, row),) = parts(capsys.readouterr().out)
    assert row[:3] == ["20", "0.6", f"{solved(0.1, grid=40, states=7, share=0.6, fixed_cost=20.0).price:.4f}"]


def test_an_unsolved_problem_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    costs([(0.0, 0.6)], grid=40, states=7)
    assert "tau = 0.1: There is no stationary distribution of firms" in capsys.readouterr().out


def test_the_finest_grid_and_another_device(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    monkeypatch.setattr("docs.tables.hopenhayn_rogerson.effects", lambda: None)
    monkeypatch.setattr("docs.tables.hopenhayn_rogerson.costs", lambda: None)
    monkeypatch.setattr("docs.tables.hopenhayn_rogerson.grids", asked.append)
    tables("emulator")
    assert capsys.readouterr().out == "On device cpu, the only one that these tables use.\n\n"
    assert main(["--points", "251"]) == 0
    assert asked == [GRIDS, [("log", 60), ("log", 250), ("uniform", 251)]]


def test_the_page_has_the_published_numbers_and_our_grids() -> None:
    page = (ROOT / "docs" / "hopenhayn-rogerson.md").read_text()
    found = {rows[0][0] + rows[0][1]: rows for rows in parts(page)}
    table = {row[0]: row[1:] for row in found["paper, tau = 0"][1:]}
    assert list(table) == list(ROWS)
    for name, (digits, _) in ROWS.items():
        assert table[name][:3] == [f"{value:.{digits}f}" for value in PAPER[name]]
        assert table[name][6:9] == [f"{value:.{digits}f}" for value in REPLICATION[name]]
    # As the page says, prices and turnover equal those of the replication in all printed digits.
    for name in ("price", "job turnover rate"):
        ours, theirs = ([float(cell) for cell in table[name][part]] for part in (slice(9, 12), slice(6, 9)))
        assert ours == pytest.approx(theirs, abs=0.011 if name != "price" else 1e-9)
    rows = found["without firing costspaper"]
    assert [[row[0], row[1], row[3]] for row in rows[1:]] == [[name, *BENCHMARK[name][:2]] for name in BENCHMARK]
    rows = found["fixed costentrants from the lowest"]
    assert [(float(row[0]), float(row[1])) for row in rows[1:]] == list(COSTS)
    rows = found["spacingpoints"]
    assert [(row[0], int(row[1].replace(",", ""))) for row in rows[1:]] == list(GRIDS)
    # As the page says: prices rest on log grids.
    log = [float(row[2]) for row in rows[1:] if row[0] == "log"]
    assert max(log) - min(log) < 1e-4
