"""Where the project's files are."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The root of the checkout."""

TESTS = ROOT / "tests"
"""Folder that programs started by tests need on their path to import ``support``."""
