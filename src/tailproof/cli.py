"""The command line: `tailproof COMMAND ...`.

Building the parser imports only the commands' arguments; a command imports its work when it runs.
This module imports next to nothing, so that Ctrl-C is handled from the beginning.
"""

from __future__ import annotations

import signal
import sys

from tailproof._util.interrupts import INTERRUPTED, exit_on_interrupt

TYPE_CHECKING = False  # as in `typing`, whose import takes longer than all others here
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence


def _demo(arguments: argparse.Namespace) -> int:
    """Run the command `demo`."""
    from tailproof import demo

    return demo.main(arguments.out)


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    import argparse
    from pathlib import Path

    from tailproof import __version__
    from tailproof.bandits import cli as bandit
    from tailproof.comparison import cli as compare
    from tailproof.experiments import cli as reproduce
    from tailproof.tails import cli as diagnose
    from tailproof.theory import cli as bounds
    from tailproof.tune import cli as tune

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
    for command in (tune, compare, bandit, reproduce, diagnose, bounds):
        command.add_parser(commands)
    return result


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    with exit_on_interrupt("tailproof"):
        arguments = parser().parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except KeyboardInterrupt:
        print(f"tailproof {arguments.command}: interrupted.", file=sys.stderr)
        return INTERRUPTED
    except (ValueError, OSError, ImportError) as error:
        print(f"tailproof {arguments.command}: {error}", file=sys.stderr)
        return 2


def run_as_process() -> None:
    """Run the command line of this process, and exit."""
    code = main()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the results are there; ending takes a moment
    sys.exit(code)
