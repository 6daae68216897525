"""Run a command, and stop it with all its child processes when the parent process has ended.

Usage: ``python -I -S guard.py PARENT COMMAND ...``, where ``PARENT`` is the number of the parent process, or 0 for the
process that runs this one. A process that is killed cannot stop its children. This one, in its own process group,
checks twice a second whether its parent still runs. It needs only POSIX and imports nothing of the package.
"""

import os
import signal
import subprocess
import sys
import threading
import time

LOOK_SECONDS = 0.5
"""Seconds between two checks of the parent."""

KILL_SECONDS = 3.0
"""Seconds from SIGTERM to SIGKILL, in which the command can end in an orderly way."""


def main(arguments: list[str]) -> int:
    """Run the command; exits with its exit code, as a shell would report it."""
    parent = int(arguments[0]) or os.getppid()
    os.setpgid(0, 0)
    command = subprocess.Popen(arguments[1:])

    def end(*_: object) -> None:
        # Signal the whole process group except this process.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.killpg(0, signal.SIGTERM)
        threading.Timer(KILL_SECONDS, os.killpg, (0, signal.SIGKILL)).start()

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK_SECONDS)
        os.kill(os.getpid(), signal.SIGTERM)

    signal.signal(signal.SIGTERM, end)
    threading.Thread(target=look, daemon=True).start()
    code = command.wait()
    sys.stdout.flush()
    # A regular exit of the interpreter would wait for the timer.
    os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
