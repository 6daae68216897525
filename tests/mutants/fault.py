"""The description of a fault."""

from __future__ import annotations

from typing import NamedTuple


class Fault(NamedTuple):
    """A single mistake in the source, and the tests of the default suite that must find it.

    Attributes
    ----------
    what
        The mistake in a few words, different from that of any other fault.
    file
        Relative to the root.
    before, after
        Text that occurs exactly once in the file, and its replacement.
    tests
        Node ids of pytest: the fastest tests that find it.
    """

    what: str
    file: str
    before: str
    after: str
    tests: tuple[str, ...]
