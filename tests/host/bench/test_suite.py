"""The benchmarks: every row is present, agrees with the others, and is written; a row that cannot run says why."""

from __future__ import annotations

import json
import math
import re
import time
from pathlib import Path
from typing import Any

import pytest

from beltline.host.bench import energy, measure
from beltline.host.bench.rows import Row
from beltline.host.bench.suite import VARIANTS, bench
from beltline.host.bench.tables import markdown
from beltline.host.cli.main import main
from beltline.host.devices import DeviceError
from beltline.host.solver.solve import solve


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the results of a run without gateware, which takes a minute to compile, and the directory with its
    files.
    """
    out = tmp_path_factory.mktemp("bench")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measure, "REPEATS", 1)
        patch.setattr(measure, "ENOUGH", 0.0)
        patch.setattr("beltline.host.bench.throughput.SECONDS", 0.1)
        patch.setattr("beltline.host.bench.measure.solve", _without_gateware)
        # Processors with a power of 10 W.
        patch.setattr(energy, "processor_counters", lambda: [energy.Counter(lambda: 10.0 * time.perf_counter())])
        patch.setattr("beltline.gpu_ref.cuda.solver.available", lambda: "CUDA finds no device on this computer.")
        return bench(out, budget=1e3, seconds=1e4, grids=(16, 64)), out


def _without_gateware(*arguments: Any, device: str, **options: Any) -> Any:
    if device == "rtl":
        raise DeviceError("Yosys is not installed")
    return solve(*arguments, device=device, **options)


def test_rows(small: Any) -> None:
    rows = [Row(**row) for row in small[0]["rows"]]
    methods = {(row.device, row.method.split()[0]) for row in rows}
    engines = {("emulator", "line"), ("fpga", "line"), ("fpga", "sweep")}
    assert {("cpu", method) for method, _ in VARIANTS} | engines == methods
    assert all(row.agrees for row in rows)
    for row in rows:
        assert row.sweeps > 0
        assert row.total > 0
        assert row.kind == {"cpu": "measured", "emulator": "simulation", "fpga": "modelled"}[row.device]
        if row.device == "cpu":
            assert row.total == pytest.approx(row.allocate + row.load + row.solve + row.read)
        if row.method == "binary":
            assert row.ratio == 1.0
        if row.device == "fpga":
            source = "formula" if row.method == "line" else "clock model"
            assert re.search(rf"[\d,]+ clocks \({source}\) at 250 MHz", row.note)
    exact = [row for row in rows if row.method in ("warm", "grid") and row.grid == 64]
    assert len(exact) == 2
    assert {(row.sweeps, row.policy_differences, row.value_difference) for row in exact} == {(1353, 0, 0.0)}


def test_problems_a_second(small: Any) -> None:
    rows = {(row["device"], row["note"].split(",")[0]): row for row in small[0]["throughput"]}
    assert {("emulator", "one process"), ("cpu", "one process")} <= set(rows)
    (fpga,) = [row for (device, _), row in rows.items() if device == "fpga"]
    assert fpga["kind"] == "modelled"
    model = rows["emulator", "one process"]
    assert model["kind"] == "measured"
    assert fpga["problems"] == model["problems"] >= 4
    for row in small[0]["throughput"]:
        assert row["grid"] == 64
        assert row["per_second"] == pytest.approx(row["problems"] / row["seconds"])
    # X, Q, W, start, value and policy, one word per clock.
    words = model["problems"] * (64 + 16 + 4 * 64 * 4)
    clocks = int(fpga["note"].split()[0].replace(",", ""))
    assert f"{words:,} of transfers, at 250 MHz" in fpga["note"]
    assert fpga["seconds"] == pytest.approx((clocks + words) / 250e6)
    text = markdown(small[0])
    assert "## Problems a second" in text
    assert f"| fpga | line | 64 | {fpga['problems']} |" in text


def test_what_does_not_run_says_why(small: Any) -> None:
    assert small[0]["notes"] == ["gpu: CUDA finds no device on this computer.", "rtl: Yosys is not installed"]


def test_files(small: Any) -> None:
    result, out = small
    assert sorted(path.name for path in out.iterdir()) == ["bench.json", "bench.md"]
    read = json.loads((out / "bench.json").read_text())
    assert len(read["rows"]) == len(result["rows"])
    assert {"date", "processor", "cores", "python", "numba", "numpy", "beltline"} <= set(read["about"])
    text = (out / "bench.md").read_text()
    assert text == markdown(result)
    assert "| cpu | warm | 64 | 1,353 |" in text
    assert "NO" not in text


def test_wrong_answers_are_seen() -> None:
    given = measure.rbc(grid=64)
    run = measure.Bench(lambda line: None, 1.0, [64], math.inf)
    answer = run.answer(64)
    value, policy = answer.value.copy(), answer.policy.copy()
    assert measure.judge(given, value, policy, 1e-9, answer, False)[3]
    policy[10, 2] += 1
    assert measure.judge(given, value, policy, 1e-9, answer, False)[1::2] == (1, False)
    value[5, 1] += 1e-6
    assert not measure.judge(given, value, answer.policy, 1e-9, answer, False)[3]


def test_a_first_call_that_compiles_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither on the smallest grid nor on a larger one, where the method may run other code."""
    seen: list[int] = []

    def slow_at_first(given: Any, **options: Any) -> Any:
        seen.append(given.points)
        if seen.count(given.points) == 1:
            time.sleep(0.5)
        return solve(given, **options)

    monkeypatch.setattr(measure, "solve", slow_at_first)
    monkeypatch.setattr(measure, "QUICK", 0.25)
    monkeypatch.setattr(measure, "REPEATS", 1)
    monkeypatch.setattr(measure, "ENOUGH", 0.0)
    run = measure.Bench(lambda line: None, 1.0, [16, 64], math.inf)
    for grid in run.grids:
        run.rows.append(measure.reference_row(run, "cpu", "warm", {}, grid))
    assert seen == [16, 16, 64, 64]
    assert all(row.call < 0.25 for row in run.rows)


def test_what_does_not_fit_in_the_seconds_is_left_out() -> None:
    """Only one row is timed whatever the limit is, so that there is a table."""
    lines: list[str] = []
    result = bench(budget=1e3, seconds=1e-3, grids=(16, 64), report=lines.append)
    assert {(row["device"], row["grid"]) for row in result["rows"]} == {("emulator", 16), ("fpga", 16)}
    assert result["throughput"] == []
    notes = result["notes"]
    assert "emulator line: grids above 16 points do not fit in the time of the run" in notes
    assert "rtl: it takes about 60 s, more than were left in the run" in notes
    assert "problems a second: they take about 30 s, more than were left in the run" in notes
    assert [note for note in notes if note.startswith("cpu ")] == [
        f"cpu {method}: no time was left in the run"
        for method in ("warm", "mpi", "shift", "shift start=stay",
                       "shift start=coarse", "egm", "binary", "interp choices=100", "interp choices=1000",
                       "grid+howard", "grid")
    ]  # fmt: skip
    assert re.fullmatch(r"software models compiled or loaded in [\d.]+ s", lines[0])
    assert re.fullmatch(r"the run took \d+ s, of at most 0\.001 s", lines[-1])


def test_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    row = Row("cpu", "warm", 16, 4, 1353, 0, 0, 1e-3, 0, 1e-3, 1e-6, 2.0, 1e-10, 6e-9, 0, 0.0, True, "measured")
    result: dict[str, Any] = {"about": {"cores": 2}, "rows": [vars(row)], "notes": ["gpu: none"]}
    monkeypatch.setattr("beltline.host.bench.suite.bench", lambda *arguments: result)
    assert main(["bench", "--out", str(tmp_path)]) == 0
    assert "| cpu | warm | 16 | 1,353 | 0.0 us |" in capsys.readouterr().out
    result["rows"] = [{**vars(row), "agrees": False}]
    assert main(["bench"]) == 1


def test_every_row_has_the_time_from_call_to_return(small: Any) -> None:
    for row in (Row(**fields) for fields in small[0]["rows"]):
        assert row.call > row.solve > 0
        assert math.isnan(row.joules) if row.device == "fpga" else row.joules > 10.0 * row.solve / 2
        if row.device == "fpga":
            (around,) = re.findall(r"; ([\d.]+) ms of this computer around them", row.note)
            assert row.call == pytest.approx(row.solve + float(around) * 1e-3, rel=1e-2)
    assert "| total | call to return | joules |" in markdown(small[0])
