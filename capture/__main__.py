"""``python -m capture``: see ``capture.cli``."""

import sys

from capture.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
