"""What a fault is."""

from __future__ import annotations

from typing import NamedTuple


class Fault(NamedTuple):
    """One mistake that somebody could make, and the tests of the default suite that must find it.

    Attributes
    ----------
    what
        The mistake in a few words, unlike that of any other fault.
    file
        Relative to the root.
    before, after
        Text that occurs once in the file, and what is put in its place.
    tests
        Node ids of pytest, the quickest that find it.
    """

    what: str
    file: str
    before: str
    after: str
    tests: tuple[str, ...]
