"""The store: files are complete or absent, and are found again by the problem that was solved."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import beltline as bl
from beltline.host.batch.store import INDEX, LOCK, MARK, Store, key
from beltline.host.results.files import PART
from support.batches import TOL, many, tiny
from support.paths import ROOT, TESTS

OPTIONS: dict[str, Any] = {"tol": TOL}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "runs")
    with store.writing():
        for number in range(3):
            problem = tiny(number)
            store.put(key(problem, OPTIONS), bl.solve(problem, TOL, progress=False, device="emulator"))
    return store


DAMAGED = r"is not a file that this store wrote \(it .*\): delete it, and its problem is solved again$"


def test_a_stored_result_is_read_bit_for_bit(store: Store) -> None:
    problem = tiny(1)
    expected = bl.solve(problem, TOL, progress=False, device="emulator")
    for found in (store.get(key(problem, OPTIONS), problem), store.load(key(problem, OPTIONS))):
        assert found is not None
        np.testing.assert_array_equal(found.value, expected.value)
        np.testing.assert_array_equal(found.policy, expected.policy)
        assert found.status == expected.status
        assert found.sweeps == expected.sweeps
        assert found.error_bound == expected.error_bound
        np.testing.assert_array_equal(found.problem.wealth, problem.wealth)
    assert isinstance(bl.load(store.file(key(problem, OPTIONS))), bl.Result)


def test_a_missing_result_is_none(store: Store) -> None:
    problem = tiny(7)
    assert key(problem, OPTIONS) not in store
    assert store.get(key(problem, OPTIONS), problem) is None
    with pytest.raises(bl.ProblemError, match=r"has no result '0+\.\.\.$"):
        store.load("0" * 64)
    with pytest.raises(bl.ProblemError, match=r"^key must be the 64 hexadecimal digits of a result, not 'abc'$"):
        store.load("abc")


def test_the_key_is_that_of_what_solvers_read() -> None:
    problem = bl.rbc(16, 2)
    same = key(problem, OPTIONS)
    assert key(replace(problem, name="other", labels=(), parameters={}, output=None), OPTIONS) == same
    changed = [
        replace(problem, beta=0.9),
        replace(problem, eta=1.0),
        replace(problem, horizon=3),
        replace(problem, grid=problem.grid * 1.000001),
        replace(problem, wealth=problem.wealth * 1.000001),
        replace(problem, start=problem.start * 1.000001),
        replace(problem, transition=problem.transition[::-1]),
    ]
    keys = {key(other, OPTIONS) for other in changed} | {key(problem, {"tol": 1e-4}), same}
    assert len(keys) == len(changed) + 2


def test_a_file_under_another_name_is_not_its_result(store: Store) -> None:
    one, other = key(tiny(0), OPTIONS), key(tiny(9), OPTIONS)
    store.file(other).parent.mkdir(exist_ok=True)
    store.file(other).write_bytes(store.file(one).read_bytes())
    with pytest.raises(bl.ProblemError, match=DAMAGED):
        store.get(other, tiny(9))


def test_what_a_killed_writer_left_is_cleared_away(store: Store) -> None:
    folder = next(path for path in store.path.iterdir() if path.is_dir())
    part = folder / PART.format("0123456789abcdef")
    part.write_bytes(b"half")
    assert len(store) == 3
    with store.writing():
        assert not part.exists()
    assert len(store) == 3


def test_the_index_is_rebuilt_from_the_files(store: Store) -> None:
    index = store.path / INDEX
    before = sorted(store.index(), key=lambda line: line["key"])
    assert [line["beta"] for line in sorted(before, key=lambda line: line["eta"])] == [tiny(i).beta for i in range(3)]
    lines = index.read_text().splitlines(keepends=True)
    for text in ("", "".join(lines[:2]), "".join(lines[:2]) + lines[2][:20], "nonsense\n"):
        index.write_text(text)
        assert sorted(store.index(), key=lambda line: line["key"]) == before
        with store.writing():
            pass
        assert sorted(map(json.loads, index.read_text().splitlines()), key=lambda line: line["key"]) == before


PLANT: dict[str, Any] = {
    "link": lambda planted, victim: planted.symlink_to(victim),
    "hard link": lambda planted, victim: planted.hardlink_to(victim),
    "pipe": lambda planted, victim: os.mkfifo(planted),
}


@pytest.mark.parametrize("name", [INDEX, LOCK, MARK])
@pytest.mark.parametrize("kind", PLANT)
def test_a_file_that_others_planted_is_not_followed(store: Store, tmp_path: Path, name: str, kind: str) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious\n")
    planted = store.path / name
    planted.unlink()
    PLANT[kind](planted, victim)
    with (
        pytest.raises(bl.ProblemError, match=rf"has a {name} that leads elsewhere, .*: delete it, or"),
        store.writing(),
    ):
        pass
    assert len(store.index()) == 3
    assert victim.read_text() == "precious\n"
    planted.unlink()
    with store.writing():
        # Planted after the batch has begun.
        if name == INDEX:
            planted.unlink()
            PLANT[kind](planted, victim)
            # The line is missing, and made again by the next batch that can write it.
            store.put("ab" * 32, bl.solve(tiny(5), TOL, progress=False, device="emulator"))
    assert victim.read_text() == "precious\n"


def test_a_folder_that_others_planted_is_not_followed(store: Store, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    with store.writing():
        (store.path / "ab").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(OSError, match="it is a link"):
            store.put("ab" * 32, bl.solve(tiny(5), TOL, progress=False, device="emulator"))
    with pytest.raises(bl.ProblemError, match="has a ab that leads elsewhere"), store.writing():
        pass
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("kind", PLANT)
def test_a_mark_that_others_planted_is_not_read(store: Store, tmp_path: Path, kind: str) -> None:
    (store.path / MARK).rename(tmp_path / MARK)
    PLANT[kind](store.path / MARK, tmp_path / MARK)
    with pytest.raises(bl.ProblemError, match=f"has a {MARK} that was not written by Beltline"):
        Store(store.path)


def test_one_batch_at_a_time_writes(store: Store) -> None:
    with (
        store.writing(),
        pytest.raises(bl.ProblemError, match=r"is being written to by another batch$"),
        Store(store.path).writing(),
    ):
        pass
    with store.writing():
        pass


def test_a_stopped_run_is_not_stored(store: Store) -> None:
    problem = tiny(9)
    result = replace(bl.solve(problem, TOL, progress=False, device="emulator"), status="stopped", success=False)
    with store.writing():
        store.put(key(problem, OPTIONS), result)
    assert key(problem, OPTIONS) not in store


def test_other_directories_are_no_stores(tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "dear.txt").write_text("...")
    (tmp_path / "file").write_text("...")
    (tmp_path / "older").mkdir()
    (tmp_path / "older" / MARK).write_text('{"format": 1}')
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / MARK).write_text("{")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / MARK).write_text("[" * 100_000)
    (tmp_path / "empty").mkdir()
    for name, sentence in (
        ("letters", f"is a directory with other files and without {MARK}: name a new or empty one"),
        ("file", "is a file, not a directory"),
        ("older", "has format 1, not 2: name a new one"),
        ("broken", f"has a {MARK} that was not written by Beltline: name a new or empty directory"),
        ("deep", f"has a {MARK} that was not written by Beltline: name a new or empty directory"),
        ("no/where", "is in a directory that does not exist"),
    ):
        with pytest.raises(bl.ProblemError, match=re.escape(f"store {str(tmp_path / name)!r} {sentence}") + "$"):
            bl.solve_many(many(1), TOL, store=tmp_path / name, device="emulator")
    assert len(Store(tmp_path / "empty")) == 0
    with pytest.raises(bl.ProblemError, match=r"^store must be the path of a directory, not 3$"):
        Store(3)  # type: ignore[arg-type]


CLIENT = """
import sys
sys.path.insert(0, sys.argv[2])
import numba
numba.set_num_threads(1)
import beltline as bl
from beltline.host.results.files import PART
from support.batches import TOL, many
for attempt in bl.solve_many(many(400, 64), TOL, store=sys.argv[1], progress=False, device="emulator"):
    pass
"""


def test_a_client_that_is_killed_repeats_nothing_that_was_stored(tmp_path: Path) -> None:
    path = tmp_path / "runs"
    client = subprocess.Popen([sys.executable, "-c", CLIENT, str(path), str(TESTS)], cwd=ROOT)
    try:
        end = time.monotonic() + 60
        while len(Store(path)) < 5 if path.exists() and (path / MARK).exists() else True:
            assert client.poll() is None, "it ended before it was killed"
            assert time.monotonic() < end
            time.sleep(0.01)
    finally:
        client.kill()
        client.wait()
    before = set(Store(path).keys())
    written = {name: Store(path).file(name).stat().st_mtime_ns for name in before}
    assert 5 <= len(before) < 400
    attempts = list(bl.solve_many(many(len(before) + 10, 64), TOL, store=path, progress=False, device="emulator"))
    assert all(attempt.success for attempt in attempts)
    assert {attempt.key for attempt in attempts if attempt.stored} == before & {one.key for one in attempts}
    # Problems were solved in order, so all stored ones were requested again.
    assert sum(attempt.stored for attempt in attempts) == len(before)
    assert {name: Store(path).file(name).stat().st_mtime_ns for name in before} == written
    assert not [name for name in os.listdir(path) if name.startswith(".")]
