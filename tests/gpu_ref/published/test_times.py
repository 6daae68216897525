"""The published times: the tables are complete, and the page has what the command prints."""

import json

import pytest

from beltline.gpu_ref.published import times as published_times
from beltline.gpu_ref.published.times import GRIDS, PAGE_BINARY, PAGE_GRIDS, PAGE_HOWARD, main, markdown
from support.paths import ROOT

DOCS = ROOT / "docs"
RESULTS = DOCS / "results" / "2026-11-21-h200.json"
CHECK = DOCS / "results" / "2026-11-21-h200-check.json"


@pytest.mark.parametrize(
    "name", ["START", "BINARY_GPU", "BINARY_CPU", "HOWARD_START", "HOWARD_GPU", "HOWARD_CPU", "BEST_RATIO"]
)
def test_a_column_has_every_grid(name):
    column = getattr(published_times, name)
    assert len(column) == len(GRIDS)
    # Times, printed to two decimals, rise with the grid except for noise.
    assert name in ("START", "HOWARD_START", "BEST_RATIO") or column[-1] == max(column)


def test_columns_of_the_web_page():
    for page in (PAGE_BINARY, PAGE_HOWARD):
        for column in page.values():
            assert len(column) == len(PAGE_GRIDS)
            assert column[-1] == max(column)


def test_table_7_is_made_of_tables_3_and_6():
    for gpu, cpu, ratio in zip(
        published_times.BINARY_GPU, published_times.HOWARD_CPU, published_times.BEST_RATIO, strict=True
    ):
        assert gpu / cpu == pytest.approx(ratio, rel=0.01, abs=6e-4)


def test_the_page_has_what_the_command_prints(capsys):
    main([str(RESULTS), str(CHECK)])
    printed = capsys.readouterr().out
    assert printed.strip() in (DOCS / "baselines.md").read_text()


def test_a_result_without_a_graphics_card_leaves_gaps():
    rows = [row for row in json.loads(RESULTS.read_text())["rows"] if row["device"] == "cpu"]
    text = markdown({"rows": rows})
    assert "| 16 | 0.03 | 1.42 | 47.3 | " in text
    assert "|  |" in text


def test_the_differences_that_are_listed_are_ties():
    lines = (DOCS / "results" / "2026-11-21-h200-differences.csv").read_text().splitlines()[1:]
    gaps = [float(line.rsplit(",", 1)[1]) for line in lines]
    checks = json.loads(CHECK.read_text())["checks"][0]
    counts = [
        one["states whose policy differs"] for name, one in checks.items() if name.startswith(("shift", "macqueen"))
    ]
    assert len(gaps) == sum(counts)
    assert max(gaps) < 1e-10
