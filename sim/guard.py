"""Runs a command, and ends it with all that it started once the process that asked for it is gone.

``python -I -S guard.py PARENT COMMAND ...``, where ``PARENT`` is the process number to look for, or 0 for whoever runs
this. A process that is killed cannot end what it started; this one, in a process group of its own, looks twice a second
whether it still has its parent. It needs nothing but POSIX, and imports nothing of the package.
"""

import os
import signal
import subprocess
import sys
import threading
import time

LOOK_SECONDS = 0.5
KILL_SECONDS = 3.0
"""What a tool has to end by itself after it was asked to, before it is killed."""


def main(arguments: list[str]) -> int:
    """Run the command and return its exit code, as a shell would."""
    parent = int(arguments[0]) or os.getppid()
    os.setpgid(0, 0)
    command = subprocess.Popen(arguments[1:])

    def end(*_: object) -> None:
        # The whole group, less this process.
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
    # Not by way of the interpreter's end, which waits for the timer.
    os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
