"""Damaged files are refused in one sentence with the file's name, or still have their contents."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import beltline as bl
from beltline.host.cli.main import main
from support.files import WRITERS, content, small

DAMAGES = 1000
"""Number of damaged copies of each kind of file."""


def flip(rng: random.Random, data: bytearray) -> None:
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def flips(rng: random.Random, data: bytearray) -> None:
    for _ in range(rng.randrange(2, 20)):
        flip(rng, data)


def at_an_end(rng: random.Random, data: bytearray) -> None:
    """Change a byte near the beginning or the end, where directories and headers are."""
    reach = min(len(data), 400)
    place = rng.randrange(reach)
    data[place if rng.random() < 0.5 else -1 - place] = rng.randrange(256)


def cut(rng: random.Random, data: bytearray) -> None:
    del data[rng.randrange(len(data)) :]


def insert(rng: random.Random, data: bytearray) -> None:
    place = rng.randrange(len(data) + 1)
    data[place:place] = rng.randbytes(rng.randrange(1, 64))


def remove(rng: random.Random, data: bytearray) -> None:
    place = rng.randrange(len(data))
    del data[place : place + rng.randrange(1, 64)]


def blank(rng: random.Random, data: bytearray) -> None:
    place = rng.randrange(len(data))
    data[place : place + 512] = bytes(len(data[place : place + 512]))


def repeat(rng: random.Random, data: bytearray) -> None:
    place = rng.randrange(len(data))
    data[place:place] = data[place : place + 512]


WAYS: tuple[Callable[[random.Random, bytearray], None], ...] = (
    flip,
    flips,
    at_an_end,
    cut,
    insert,
    remove,
    blank,
    repeat,
)


@pytest.fixture(scope="module")
def result() -> bl.Result:
    return small()


@pytest.mark.parametrize("kind", WRITERS)
def test_damage_is_refused_or_harmless(result: bl.Result, tmp_path: Path, kind: str) -> None:
    path = WRITERS[kind](result, tmp_path)
    whole, expected = path.read_bytes(), content(kind, path, result)
    rng = random.Random(2024)
    refused = 0
    for number in range(DAMAGES):
        data = bytearray(whole)
        way = WAYS[number % len(WAYS)]
        way(rng, data)
        path.write_bytes(data)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found = content(kind, path, result)
        except bl.ProblemError as error:
            sentence = str(error)
            assert repr(str(path)) in sentence
            assert sentence.isprintable(), sentence
            refused += 1
        else:
            assert found == expected, (number, way.__name__)
    assert refused > 0.6 * DAMAGES


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
