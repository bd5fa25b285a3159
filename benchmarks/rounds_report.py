"""The figures of rounds.py as Markdown."""

from __future__ import annotations

from typing import Any

from reporting import markdown_table

MAX_GROWTH = 1.3  # of a round's cost between the first size and the last
MIN_SPEEDUP = 100.0  # over the literal transcription
MAX_OVER_FLOOR = 3.0  # times the bare LAPACK and BLAS calls
MAX_MEMORY_MB = 1000.0


def markdown(result: dict[str, Any]) -> str:
    """Return every section that was measured, with the cases that miss their aim."""
    m, plan = result["machine"], result["plan"]
    lines = [
        "# Cost of a round",
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
    if "growth" in result:
        lines += _growth(result["growth"], plan) + _floors(result["growth"], plan)
    if "literal" in result:
        lines += _literal(result["literal"], plan)
    if "scale" in result:
        lines += _scale(result["scale"])
    return "\n".join(lines) + "\n"


def _growth(cases: list[dict[str, Any]], plan: dict[str, Any]) -> list[str]:
    head = ["policy"] + [f"t = {t:,}" for t in plan["sizes"]] + ["last / first"]
    rows = [
        [case["case"], *(f"{at['ours_us']:.1f}" for at in case["sizes"]), f"{case['growth']:.2f}"]
        for case in cases
    ]
    missed = [f"{c['case']} ({c['growth']:.2f})" for c in cases if c["growth"] > MAX_GROWTH]
    return [
        "",
        f"## A round as t grows, {plan['arms']} arms",
        "",
        f"{plan['blocks']} blocks of {plan['rounds']} rounds at each size, each from a fresh copy "
        "saved there by one run of the policy itself: every round asked and told up to t = 10,000, "
        "from there ten payoffs told for each arm asked. The sizes alternate within a block.",
        "",
        *markdown_table(head, rows),
        "",
        _verdict(f"last / first <= {MAX_GROWTH}", missed),
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
        for at in case["sizes"]:
            row = [case["case"], f"{at['t']:,}", f"{at['ours_us']:.1f}"]
            row += [f"{at['floor_us']:.1f}", f"{at['over_floor']:.2f}"]
            row += [f"{at['update_floor_us']:.1f}", f"{at['over_update_floor']:.2f}"]
            rows.append([*row, _sizes(at["sizes"])])
            if at["over_floor"] >= MAX_OVER_FLOOR:
                missed.append(f"{case['case']} at t = {at['t']:,} ({at['over_floor']:.2f})")
    return [
        "",
        "## Against bare LAPACK and BLAS calls, same run",
        "",
        "The LAPACK floor decomposes V in each round (dsyevd); the update floor counts one r x r "
        "product instead. tailproof updates, so it can be below the first. Sizes: rank r, "
        "directions u (- where they are the identity), arms c searched for truncated payoffs, "
        "blocks k of payoffs, arms D in the dictionary and the share of rounds that change it.",
        "",
        *markdown_table(head, rows),
        "",
        "Control: gp_ucb and tgp_ucb have no eigendecomposition and one floor, timed twice; the "
        f"two figures differ by {_control(cases):.0%} at most.",
        "",
        _verdict(f"ours / LAPACK floor < {MAX_OVER_FLOOR:g}", missed),
    ]


def _control(cases: list[dict[str, Any]]) -> float:
    """Return the largest relative difference between two timings of the same calls."""
    twice = [at for c in cases if c["policy"] in ("gp_ucb", "tgp_ucb") for at in c["sizes"]]
    return max(abs(at["update_floor_us"] / at["floor_us"] - 1.0) for at in twice)


def _sizes(s: dict[str, Any]) -> str:
    if s["dense"]:
        return f"n x n, n={s['arms']}"
    parts = [f"r={s['rank']}"]
    if s["directions"] or s["searched"]:
        parts += [f"u={s['directions'] or '-'}", f"c={s['searched']}"]
    if s["payoff_blocks"]:
        parts[-1] = f"k={s['payoff_blocks']}"
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
    missed = [f"{c['case']} ({c['ratio']:.0f})" for c in cases if c["ratio"] < MIN_SPEEDUP]
    return [
        "",
        f"## Against the literal transcription at t = {plan['literal_size']:,}",
        "",
        "A literal round tells one payoff and computes mean and variance of all arms from the "
        "whole history; ours asks as well. The difference is that of mean and variance on the "
        "same history, relative to their largest value.",
        "",
        *markdown_table(head, rows),
        "",
        _verdict(f"literal / ours >= {MIN_SPEEDUP:g}", missed),
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
    large = [f"{r['case']} ({r['peak_mb']:.0f})" for r in rows if r["peak_mb"] > MAX_MEMORY_MB]
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
        *markdown_table(head, body),
        "",
        *short,
        _verdict(f"peak memory <= {MAX_MEMORY_MB:g} MB", large),
    ]


def _verdict(aim: str, missed: list[str]) -> str:
    return f"Aim: {aim}. " + (f"Missed by {'; '.join(missed)}." if missed else "Met by all.")
