"""The benchmark's figures as Markdown."""

from __future__ import annotations

from typing import Any

MOST_GROWTH = 1.3  # of a round's cost between the first mark and the last
LEAST_SPEEDUP = 100.0  # over the literal transcription
MOST_OVER_FLOOR = 3.0  # times the bare LAPACK and BLAS calls
MOST_MEMORY_MB = 1000.0


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """A Markdown table, the first column to the left and the others to the right."""
    rule = ["---"] + ["--:"] * (len(head) - 1)
    return ["| " + " | ".join(row) + " |" for row in (head, rule, *rows)]


def markdown(result: dict[str, Any]) -> str:
    """Every section that was measured, and what misses its aim."""
    m, plan = result["machine"], result["plan"]
    lines = [
        "# What a round costs",
        "",
        f"{m['processor']}, one thread; Python {m['python']}, numpy {m['numpy']}, scipy "
        f"{m['scipy']}, numba {m['numba']}, {m['blas']}. {result['seconds']:.0f} s in all.",
        "",
        "Microseconds of processor time unless said otherwise. Figures are medians over blocks, "
        "ratios medians of the ratios within a block. A round is `ask_index` and `tell_index`.",
    ]
    if plan["smoke_test"]:
        lines += [
            "",
            "A smoke test: too few and too short blocks for the figures to mean anything.",
        ]
    if "marks" in result:
        lines += _marks(result["marks"], plan) + _floors(result["marks"], plan)
    if "literal" in result:
        lines += _literal(result["literal"], plan)
    if "scale" in result:
        lines += _scale(result["scale"])
    return "\n".join(lines) + "\n"


def _marks(cases: list[dict[str, Any]], plan: dict[str, Any]) -> list[str]:
    head = ["policy"] + [f"t = {t:,}" for t in plan["marks"]] + ["last / first"]
    rows = [
        [case["case"], *(f"{at['ours_us']:.1f}" for at in case["marks"]), f"{case['growth']:.2f}"]
        for case in cases
    ]
    missed = [f"{c['case']} ({c['growth']:.2f})" for c in cases if c["growth"] > MOST_GROWTH]
    return [
        "",
        f"## A round as t grows, {plan['arms']} arms",
        "",
        f"{plan['blocks']} blocks of {plan['rounds']} rounds at each mark, each from a fresh copy "
        "saved there by one run of the policy itself: every round asked and told up to t = 10,000, "
        "from there ten payoffs told for each arm asked. The marks take turns within a block.",
        "",
        *table(head, rows),
        "",
        _verdict(f"last / first <= {MOST_GROWTH}", missed),
    ]


def _floors(cases: list[dict[str, Any]], plan: dict[str, Any]) -> list[str]:
    head = [
        "policy",
        "t",
        "ours",
        "LAPACK floor",
        "ours / it",
        "update floor",
        "ours / it",
        "sizes",
    ]
    rows, missed = [], []
    for case in cases:
        for at in case["marks"]:
            row = [case["case"], f"{at['t']:,}", f"{at['ours_us']:.1f}"]
            row += [f"{at['floor_us']:.1f}", f"{at['over_floor']:.2f}"]
            row += [f"{at['update_floor_us']:.1f}", f"{at['over_update_floor']:.2f}"]
            rows.append([*row, _sizes(at["sizes"])])
            if at["over_floor"] >= MOST_OVER_FLOOR:
                missed.append(f"{case['case']} at t = {at['t']:,} ({at['over_floor']:.2f})")
    return [
        "",
        "## The floor: bare LAPACK and BLAS calls, same run",
        "",
        "The LAPACK floor decomposes V anew each round (dsyevd); the update floor grants that for "
        "one r x r product. tailproof updates, so it can be below the first. Sizes: rank r, "
        "directions u (- where they are the identity), arms c searched for truncated payoffs, "
        "groups k, arms D in the dictionary and the share of rounds that change it.",
        "",
        *table(head, rows),
        "",
        "Control: gp_ucb and tgp_ucb have no eigendecomposition and one floor, timed twice; the "
        f"two figures differ by {_control(cases):.0%} at most.",
        "",
        _verdict(f"ours / LAPACK floor < {MOST_OVER_FLOOR:g}", missed),
    ]


def _control(cases: list[dict[str, Any]]) -> float:
    """Largest relative difference between two timings of the same calls."""
    twice = [at for c in cases if c["policy"] in ("gp_ucb", "tgp_ucb") for at in c["marks"]]
    return max(abs(at["update_floor_us"] / at["floor_us"] - 1.0) for at in twice)


def _sizes(s: dict[str, Any]) -> str:
    if s["dense"]:
        return f"n x n, n={s['arms']}"
    parts = [f"r={s['rank']}"]
    if s["directions"] or s["searched"]:
        parts += [f"u={s['directions'] or '-'}", f"c={s['searched']}"]
    if s["groups"]:
        parts[-1] = f"k={s['groups']}"
    if s["dictionary"]:
        parts.append(f"D={s['dictionary']}, changed in {100 * s['changed']:.0f}%")
    return ", ".join(parts)


def _literal(cases: list[dict[str, Any]], plan: dict[str, Any]) -> list[str]:
    head = ["policy", "literal", "ours", "literal / ours", "largest difference"]
    rows = [
        [
            case["case"],
            f"{case['literal_us']:,.0f}",
            f"{case['ours_us']:.1f}",
            f"{case['ratio']:,.0f}",
            f"{case['largest_difference']:.1e}",
        ]
        for case in cases
    ]
    missed = [f"{c['case']} ({c['ratio']:.0f})" for c in cases if c["ratio"] < LEAST_SPEEDUP]
    return [
        "",
        f"## Against the literal transcription at t = {plan['literal_mark']:,}",
        "",
        "A literal round tells one payoff and computes mean and variance of all arms from the "
        "whole history; ours asks as well. The difference is that of mean and variance on the "
        "same history, relative to their largest value.",
        "",
        *table(head, rows),
        "",
        _verdict(f"literal / ours >= {LEAST_SPEEDUP:g}", missed),
    ]


def _scale(rows: list[dict[str, Any]]) -> list[str]:
    head = ["policy", "arms", "payoffs", "s", "s elapsed", "told in bulk", "a round", "peak MB"]
    body = [
        [
            row["case"],
            f"{row['arms']:,}",
            f"{row['payoffs']:,}",
            f"{row['cpu_seconds']:.0f}",
            f"{row['seconds']:.0f}",
            f"{row['tell_us']:.1f}",
            f"{row['round_us']:.1f}",
            f"{row['peak_mb']:.0f}",
        ]
        for row in rows
    ]
    large = [f"{r['case']} ({r['peak_mb']:.0f})" for r in rows if r["peak_mb"] > MOST_MEMORY_MB]
    short = [
        f"{r['case']} stopped at its time limit, at {r['payoffs']:,} of {r['payoffs_wanted']:,}."
        for r in rows
        if r["payoffs"] < r["payoffs_wanted"]
    ]
    return [
        "",
        "## Many arms, many payoffs, one process each",
        "",
        "Payoffs are told in chunks at arms drawn towards the good ones, with an ask before each "
        "chunk; then single rounds are timed.",
        "",
        *table(head, body),
        "",
        *short,
        _verdict(f"peak memory <= {MOST_MEMORY_MB:g} MB", large),
    ]


def _verdict(aim: str, missed: list[str]) -> str:
    return f"Aim: {aim}. " + (f"Missed by {'; '.join(missed)}." if missed else "Held by all.")
