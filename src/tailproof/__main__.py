"""`python -m tailproof` is the command line."""

import sys

from tailproof.cli import main

sys.exit(main())
