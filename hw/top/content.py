"""The content hash of a machine's Verilog, by which drivers know a build; computed without Amaranth.

The hash that the registers report is in a module of its own, ``beltline_build.v``, which is not hashed itself.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

BUILD_MODULE = "beltline_build"
"""Name of the Verilog module that contains the content hash of all other modules."""

BUILD_FILE = f"{BUILD_MODULE}.v"


def content_hash(files: Mapping[str, str]) -> int:
    """Return the first 64 bits of the SHA-256 of the names and texts of ``files``, without comments and blank lines.

    Comments are left out because Yosys writes its own version and compiler into one.
    """
    digest = hashlib.sha256()
    for name in sorted(files):
        text = re.sub(r"/\*.*?\*/|//[^\n]*", "", files[name], flags=re.S)
        lines = [line.rstrip() for line in text.splitlines() if line.strip()]
        digest.update("\n".join([name, *lines, "\0"]).encode())
    return int(digest.hexdigest()[:16], 16)


def build_hash(files: Mapping[str, str]) -> str:
    """Return the build hash that generated Verilog reports, 16 hexadecimal digits.

    Raises
    ------
    ValueError
        It reports none.
    """
    found = re.search(r"64'h([0-9a-f]{16});", files.get(BUILD_FILE, ""))
    if found is None:
        raise ValueError(f"{BUILD_FILE} of the Verilog holds no build hash of 16 hexadecimal digits")
    return found[1]


def hash_of(files: Mapping[str, str]) -> str:
    """Return the content hash of the files, 16 hexadecimal digits, independent of the hash that they report."""
    return f"{content_hash({name: text for name, text in files.items() if name != BUILD_FILE}):016x}"


def intact(files: Mapping[str, str]) -> bool:
    """Return whether the Verilog reports the content hash that it has."""
    return f"64'h{hash_of(files)};" in files.get(BUILD_FILE, "")
