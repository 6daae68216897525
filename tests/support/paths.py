"""Where the project is."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The root of the checkout."""

TESTS = ROOT / "tests"
"""What the programs that tests start need on their path for ``support``."""
