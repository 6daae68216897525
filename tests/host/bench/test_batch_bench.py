"""The measurements of batches, with small sizes."""

from __future__ import annotations

import re

import pytest

from docs.tables import batch_bench
from docs.tables.batch_bench import main


def test_many_small_problems(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    # Times are not tested: the computer may be busy.
    monkeypatch.setattr(batch_bench, "OVERHEAD", 10.0)
    assert main(["--problems", "300", "--sweeps", "5"]) == 0
    text = capsys.readouterr().out
    assert re.match(r"300 problems of 16 x 2 points, 5 sweeps each, on emulator: [\d.]+ s; order True\n", text)
    assert len(re.search(r"MiB: ([\d. ]+);", text)[1].split()) == 10  # type: ignore[index]
    monkeypatch.setattr(batch_bench, "OVERHEAD", 0.0)
    assert main(["--problems", "10", "--sweeps", "5"]) == 1


@pytest.mark.parametrize(
    ("options", "kind"), [([], "worker"), pytest.param(["--dask"], "Dask worker", marks=pytest.mark.slow)]
)
def test_one_worker_and_two(
    options: list[str], kind: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["--speedup", "--grid", "16", "--large", "4", "--repeats", "1", *options]
    monkeypatch.setattr(batch_bench, "SPEEDUP", 0.0)
    assert main(arguments) == 0
    assert f"s on one {kind}, " in capsys.readouterr().out
    monkeypatch.setattr(batch_bench, "SPEEDUP", 99.0)
    assert main(arguments) == 1
