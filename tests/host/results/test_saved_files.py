"""Files written so far keep loading: those of ``tests/yardstick/files``, of every kind."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from yardstick.saved import CHECKPOINT, FACTS, FOLDER, STORE, checkpoint_facts, facts_of, store_facts

import beltline as bl

RECORDED = json.loads(FACTS.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", sorted(set(RECORDED) - {CHECKPOINT, STORE}))
def test_a_file_holds_what_was_saved(name: str) -> None:
    if name.endswith(".nc"):
        pytest.importorskip("h5netcdf")
    assert facts_of(bl.load(FOLDER / name)) == RECORDED[name]


def test_a_run_continues_from_a_checkpoint_of_before(tmp_path: Path) -> None:
    assert checkpoint_facts(Path(shutil.copy(FOLDER / CHECKPOINT, tmp_path))) == RECORDED[CHECKPOINT]
    assert not (tmp_path / CHECKPOINT).exists()


def test_a_store_of_before_has_its_results(tmp_path: Path) -> None:
    shutil.copytree(FOLDER / STORE, tmp_path / STORE)
    assert store_facts(tmp_path / STORE) == RECORDED[STORE]


def test_every_file_is_recorded() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(RECORDED)
