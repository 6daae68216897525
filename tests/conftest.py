"""What all tests share."""

from __future__ import annotations

import signal

import pytest

pytest.register_assert_rewrite("support")


@pytest.fixture(scope="session", autouse=True)
def heard_interrupts() -> None:
    """Hear SIGINT, which a shell without job control ignores in all that it starts in the background."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
