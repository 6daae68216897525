"""Published and own statistics of Arellano's economy: the chain, the samples, and the page."""

from __future__ import annotations

import numpy as np
import pytest

from beltline.host.analysis.chain import chain_distribution
from beltline.host.models.arellano.business_cycle import DEFAULTED, OUT, REPAID, follow
from docs.tables.arellano_paper import (
    CASES,
    QUADRATURE,
    SAMPLED,
    STATISTICS,
    WINDOW,
    economy,
    statistics,
    table,
    tauchen_hussey,
)  # fmt: skip
from support.paths import ROOT


def cells(text: str) -> list[list[str]]:
    """Return the cells of each row of the printed table, the head first, without the line below it."""
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    return [line for line in lines if not set("".join(line)) <= {"-", ":"}]


def test_the_quadrature_has_the_moments_of_the_process() -> None:
    grid, chain = tauchen_hussey(15, 0.5, 0.1)
    assert np.allclose(chain.sum(axis=1), 1.0, rtol=0, atol=1e-14)
    assert np.allclose(chain @ grid, 0.5 * grid, rtol=0, atol=2e-5)
    shares = chain_distribution(chain)
    assert shares @ grid**2 == pytest.approx(0.1**2 / (1 - 0.5**2), rel=1e-4)
    # With the high persistence of the paper, 21 nodes have a standard deviation that is some 3% too low.
    grid, chain = tauchen_hussey(21, 0.945, 0.025)
    assert np.sqrt(chain_distribution(chain) @ grid**2) == pytest.approx(
        0.974 * 0.025 / np.sqrt(1 - 0.945**2), rel=1e-3
    )


def test_statistics_are_those_of_the_quarters_before_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docs.tables.arellano_paper.QUARTERS", 20_000)
    found = economy("even", 7, 61)
    by_sample, (output, defaults) = statistics(found, 10, seed=3)
    assert by_sample.shape == (10, SAMPLED)
    random = np.random.default_rng(3)
    begin = chain_distribution(found.model.chain[1])
    what, points, states = follow(found.choices, random.choice(begin.size, p=begin), random.random((20_000, 2)))
    assert set(what.tolist()) == {REPAID, DEFAULTED, OUT}
    assert defaults == 400 * (what == DEFAULTED).sum() / what.size
    lost = 100 * (found.model.default_income / found.model.mean_income - 1)
    assert output == pytest.approx(lost[states[what != REPAID]].mean())
    ends = [t for t in np.flatnonzero(what == DEFAULTED) if (what[t - WINDOW : t] == REPAID).all() and t >= WINDOW]
    for row, end in zip(by_sample, ends, strict=False):
        quarters = slice(end - WINDOW, end)
        spread = 100 * found.spreads[found.policy[points[quarters], states[quarters]], states[quarters]]
        logs = np.log(found.income[states[quarters]])
        left = logs - np.polyval(np.polyfit(np.arange(WINDOW), logs, 1), np.arange(WINDOW))
        debt = -100 * found.bonds[points[quarters]] / found.income[states[quarters]]
        wanted = {
            "mean spread, percent per year": spread.mean(),
            "sd of output, percent": 100 * logs.std(),
            "the same, less its linear trend": 100 * left.std(),
            "correlation of spread and output": np.corrcoef(spread, logs)[0, 1] if spread.std() > 0 else np.nan,
            "mean debt, percent of output": debt.mean(),
            "the same, of the quarters with debt": debt[debt > 0].mean() if (debt > 0).any() else np.nan,
            "spread in the last quarter": spread[-1],
            "output in the quarter of default, percent": lost[states[end]],
            "the same, relative to its sample": 100 * (np.log(found.model.default_income[states[end]]) - logs.mean()),
        }
        for name, value in wanted.items():
            assert row[list(STATISTICS).index(name)] == pytest.approx(value, abs=1e-9, nan_ok=True), name


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:Degrees of freedom")
def test_published_statistics_stand_beside_ours(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("docs.tables.arellano_paper.QUARTERS", 20_000)
    table([(QUADRATURE, 7, 61)], samples=5)
    head, *lines = cells(capsys.readouterr().out)
    assert head == ["incomes x bonds", "paper, 21 x 200", "7 x 61, quadrature"]
    assert [(name, float(printed)) for name, printed, _ in lines] == list(STATISTICS.items())


def test_the_page_has_the_published_statistics() -> None:
    page = (ROOT / "docs" / "arellano.md").read_text()
    head, *lines = cells(page[page.index("| incomes x bonds | paper") :].split("\n\n")[0])
    names = [f"{incomes} x {bonds:,}{', quadrature' if chain == QUADRATURE else ''}" for chain, incomes, bonds in CASES]
    assert head[2:] == names
    assert [(line[0], float(line[1])) for line in lines] == list(STATISTICS.items())
