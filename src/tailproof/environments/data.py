"""Environments from data files: an arm's payoff is one of its recorded values, drawn uniformly.

The files lie in a directory the user names and are never part of this package. Rows are drawn
independently, as in the paper, although consecutive records may depend on each other.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailproof._util import checks
from tailproof._util.tables import CsvTable, TableColumns, open_csv
from tailproof.environments._laws import Array, law_generator, moment_order
from tailproof.environments.arms import arm_numbers

Directory = str | os.PathLike[str]


@dataclass(frozen=True, eq=False)
class DataArms:
    """Arms with recorded payoffs; `sample` draws each arm's records uniformly, with replacement.

    Attributes
    ----------
    name, labels
        What the data is, and one name an arm, n of them.
    values, counts
        Every payoff, arm after arm, (N,), and the number of records of each arm, (n,).
    gram
        Kernel matrix of the arms, (n, n), where the paper builds one from data, else None.
    coordinates
        Where the arms lie, scaled to the unit cube, (n, d), or None.
    left_out
        Records of the file that are not in `values`: missing cells, rows of too small arms.

    Examples
    --------
    >>> arms = DataArms("prices", ("a", "b"), [1.0, 3.0, 10.0], [2, 1])
    >>> arms.means, arms.max_abs_mean, round(arms.mean_square, 4)
    (array([ 2., 10.]), 10.0, 36.6667)
    >>> arms.sample([1, 1], np.random.default_rng(0))
    array([10., 10.])
    """

    name: str
    labels: tuple[str, ...]
    values: Array
    counts: NDArray[np.intp]
    gram: Array | None = None
    coordinates: Array | None = None
    left_out: int = 0

    def __post_init__(self) -> None:
        n = len(self.labels)
        arrays = {
            "values": checks.payoffs("values", self.values),
            "counts": np.array(self.counts, dtype=np.intp),
        }
        counts, size = arrays["counts"], arrays["values"].size
        if counts.shape != (n,) or n == 0 or counts.min() < 1 or counts.sum() != size:
            raise ValueError(
                f"`counts` must be positive, one a label ({n}), and sum to the {size} values, "
                f"but got counts={self.counts!r}."
            )
        for name, matrix in (("gram", self.gram), ("coordinates", self.coordinates)):
            if matrix is not None:
                arrays[name] = checks.finite_array(name, matrix, ndim=2)
                rows, columns = arrays[name].shape
                if rows != n or (name == "gram" and columns != n):
                    raise ValueError(f"`{name}` must fit {n} arms, but has shape {rows, columns}.")
        for name, array in arrays.items():
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @cached_property
    def _first_payoff_of_arm(self) -> NDArray[np.intp]:
        """Return where the recorded payoffs of each arm begin, (n,)."""
        return np.cumsum(self.counts) - self.counts

    @cached_property
    def means(self) -> Array:
        """The objective f: each arm's mean payoff, (n,)."""
        means: Array = np.add.reduceat(self.values, self._first_payoff_of_arm) / self.counts
        means.flags.writeable = False
        return means

    @property
    def mean_square(self) -> float:
        """The paper's v at alpha = 1: the mean squared payoff over all records.

        An average over arms, so single arms may exceed it; `moment_bound` is a bound for all.
        """
        return float(np.mean(np.square(self.values)))

    @property
    def max_abs_mean(self) -> float:
        """The paper's B in these experiments: the largest |mean| of an arm, not an RKHS norm."""
        return float(np.abs(self.means).max())

    def moment_bound(self, alpha: float) -> float:
        """Return max over arms of E|y|^(1+alpha), exact for the law `sample` draws from."""
        powers = np.abs(self.values) ** moment_order(alpha)
        return float(np.max(np.add.reduceat(powers, self._first_payoff_of_arm) / self.counts))

    def sample(self, arm_indices: ArrayLike, rng: np.random.Generator) -> Array:
        """Draw one recorded payoff for each arm number in `arm_indices` (k,); returns (k,)."""
        arms = arm_numbers(arm_indices, self.counts.size)
        rows = law_generator(rng).integers(self.counts[arms])
        return self.values[self._first_payoff_of_arm[arms] + rows]


@contextmanager
def _open_table(path: Path, expects: str) -> Iterator[CsvTable]:
    """Open a data set's CSV file, whose columns must have distinct names."""
    with open_csv(path, expects) as table:
        for name in table.header:
            if not name or table.header.count(name) > 1:
                times = table.header.count(name)
                table.fail(f"a header with the column {name!r} {times} time(s)")
        yield table


def _column_matrix(columns: TableColumns, names: Sequence[str]) -> Array:
    """Return a data set's columns of numbers as a (rows, len(names)) array."""
    return np.column_stack([columns[name] for name in names])


def _correlation_kernel(table: CsvTable, names: Sequence[str], values: Array) -> Array:
    """Return the paper's data-driven kernel, the correlation matrix (n, n) of the columns.

    It is the covariance of the standardized columns, both with ddof 1.
    """
    if len(values) < 2:
        table.fail("one row, of which no covariance can be taken")
    deviation = values.std(axis=0, ddof=1)
    for name, extent in zip(names, np.ptp(values, axis=0), strict=True):
        if extent == 0.0:
            table.fail(f"the same value in every row of column {name!r}")
    standard = (values - values.mean(axis=0)) / deviation
    covariance: Array = standard.T @ standard / (len(values) - 1)
    return covariance


def _unit_cube(points: Array) -> Array:
    """Map each column of a data set's `points` (n, d) to [0, 1] by its own minimum and maximum."""
    extent = np.ptp(points, axis=0)
    return (points - points.min(axis=0)) / np.where(extent > 0.0, extent, 1.0)


def _price_arms(table: CsvTable, name: str, date_column: str) -> DataArms:
    """Build the stock experiment from a price table whose first column holds the dates."""
    if table.header[0] != date_column:
        table.fail(f"the first column {table.header[0]!r}")
    tickers = table.header[1:]
    prices = _column_matrix(table.read(tickers), tickers)
    return DataArms(
        name,
        tickers,
        prices.T.ravel(),
        np.full(len(tickers), len(prices)),
        gram=_correlation_kernel(table, tickers, prices),
    )


def load_stocks(directory: Directory) -> DataArms:
    r"""Load the stock experiment (section 6, Figure d) from `directory`/stocks.csv.

    Reads a first column `Date` (its text is not interpreted) and one column of prices a ticker.
    An arm is a ticker; its payoff the price, in USD, on a day drawn uniformly. `gram` is the
    covariance of the standardized prices.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text = "Date,A,B\n2020-01-01,1,5\n2020-01-02,3,4\n"
    ...     _ = pathlib.Path(folder, "stocks.csv").write_text(text)
    ...     arms = load_stocks(folder)
    >>> arms.labels, arms.means
    (('A', 'B'), array([2. , 4.5]))
    """
    expects = "a first column 'Date' and a column of prices for each ticker"
    with _open_table(Path(directory) / "stocks.csv", expects) as table:
        return _price_arms(table, "stocks", "Date")


def load_stand_in_stocks() -> DataArms:
    """Load six stocks' weekly prices, 2018 and 2019: a stand-in, not the paper's 29 stocks.

    Reads, without importing it and without any download, the table `px.data.stocks` that the
    package plotly (MIT license, extra `stand-in`) carries in its wheel: 105 weeks of GOOG, AAPL,
    AMZN, FB, NFLX and MSFT, each price divided by its first. Arms, f, kernel matrix and payoffs are
    made as `load_stocks` makes them; figures computed from them are not comparable with the
    paper's.
    """
    spec = importlib.util.find_spec("plotly")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(
            "`load_stand_in_stocks` reads a table inside the package plotly, which is not "
            "installed; pip install 'tailproof[stand-in]'."
        )
    package = Path(spec.submodule_search_locations[0])
    expects = "plotly's table of weekly prices, a first column 'date' and a column for each ticker"
    with _open_table(package / "package_data" / "datasets" / "stocks.csv.gz", expects) as table:
        return _price_arms(table, "stand-in stocks (plotly)", "date")


def load_light(directory: Directory) -> DataArms:
    r"""Load the light sensor experiment (section 6, Figure e) from three files in `directory`.

    light_train.csv and light_test.csv have one column of readings for each sensor, under the
    same names in the same order; light_coords.csv has the columns `sensor`, `x`, `y` and a row
    for each sensor. An arm is a sensor; payoffs and f come from the test readings (raw counts),
    `gram` is the covariance of the standardized train readings, and `coordinates` are the
    positions, each axis scaled to [0, 1] on its own.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     here = pathlib.Path(folder)
    ...     _ = (here / "light_train.csv").write_text("s1,s2\n1,5\n3,4\n")
    ...     _ = (here / "light_test.csv").write_text("s1,s2\n7,9\n")
    ...     _ = (here / "light_coords.csv").write_text("sensor,x,y\ns2,4,1\ns1,2,6\n")
    ...     arms = load_light(folder)
    >>> arms.means, arms.coordinates.tolist()
    (array([7., 9.]), [[0.0, 1.0], [1.0, 0.0]])
    """
    folder = Path(directory)
    expects = "a column of readings for each sensor, the same in light_train.csv and light_test.csv"
    with _open_table(folder / "light_train.csv", expects) as train:
        sensors = train.header
        gram = _correlation_kernel(train, sensors, _column_matrix(train.read(sensors), sensors))
    with _open_table(folder / "light_test.csv", expects) as test:
        if test.header != sensors:
            differing = sorted(set(test.header) ^ set(sensors)) or ["another order"]
            test.fail(f"columns that differ from those of light_train.csv: {', '.join(differing)}")
        readings = _column_matrix(test.read(sensors), sensors)
    return DataArms(
        "light",
        sensors,
        readings.T.ravel(),
        np.full(len(sensors), len(readings)),
        gram=gram,
        coordinates=_unit_cube(_sensor_positions(folder, sensors)),
    )


def _sensor_positions(folder: Path, sensors: Sequence[str]) -> Array:
    """Return the positions of the light sensors, (k, 2), in the order of their names."""
    expects = "the columns 'sensor', 'x', 'y' and one row for each sensor"
    with _open_table(folder / "light_coords.csv", expects) as table:
        columns = table.read(("x", "y"), ("sensor",))
        names = columns.text("sensor")
        for sensor in sensors:
            if names.count(sensor) != 1:
                table.fail(f"{names.count(sensor)} rows for the sensor {sensor!r}")
    return _column_matrix(columns, ("x", "y"))[[names.index(sensor) for sensor in sensors]]


def load_latency(directory: Directory) -> DataArms:
    r"""Load the latency environment from `directory`/latency.csv.

    Reads one column of round-trip seconds for each destination, one row for each time slice. An
    arm is a destination; its payoff is minus the seconds, because we maximize. Missing cells
    (empty, NA or NaN) are left out of their arm and counted in `left_out`; an arm without any
    record is an error. No `gram`: the paper has no kernel for these arms.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "latency.csv").write_text("n1,n2\n0.5,0.25\n1.5,\n")
    ...     arms = load_latency(folder)
    >>> arms.means, arms.left_out
    (array([-1.  , -0.25]), 1)
    """
    expects = "a column of round-trip seconds, none negative, a destination"
    with _open_table(Path(directory) / "latency.csv", expects) as table:
        names = table.header
        seconds = _column_matrix(table.read(names, allow_missing=True), names)
        present = ~np.isnan(seconds)
        for place, name in enumerate(names):
            if not present[:, place].any():
                table.fail(f"no value in column {name!r}")
        if np.any(seconds < 0.0):
            row, place = (int(i) for i in np.argwhere(seconds < 0.0)[0])
            table.fail_at(row, f"{seconds[row, place]:g}", names[place])
    return DataArms(
        "latency", names, -seconds.T[present.T], present.sum(axis=0), left_out=int((~present).sum())
    )


def load_claims(
    directory: Directory, by: Literal["ageph", "postcode"] = "ageph", *, min_count: int = 30
) -> DataArms:
    r"""Load the motor claims environment from `directory`/claims.csv.

    Reads the columns `average` (EUR a claim, not negative) and, by="ageph", the policyholder's
    age in years, or, by="postcode", `postcode` with its `long` and `lat`. An arm is an age or a
    postcode; its payoff is minus `average`, because we maximize: the best arm has the cheapest
    claims. Every row counts once, whatever its number of claims.

    `coordinates` are the ages, (n, 1), or longitude and latitude, (n, 2), each scaled to [0, 1]
    over the arms kept. Arms with fewer than `min_count` rows are dropped, and their rows counted in
    `left_out`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text = "average,ageph\n100,40\n300,40\n50,30\n"
    ...     _ = pathlib.Path(folder, "claims.csv").write_text(text)
    ...     arms = load_claims(folder, min_count=2)
    >>> arms.labels, arms.means, arms.left_out
    (('40',), array([-200.]), 1)
    """
    checks.choice("by", by, ("ageph", "postcode"))
    least = checks.integer("min_count", min_count, low=1)
    places = ("ageph",) if by == "ageph" else ("long", "lat")
    wanted = ("average", *dict.fromkeys((by, *places)))
    expects = f"the columns {', '.join(map(repr, wanted))}"
    with _open_table(Path(directory) / "claims.csv", expects) as table:
        columns = table.read(("average", *places), () if by in places else (by,))
        average = columns["average"]
        if average.min() < 0.0:
            row = int(average.argmin())
            table.fail_at(row, f"{average[row]:g}", "average")
        names, where, arm = _group_rows(table, columns, by, places)
        counts = np.bincount(arm)
        kept = counts >= least
        if not kept.any():
            table.fail(f"no {by} with min_count={least} rows; the largest has {int(counts.max())}")
    order = np.argsort(arm, kind="stable")
    payoffs = -average[order][kept[arm[order]]]
    return DataArms(
        f"claims by {by}",
        tuple(name for name, keep in zip(names, kept, strict=True) if keep),
        payoffs,
        counts[kept],
        coordinates=_unit_cube(where[kept]),
        left_out=average.size - payoffs.size,
    )


def _group_rows(
    table: CsvTable, columns: TableColumns, by: str, places: Sequence[str]
) -> tuple[list[str], Array, NDArray[np.intp]]:
    """Names and positions of the values of a data set's column `by`, and each row's group."""
    where = _column_matrix(columns, places)
    numeric = by in places
    keys = where[:, 0] if numeric else np.array(columns.text(by))
    distinct, first, arm = np.unique(keys, return_index=True, return_inverse=True)
    moved = np.flatnonzero((where != where[first][arm]).any(axis=1))
    if moved.size:
        row = int(moved[0])
        table.fail_at(row, f"a second position for {by} {distinct[arm[row]]}")
    names = [f"{key:g}" if numeric else str(key) for key in distinct]
    return names, where[first], arm
