"""Run tests on one thread: their problems are too small for several."""

from __future__ import annotations

from collections.abc import Iterator

import numba
import pytest


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """A fixture for modules that import it: each test runs on one thread of Numba."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(before)
