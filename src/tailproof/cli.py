"""The command line: `tailproof COMMAND ...`.

Building the parser imports only the commands' arguments; a command imports its work when it runs.
This module imports next to nothing, so that Ctrl-C is handled from the beginning.
"""

from __future__ import annotations

import os
import signal
import sys

from tailproof._util.interrupts import INTERRUPTED, exit_on_interrupt

TYPE_CHECKING = False  # as in `typing`, whose import takes longer than all others here
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

BROKEN_PIPE = 141  # the exit code that a shell gives a process ended by SIGPIPE

_EPILOG = """\
examples:
  tailproof tune --minimize --int threads 1 64 --log -- ./bench --threads {threads}
  tailproof compare payoffs.csv --by variant --value revenue --baseline control
  tailproof bandit simulate payoffs.csv --by variant --value revenue
  tailproof diagnose payoffs.csv --by variant --value revenue

tailproof COMMAND --help shows a command's options; start with docs/getting-started.md.
"""


def _demo(arguments: argparse.Namespace) -> int:
    """Run the command `demo` of the command line."""
    from tailproof import demo

    return demo.main(arguments.out)


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    import argparse

    from tailproof import __version__
    from tailproof._util.arguments import add_command, add_out, epilog
    from tailproof.bandits import cli as bandit
    from tailproof.comparison import cli as compare
    from tailproof.experiments import cli as reproduce
    from tailproof.tails import cli as diagnose
    from tailproof.theory import cli as bounds
    from tailproof.tune import cli as tune

    result = argparse.ArgumentParser(
        prog="tailproof",
        description="Find the choice with the best mean payoff when payoffs are heavy-tailed.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    result.add_argument("--version", action="version", version=f"tailproof {__version__}")
    commands = result.add_subparsers(dest="command", required=True, metavar="COMMAND")
    tune.add_parser(commands)
    demo = add_command(
        commands,
        "demo",
        summary="tune a small program and run four panels of the paper, in seconds",
        description="Tune a small program with heavy-tailed results, and run four panels of the\n"
        "paper's figure; both are shown on one page, report.html.",
        epilog=epilog(["tailproof demo", "tailproof demo --out demo"], "getting-started.md"),
    )
    add_out(demo, "out/demo", "the results, emptied first")
    demo.set_defaults(run=_demo)
    for command in (compare, bandit, diagnose, bounds, reproduce):
        command.add_parser(commands)
    return result


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    with exit_on_interrupt("tailproof"):
        commands = parser()
        if not (sys.argv[1:] if argv is None else argv):
            commands.print_help(sys.stderr)
            return 2
        arguments = commands.parse_args(argv)
    try:
        code = int(arguments.run(arguments))
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print(f"tailproof {arguments.command}: interrupted.", file=sys.stderr)
        return INTERRUPTED
    except (ValueError, OSError, ImportError) as error:
        if isinstance(error, BrokenPipeError) and _reader_is_gone():
            return BROKEN_PIPE
        print(f"tailproof {arguments.command}: {error}", file=sys.stderr)
        return 2


def _reader_is_gone() -> bool:
    """Tell whether the reader of the output has ended, as `| head` does; if so, discard it."""
    import select

    if not hasattr(select, "poll"):  # Windows
        return False
    output = select.poll()
    output.register(sys.stdout, 0)  # errors are always reported
    if not any(event & select.POLLERR for _, event in output.poll(0)):
        return False
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return True


def run_as_process() -> None:
    """Run the command line, `main`, in a process of its own, and exit."""
    code = main()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the results are there; ending takes a moment
    sys.exit(code)
