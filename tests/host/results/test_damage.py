"""Damaged files are refused in one sentence with the file's name, or still have their contents."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

import beltline as bl
from beltline.host.cli.main import main
from support.damage import SEALS, WAYS, damaged, read
from support.files import WRITERS, content, small

DAMAGES = 1000
"""Number of damaged copies of each kind of file."""


@pytest.fixture(scope="module")
def result() -> bl.Result:
    return small()


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("seal", SEALS)
def test_damage_is_refused_or_harmless(result: bl.Result, tmp_path: Path, kind: str, seal: str) -> None:
    path = WRITERS[kind](result, tmp_path)
    whole, expected = path.read_bytes(), content(kind, path, result)
    rng = random.Random(2024)
    found: Counter[str] = Counter()
    # A process reads each netCDF file whose checksum is right.
    damages = DAMAGES if not seal else 40 if kind == "nc" else 200
    for number in range(damages):
        path.write_bytes(damaged(rng, kind, whole, seal, WAYS[number % len(WAYS)]))
        found[read(kind, path, result, expected, seal)] += 1
    assert set(found) <= {"refused", "harmless", *(["changed"] if seal == "content" else [])}, found
    assert found["refused"] > 0.3 * damages


@pytest.mark.parametrize("suffix", ["npz", "nc"])
def test_a_damaged_file_is_not_drawn(
    result: bl.Result, tmp_path: Path, capsys: pytest.CaptureFixture[str], suffix: str
) -> None:
    path = result.save(tmp_path / f"a.{suffix}")
    whole = path.read_bytes()
    for data in (b"", whole[:100], whole[: len(whole) // 2], whole[:1000] + b"\x00" * 500 + whole[1500:]):
        path.write_bytes(data)
        assert main(["plot", str(path)]) == 2
        heard = capsys.readouterr()
        assert heard.out == ""
        assert heard.err.startswith(f"beltline plot: {str(path)!r} is damaged or was ")
        assert heard.err.count("\n") == 1
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
