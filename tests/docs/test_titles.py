"""Titles of pages are distinct, so that readers can choose in the navigation."""

from __future__ import annotations

import re
from collections import Counter

from support.paths import ROOT


def test_names_of_pages_are_unique() -> None:
    pages = sorted((ROOT / "docs").rglob("*.md"))
    titles = {}
    for page in pages:
        found = re.search(r"^# (.+)$", page.read_text(encoding="utf-8"), re.M)
        assert found is not None, page
        titles[page] = found[1].strip()
    twice = {title for title, count in Counter(titles.values()).items() if count > 1}
    assert twice == set()
    assert len(pages) > 40
