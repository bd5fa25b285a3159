"""Files to compare: CSV and Parquet tables, and JSON of benchmark tools."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tailproof._util import checks
from tailproof.comparison.benchmark_files import (
    benchmark_samples,
    file_labels,
    read_benchmark_file,
)
from tailproof.comparison.samples import Samples, long_samples
from tailproof.tails.files import Progress, read_columns
from tailproof.tails.series import Series, listed


def read_samples(
    paths: Sequence[Path],
    *,
    by: str | None = None,
    value: str | None = None,
    block: str | None = None,
    progress: Progress | None = None,
) -> list[Samples]:
    """Read what files hold to compare; several tables of one column are an alternative each."""
    if not paths:
        raise ValueError("`paths` must name at least one file, but got none.")
    json_files = [path for path in paths if path.suffix.lower() == ".json"]
    if json_files and len(json_files) < len(paths):
        raise ValueError("files must be all JSON or all tables, but got both kinds.")
    if json_files:
        if by is not None or value is not None or block is not None:
            raise ValueError("`by`, `value` and blocks name columns, but JSON files have none.")
        return benchmark_samples([read_benchmark_file(path) for path in paths])
    if len(paths) == 1:
        return [_table_samples(paths[0], by, value, block, progress)]
    if by is not None or block is not None:
        raise ValueError("`by` and blocks need one table, but got several files.")
    labels = file_labels(paths)
    series = [
        Series(label, _only_column(path, value, progress))
        for label, path in zip(labels, paths, strict=True)
    ]
    return [Samples("", series)]


def _only_column(path: Path, value: str | None, progress: Progress | None) -> NDArray[np.float64]:
    """Return the payoffs of the one column of a file that holds one alternative."""
    plan, columns = read_columns(path, value=value, progress=progress)
    if len(plan.values) > 1:
        raise ValueError(
            f"`value` must name the column of payoffs, but {path} has {listed(plan.values)}."
        )
    return checks.payoffs(plan.values[0], columns[plan.values[0]])


def _table_samples(
    path: Path, by: str | None, value: str | None, block: str | None, progress: Progress | None
) -> Samples:
    """Return the alternatives in the table of a file, in long or in wide form."""
    plan, columns = read_columns(path, by=by, value=value, block=block, progress=progress)
    blocks = None if plan.block is None else columns[plan.block].astype(np.int64)
    if plan.by is None:
        series = [Series(n, checks.payoffs(n, columns[n])) for n in plan.values]
        all_blocks = None if blocks is None else [blocks] * len(series)
        return Samples("", series, all_blocks, notes=plan.notes)
    values = checks.payoffs(plan.values[0], columns[plan.values[0]])
    names = [name.strip() for name in columns.labels[plan.by]]
    return long_samples(names, columns[plan.by], values, blocks)
