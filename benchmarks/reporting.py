"""Helpers that the benchmarks share: Markdown tables, measured blocks of pages, the machine."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from tailproof._util import files

_BLOCK = re.compile(r"(<!-- measured: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def markdown_table(
    header: Sequence[str], rows: Iterable[Sequence[Any]], left: Collection[int] = (0,)
) -> list[str]:
    """Return the lines of a Markdown table; columns not in `left` are aligned to the right.

    Examples
    --------
    >>> print("\\n".join(markdown_table(["arm", "mean"], [["ash", 1.5]])))
    | arm | mean |
    | --- | --: |
    | ash | 1.5 |
    """
    rule = ["---" if i in left else "--:" for i in range(len(header))]
    return [_row(cells) for cells in (header, rule, *rows)]


def _row(cells: Sequence[Any]) -> str:
    escaped = (str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells)
    return "| " + " | ".join(escaped) + " |"


def blocks(page: str) -> list[str]:
    """Return the names of a page's measured blocks, <!-- measured: NAME --> to <!-- end -->."""
    return [found[2] for found in _BLOCK.finditer(page)]


def fill_blocks(page: str, content: Mapping[str, Callable[[], str]]) -> str:
    """Return a page with its measured blocks replaced by their contents; others stay."""

    def filled(found: re.Match[str]) -> str:
        if found[2] not in content:
            return found[0]
        return f"{found[1]}\n{content[found[2]]()}\n\n{found[3]}"

    return _BLOCK.sub(filled, page)


def machine(*packages: str) -> dict[str, Any]:
    """Return the processor, the system, and the releases of Python, numpy and `packages`."""
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "blas": f"{blas['name']} {blas['version']}",
    } | {package: version(package) for package in ("numpy", "tailproof", *packages)}


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def note(text: str) -> None:
    """Print a line about the progress to standard error."""
    print(text, file=sys.stderr, flush=True)


def save(out: Path, name: str, result: Any, text: str) -> None:
    """Write a benchmark's figures as OUT/NAME.json and OUT/NAME.md, and print the latter."""
    files.write_json(out / f"{name}.json", result)
    files.write_text(out / f"{name}.md", text)
    print(text)
