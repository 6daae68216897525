"""``python -m beltline`` and ``beltline`` are the command line."""

import sys

from beltline.host.cli import interrupts


def run() -> int:
    """Run the command line as a program, and return its exit code."""
    # Before all other imports, which take a moment.
    heard = interrupts.hear()
    from beltline.host.cli.main import main

    code = main()
    if heard:
        interrupts.end_work(code)
    return code


if __name__ == "__main__":
    sys.exit(run())
