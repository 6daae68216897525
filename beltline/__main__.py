"""The command line, as ``python -m beltline`` and ``beltline`` start it."""

import sys

from beltline.host.cli import interrupts, output


def run() -> int:
    """Run the command line as a program, and return its exit code."""
    # Before all other imports, which take a moment in which Ctrl-C must work, too.
    handled = interrupts.hear()
    output.occupy()
    from beltline.host.cli.main import main

    code = main()
    if handled:
        interrupts.end_work(code)
    return code


if __name__ == "__main__":
    sys.exit(run())
