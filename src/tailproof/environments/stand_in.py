"""An open substitute for the stock data, which cannot be redistributed with this package."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from tailproof.environments.data import DataArms, open_table, price_arms

PLACE = ("package_data", "datasets", "stocks.csv.gz")


def load_stand_in_stocks() -> DataArms:
    """Load six stocks' weekly prices, 2018 and 2019: a stand-in, not the paper's 29 stocks.

    Reads, without importing it and without any download, the table `px.data.stocks` that the
    package plotly (MIT license) carries in its wheel: 105 weeks of GOOG, AAPL, AMZN, FB, NFLX and
    MSFT, each price divided by its first. Arms, f, kernel matrix and payoffs are made as
    `load_stocks` makes them; figures computed from them are not comparable with the paper's.

    Raises
    ------
    ModuleNotFoundError
        If plotly is not installed; the extra `stand-in` brings it.
    DataFileError
        If the installed plotly has no such table.
    """
    spec = importlib.util.find_spec("plotly")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(
            "`load_stand_in_stocks` reads a table inside the package plotly, which is not "
            "installed; pip install 'tailproof[stand-in]'."
        )
    path = Path(spec.submodule_search_locations[0]).joinpath(*PLACE)
    expects = "plotly's table of weekly prices, a first column 'date' and a column for each ticker"
    with open_table(path, expects) as table:
        return price_arms(table, "stand-in stocks (plotly)", "date")
