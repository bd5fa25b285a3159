"""`tailproof compare`: the arguments, the output, and the exit code for continuous integration."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailproof._util.arguments import add_columns, add_command, add_level, add_seed, epilog

if TYPE_CHECKING:
    from tailproof.comparison.results import Alternative, Comparison

_DESCRIPTION = """\
Compare the mean payoffs of alternatives, from measurements that exist already.
A long table names its columns with --by and --value; in a wide one every numeric column is an
alternative; several tables are an alternative each. The first alternative is the baseline unless
--baseline names another.
"""
_EXIT_CODES = """\
exit codes: 0; 1 if --fail-if-worse found a worse alternative; 2 if the input is wrong
"""
_EXAMPLES = (
    "tailproof compare payoffs.csv --by variant --value revenue --baseline control",
    "tailproof compare before.json after.json      (hyperfine or pytest-benchmark)",
)


def add_parser(commands: Any) -> None:
    """Add `compare` to the subparsers of the command line."""
    parser = add_command(
        commands,
        "compare",
        summary="compare mean payoffs in files: which is better, by how much, how sure",
        description=_DESCRIPTION,
        epilog=epilog(_EXAMPLES, "compare.md", _EXIT_CODES),
    )
    add = parser.add_argument
    add("paths", type=Path, nargs="+", metavar="FILE", help=".csv, .parquet or .json files")
    add_columns(parser, "alternative")
    add("--baseline", metavar="NAME", help="the alternative to compare with (default: the first)")
    blocks = parser.add_mutually_exclusive_group()
    blocks.add_argument(
        "--pair", metavar="COLUMN", help="rows with equal labels there are pairs, one of each"
    )
    blocks.add_argument(
        "--block", metavar="COLUMN", help="the same with any number of rows of each alternative"
    )
    direction = parser.add_mutually_exclusive_group()
    direction.add_argument(
        "--lower-is-better",
        action="store_true",
        default=None,
        help="a lower mean is better (default for benchmark files)",
    )
    direction.add_argument(
        "--higher-is-better",
        action="store_false",
        dest="lower_is_better",
        default=None,
        help="a higher mean is better (default for tables)",
    )
    add_level(parser, 0.95, "all verdicts together")
    add("--sequential", action="store_true", help="intervals that hold at every look")
    add(
        "--moment-bound",
        type=float,
        metavar="V",
        help="known bound of E|payoff - mean|^P, for a guarantee of --sequential (default: none)",
    )
    what = "order P of that moment, in (1, 2] (default: %(default)g)"
    add("--moment-order", type=float, default=2.0, metavar="P", help=what)
    add(
        "--minimum-effect",
        type=_share,
        default=0.05,
        metavar="PERCENT",
        help="the difference that matters (default: 5%%)",
    )
    add(
        "--fail-if-worse",
        type=_threshold,
        metavar="PERCENT",
        help="exit with 1 if an alternative is worse than the baseline by more than this, with the "
        "stated confidence; 5%% of the baseline's mean, or an amount such as 0.2",
    )
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="print JSON instead of the table")
    output.add_argument("--markdown", action="store_true", help="print Markdown instead")
    add("--html", type=Path, metavar="FILE", help="also write a self-contained page")
    add_seed(parser)
    parser.set_defaults(run=run)


def _threshold(text: str) -> tuple[float, bool]:
    """Read a threshold of the command line: "5%" as (0.05, True) and "0.2" as (0.2, False)."""
    relative = text.strip().endswith("%")
    try:
        number = float(text.strip().removesuffix("%"))
    except ValueError:
        number = math.nan
    if not 0.0 <= number < math.inf:
        raise argparse.ArgumentTypeError(f"must be a percentage or an amount, but got {text!r}")
    return (number / 100.0, True) if relative else (number, False)


def _share(text: str) -> float:
    """Return a percentage given on the command line of `compare` as a share."""
    number, relative = _threshold(text)
    if number <= 0.0:
        raise argparse.ArgumentTypeError(f"must be above 0, but got {text!r}")
    if not relative:
        raise argparse.ArgumentTypeError(f"must be a percentage such as 5%, but got {text!r}")
    return number


def run(arguments: argparse.Namespace) -> int:
    """Compare the files, print and write the results; return the exit code."""
    from tailproof._util import files
    from tailproof._util.optional import require
    from tailproof.comparison.analysis import compare_files
    from tailproof.comparison.settings import Settings

    if arguments.html is not None:  # report missing packages before the work, not after it
        require("jinja2", "report")
        require("matplotlib", "report")
    settings = Settings(
        baseline=arguments.baseline,
        level=arguments.level,
        lower_is_better=arguments.lower_is_better,
        sequential=arguments.sequential,
        moment_bound=arguments.moment_bound,
        moment_order=arguments.moment_order,
        minimum_effect=arguments.minimum_effect,
        single=arguments.pair is not None,
        seed=arguments.seed,
    )
    comparisons = compare_files(
        arguments.paths,
        settings,
        by=arguments.by,
        value=arguments.value,
        block=arguments.pair or arguments.block,
        progress=lambda rows: print(f"read {rows:,} rows", file=sys.stderr, flush=True),
    )
    worse = _worse_alternatives(comparisons, arguments.fail_if_worse)
    if arguments.json:
        record = {"comparisons": [c.to_dict() for c in comparisons], "worse": worse}
        print(json.dumps(files.json_safe(record), indent=1, ensure_ascii=False, allow_nan=False))
    elif arguments.markdown:
        print("\n\n".join(c.markdown() for c in comparisons))
    else:
        print("\n\n\n".join(c.table() for c in comparisons))
    if arguments.html is not None:
        from tailproof.comparison.report import report_page

        files.write_text(arguments.html, report_page(comparisons))
        print(f"wrote {arguments.html}", file=sys.stderr)
    for line in worse:
        print(f"tailproof compare: {line}", file=sys.stderr)
    return 1 if worse else 0


def _worse_alternatives(
    comparisons: Sequence[Comparison], threshold: tuple[float, bool] | None
) -> list[str]:
    """Return for the command line the alternatives that are worse by more than the threshold."""
    from tailproof._util.console import printable

    if threshold is None:
        return []
    limit, relative = threshold
    found = []
    for comparison in comparisons:
        for a in comparison.values():
            if a.difference is None:
                continue
            if relative and a.ratio is None:
                raise ValueError(
                    "`--fail-if-worse` in percent needs a baseline whose mean is clearly above 0, "
                    f"but that of {comparison.baseline!r} has the interval "
                    f"{comparison[comparison.baseline].mean.lower:.4g} .. "
                    f"{comparison[comparison.baseline].mean.upper:.4g}; give an amount instead."
                )
            if _is_worse(a, limit, relative, lower_is_better=comparison.lower_is_better):
                title = f"{comparison.title}: " if comparison.title else ""
                found.append(printable(f"worse: {title}{a.sentence}"))
    return found


def _is_worse(a: Alternative, limit: float, relative: bool, *, lower_is_better: bool) -> bool:
    """Whether an alternative is worse than the baseline by more than a limit, for the exit code."""
    effect, neutral = (a.ratio, 1.0) if relative else (a.difference, 0.0)
    assert effect is not None
    if lower_is_better:
        return effect.lower > neutral + limit
    return effect.upper < neutral - limit
