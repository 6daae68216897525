"""Fixtures for all tests of the host: each test runs on one thread."""

from support.threads import one_thread

__all__ = ["one_thread"]
