"""The tables of the page on Arellano's economy print the numbers of the model; tested at small sizes."""

from __future__ import annotations

import pytest

import beltline as bl
from beltline.host.models.arellano.business_cycle import MOMENTS
from docs.tables.arellano import GRIDS, TIMES, Published, moments, tables, times
from support.paths import ROOT


def rows(text: str) -> list[list[str]]:
    """Return the cells of each row of the printed table, the head first, without the line below it."""
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    return [line for line in lines if not set("".join(line)) <= {"-", ":"}]


def test_times_are_compared_with_published_ones(capsys: pytest.CaptureFixture[str]) -> None:
    times([Published(7, 40, 12.4, None, 3, "GTX 780")])
    head, row = rows(capsys.readouterr().out)
    assert head == ["incomes x bonds", "C++, s", "Julia, s", "GPU, s", "here, s", "sweeps"]
    assert row[:4] == ["7 x 40", "12", "-", "3 (GTX 780)"]
    assert 0 < float(row[4]) < 60
    assert int(row[5]) == bl.solve(bl.arellano(bonds=41, incomes=7), tol=1e-6, progress=False).solution.sweeps


@pytest.mark.filterwarnings("ignore:moments of a result that is not solved")
def test_moments_are_those_of_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    moments([(21, 5), (41, 7)], paths=4, periods=800)
    text = capsys.readouterr().out
    assert text.startswith("21 x 5: A government that starts without debt chooses an end of the grid of bonds, 0.45 ")
    head, *lines = rows(text)
    assert head == ["bonds x incomes", "21 x 5", "41 x 7", "41 x 7, 74 quarters before a default"]
    economy = bl.solve(bl.arellano(bonds=41, incomes=7), tol=1e-6, progress=False)
    all_quarters = economy.moments(paths=4, periods=800)
    before = economy.moments(paths=4, periods=800, before_default=74)
    assert [line[0] for line in lines] == list(MOMENTS.values())
    for name, line in zip(MOMENTS, lines, strict=True):
        for cell, of in zip(line[2:], (all_quarters, before), strict=True):
            assert cell == f"{of.values[name]:.3f} ({of.errors[name]:.1g})"


def test_another_device_is_not_passed_over(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("times", "paper", "moments"):
        monkeypatch.setattr(f"docs.tables.arellano.{name}", lambda: None)
    tables("emulator")
    assert capsys.readouterr().out == "On device cpu, the only one that these tables use, to 1e-06.\n\n"


def test_the_page_has_the_published_times_and_our_grids() -> None:
    page = (ROOT / "docs" / "arellano.md").read_text()
    printed = rows(page[page.index("| incomes x bonds | C++") :].split("\n\n")[0])[1:]
    wanted = [
        [f"{row.incomes} x {row.bonds:,}"]
        + ["-" if spent is None else f"{spent:,.0f}" for spent in (row.cpp, row.julia)]
        + [f"{row.gpu:,.0f} ({row.card})"]
        for row in TIMES
    ]
    assert [line[:4] for line in printed] == wanted
    head, *lines = rows(page[page.index("| bonds x incomes") :].split("\n\n")[0])
    assert head[1:-1] == [f"{bonds:,} x {incomes}" for bonds, incomes in GRIDS]
    assert [line[0] for line in lines] == list(MOMENTS.values())
    # As the page says: it falls with finer grids, by a quarter from the second to the fourth.
    sd = [float(cell.split()[0]) for cell in lines[1][1:-1]]
    assert sd == sorted(sd, reverse=True)
    assert sd[3] / sd[1] == pytest.approx(0.75, abs=0.02)
