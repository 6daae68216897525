"""``python -m beltline`` is the command line."""

import sys

from beltline.host.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
