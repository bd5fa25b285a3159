"""`python -m tailproof` is the command line."""

import sys

from tailproof.cli import main

if __name__ == "__main__":
    sys.exit(main())
