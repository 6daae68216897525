"""Paths of the project's files."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""Root of the repository."""

TESTS = ROOT / "tests"
"""Folder that programs started by tests need on their path to import ``support``."""
