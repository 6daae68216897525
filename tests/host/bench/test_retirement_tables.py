"""The tables of the page on retirement print the model's numbers, which agree with the published ones."""

from __future__ import annotations

import numpy as np
import pytest

import beltline as bl
from beltline.host.models.retirement.closed_form import ClosedForm
from docs.tables import retirement as retirement_tables
from docs.tables.retirement import (
    DCEGM,
    FIVE,
    Errors,
    beside_dcegm,
    errors,
    five_ages,
    late_choices,
    tables,
    thresholds,
)
from support.paths import ROOT


def rows(text: str) -> list[list[str]]:
    """Return the cells of each row of the printed table, except the head."""
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    return [line for line in lines if not set("".join(line)) <= {"-", ":"}][1:]


def test_published_values_are_met_to_rounding(capsys: pytest.CaptureFixture[str]) -> None:
    exact = ClosedForm(ages=5, wage=20.0, disutility=1.0, beta=0.98)
    for (age, place), printed in FIVE.items():
        assert float(exact.value(age, np.linspace(1.0, 400.0, 100)[place])) == pytest.approx(printed, abs=1e-13)
    five_ages(grid=3_000)
    for row, printed in zip(rows(capsys.readouterr().out), FIVE.values(), strict=True):
        assert row[2] == row[3] == f"{printed:.12f}"
        assert float(row[4]) == pytest.approx(printed, abs=2e-3)


def test_values_and_probabilities_are_those_of_dcegm(capsys: pytest.CaptureFixture[str]) -> None:
    beside_dcegm(grid=5_000)
    printed = rows(capsys.readouterr().out)
    assert len(printed) == len(DCEGM)
    for row, known in zip(printed, DCEGM, strict=True):
        work, retire, works = (float(row[k]) for k in (3, 5, 7))
        # On 500 even points of savings dcegm has errors of up to 4e-3 where savings are small; its file explains this.
        assert work == pytest.approx(known.work, abs=2e-4)
        assert retire == pytest.approx(known.retire, abs=5e-3)
        assert works == pytest.approx(known.works, abs=3e-4)


def test_thresholds_are_those_of_theorem_1(capsys: pytest.CaptureFixture[str]) -> None:
    thresholds(grid=2_000, ages=(1, 19))
    first, last = rows(capsys.readouterr().out)
    for row, wanted in ((first, 322.4923), (last, 30.4382)):
        assert row[1] == row[2]
        assert float(row[1]) == pytest.approx(wanted, abs=1e-4)
        assert float(row[3]) == pytest.approx(wanted, rel=0.01)


def test_errors_and_choices_are_those_of_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    errors([400])
    ((grid, worker, *_),) = rows(capsys.readouterr().out)
    found = Errors.of(bl.solve(bl.retirement(grid=400), progress=False))
    assert (grid, worker) == ("400", f"{found.worker:.1e}")
    late_choices(grid=2_000, tastes=(0.1,))
    for row in rows(capsys.readouterr().out):
        assert float(row[3]) == pytest.approx(float(row[2]), abs=2e-4)


def test_another_device_is_not_passed_over(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("thresholds", "five_ages", "errors", "late_choices", "beside_dcegm"):
        monkeypatch.setattr(retirement_tables, name, lambda: None)
    tables("emulator")
    assert capsys.readouterr().out == "On device cpu, the only one that these tables use.\n\n"


def test_the_page_has_the_published_numbers() -> None:
    page = (ROOT / "docs" / "retirement.md").read_text()
    table = rows(page[page.index("| age | wealth | published") :].split("\n\n")[0])
    assert [row[2] for row in table] == [f"{printed:.12f}" for printed in FIVE.values()]
    table = rows(page[page.index("| period | wealth | value of working") :].split("\n\n")[0])
    assert [row[2] for row in table] == [f"{row.work:.5f}" for row in DCEGM]
    found = rows(page[page.index("| grid points | worker's value") :].split("\n\n")[0])
    assert [int(row[0].replace(",", "")) for row in found] == list(retirement_tables.GRIDS)
    assert float(found[-1][1]) < 1e-6
    assert float(found[-1][2]) < 1e-6
