"""Command line of `tailproof tune`; `session` does the work, and is imported when it runs."""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from tailproof._util.arguments import add_level, add_out, add_seed, epilog
from tailproof.tune.outputs import STORAGE_VARIABLE

if TYPE_CHECKING:
    from tailproof.tune.request import Request

_USAGE = """\
tailproof tune (--minimize | --maximize) [--space FILE] [PARAMETERS] [OPTIONS] -- PROGRAM ARGUMENTS
       tailproof tune --dashboard [--out DIR | --storage URL] [--port N]"""
DESCRIPTION = """\
Find the setting of a program with the best mean payoff. Each evaluation runs the program once, with
{name} in its arguments replaced by the parameter's value ({{ and }} are plain braces), and reads
one number. Arguments go to the program as a list; no shell sees them. The same command, given
again, goes on where it stopped; given on several machines with one --storage, it shares the work.
"""
_PARAMETERS = """\
parameters, instead of a space file or beside it:
  --float NAME LOW HIGH [--log] [--step S]
  --int NAME LOW HIGH [--log] [--step S]
  --choice NAME OPTION OPTION ...
  --fixed NAME VALUE

a space file (TOML):
  lr      = { float = [1e-5, 1e-1], log = true }
  threads = { int = [2, 64], step = 2 }
  cache   = { choice = ["none", "lru"] }
  host    = { fixed = "localhost" }
"""
_EXAMPLES = (
    "tailproof tune --minimize --space space.toml -- ./bench --threads {threads} --cache {cache}",
    "tailproof tune --maximize --float lr 1e-5 1e-1 --log --value json:accuracy -- ./train {lr}",
)


class _Parser(argparse.ArgumentParser):
    """Parses the command after `--` and the parameters, which argparse cannot."""

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse the arguments of `tune`; what follows -- is the program."""
        from tailproof.tune.command import check_text
        from tailproof.tune.space_file import take_flags

        given = list(sys.argv[1:] if args is None else args)
        split = given.index("--") if "--" in given else len(given)
        own, command = given[:split], given[split + 1 :]
        try:
            for argument in given:
                check_text(argument)
            entries, options = take_flags(own, self._option_string_actions)
        except ValueError as error:
            self.error(str(error))
        found, unknown = super().parse_known_args(options, namespace)
        if unknown:
            self.error(f"unknown argument {unknown[0]!r}; the program's command comes after `--`.")
        found.entries, found.program, found.arguments = entries, tuple(command), tuple(given)
        return found, []

    def error(self, message: str) -> NoReturn:
        """Print what is wrong with the arguments of `tune` on one line, and exit."""
        from tailproof.tune.urls import without_secrets

        self.exit(2, f"{self.prog}: {without_secrets(message)}\n")


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """Register the command `tune` with the subparsers `commands` of the command line."""
    commands.add_parser("tune", help="find the setting of a program with the best mean payoff")
    parser = _Parser(
        prog="tailproof tune",
        usage=_USAGE,
        description=DESCRIPTION,
        epilog=epilog(_EXAMPLES, "tune.md", _PARAMETERS),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands.choices["tune"] = parser
    aim = parser.add_mutually_exclusive_group()
    aim.add_argument("--minimize", action="store_true", help="seek the lowest mean payoff")
    aim.add_argument("--maximize", action="store_true", help="seek the highest mean payoff")
    add = parser.add_argument
    add("--space", type=Path, metavar="FILE", help="parameters as TOML (default: none)")
    what = "the payoff: last-line, regex:PATTERN, json:FIELD.PATH, wall-time or exit-code "
    what += "(default: %(default)s)"
    add("--value", default="last-line", metavar="WHERE", help=what)
    streams, what = ("stdout", "stderr"), "where the payoff is read from (default: stdout)"
    add("--read", dest="stream", choices=streams, default="stdout", help=what)
    what = "runs in all, failed ones included, on all machines together (default: 100)"
    add("--evaluations", type=int, default=100, metavar="N", help=what)
    add("--timeout", type=float, metavar="SECONDS", help="longest time of a run (default: none)")
    add("--workers", type=int, default=1, metavar="N", help="runs side by side here (default: 1)")
    what = "try a failed setting again (default: 0)"
    add("--retry", type=int, default=0, metavar="K", help=what)
    what = "stop after N failures without any payoff; 0: never (default: 10)"
    add("--max-failures", type=int, default=10, metavar="N", help=what)
    what = "the setting in use now: it is run first, and the result is compared with it"
    add("--baseline", nargs="+", metavar="NAME=VALUE", help=what)
    what = "share of the runs for the few best settings, before one is recommended (default: 20%%)"
    add("--confirm", default="20%", metavar="SHARE", help=what)
    what = "stop when further runs may gain no more than this: a payoff, or a share such as 2%%"
    add("--until", metavar="GAIN", help=what)
    what = "stop when a setting is better than the baseline, with confidence --level"
    add("--until-better", action="store_true", help=what)
    add("--fail-value", type=float, metavar="Y", help="payoff of failed runs (default: none)")
    what = "keep away from settings that probably fail"
    add("--avoid-failures", action="store_true", help=what)
    add_seed(parser, None)
    add_level(parser)
    add_out(parser, "tailproof-tune", "study, report and exports")
    what = f"any database URL of Optuna (default: ${STORAGE_VARIABLE}, or SQLite in the folder)"
    add("--storage", default=os.environ.get(STORAGE_VARIABLE), metavar="URL", help=what)
    add("--study-name", metavar="NAME", help="name of the study (default: from command and space)")
    add("--keep-output", action="store_true", help="keep the complete output of every run")
    add("--quiet", action="store_true", help="show no progress")
    add("--dashboard", action="store_true", help="serve optuna-dashboard for the study instead")
    what = "port of the dashboard (default: %(default)s)"
    add("--port", type=int, default=8080, metavar="N", help=what)
    parser.set_defaults(run=run)
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Run the command `tune` and return its exit code."""
    from tailproof._util.interrupts import exit_on_interrupt

    try:
        with exit_on_interrupt("tailproof tune"):
            if arguments.workers > 1 and not arguments.dashboard:
                from tailproof.tune import forkserver

                forkserver.ensure_running()  # its imports take as long as those that follow
            from tailproof.tune import session

        try:
            return _run_tune(arguments)
        except Exception as error:  # before anything ran; later errors are shown by the session
            if not session.is_expected(error):
                raise
            print(f"tailproof tune: {_tune_error_text(error, arguments.storage)}", file=sys.stderr)
            return 2
    except KeyboardInterrupt:
        print("tailproof tune: interrupted.", file=sys.stderr)
        return 130


def _tune_error_text(error: Exception, url: str | None) -> str:
    """Return the line that `tune` prints for an error, without secrets."""
    from tailproof.tune.study import first_line
    from tailproof.tune.urls import without_secrets

    return without_secrets(first_line(error), url)


def _run_tune(arguments: argparse.Namespace) -> int:
    """Run a session of `tune`, or its dashboard, and return the exit code."""
    if arguments.dashboard:
        from tailproof.tune import dashboard

        return dashboard.serve(arguments.storage, arguments.out, arguments.port)
    from tailproof.tune import session

    return session.run(request(arguments)).exit_code


def request(arguments: argparse.Namespace) -> Request:
    """Return the request that the command line of `tune` makes; arguments are named as fields."""
    from tailproof.tune import phases, space_file
    from tailproof.tune.request import Request

    if not (arguments.minimize or arguments.maximize):
        raise ValueError("give --minimize or --maximize.")
    names = {field.name for field in dataclasses.fields(Request)}
    given = {name: value for name, value in vars(arguments).items() if name in names}
    space = space_file.build(arguments.space, arguments.entries)
    parsed = {"command": arguments.program, "space": space}
    parsed["confirm"] = phases.parse_share("confirm", arguments.confirm)
    if arguments.baseline is not None:
        parsed["baseline"] = phases.parse_baseline(arguments.baseline, space)
    return Request(**(given | parsed))
