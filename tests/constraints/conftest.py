"""Fixtures that write the directories of boards and run their scripts."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.vivado_projects import Builds, Write, builder, writer


@pytest.fixture
def written(tmp_path: Path) -> Write:
    return writer(tmp_path)


@pytest.fixture
def built(written: Write) -> Builds:
    return builder(written)
