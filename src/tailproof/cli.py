"""The command line: `tailproof COMMAND ...`.

Building the parser imports only the commands' arguments; a command imports its work when it runs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tailproof import __version__
from tailproof.experiments import cli as reproduce
from tailproof.tails import cli as diagnose
from tailproof.theory import cli as bounds
from tailproof.tune import cli as tune


def _demo(arguments: argparse.Namespace) -> int:
    from tailproof import demo

    return demo.main(arguments.out)


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    result = argparse.ArgumentParser(
        prog="tailproof",
        description="Find the choice with the best mean payoff when payoffs are heavy-tailed.",
    )
    result.add_argument("--version", action="version", version=f"tailproof {__version__}")
    commands = result.add_subparsers(dest="command", required=True, metavar="COMMAND")
    demo = commands.add_parser("demo", help="tune a small program, run the paper's panels")
    demo.add_argument(
        "--out",
        type=Path,
        default=Path("out/demo"),
        metavar="DIR",
        help="folder for the results, emptied first (default: %(default)s)",
    )
    demo.set_defaults(run=_demo)
    for command in (tune, reproduce, diagnose, bounds):
        command.add_parser(commands)
    return result


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    arguments = parser().parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except (ValueError, OSError, ImportError) as error:
        print(f"tailproof {arguments.command}: {error}", file=sys.stderr)
        return 2
