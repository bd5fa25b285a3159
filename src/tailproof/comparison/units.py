"""Units in which amounts are shown: payoffs as they are, times in s, ms, µs or ns."""

from __future__ import annotations

from dataclasses import dataclass

from tailproof.comparison.samples import TIME

_TIME_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


@dataclass(frozen=True)
class Unit:
    """A unit: its size in units of the payoffs, and its name, empty for payoffs."""

    size: float = 1.0
    name: str = ""

    def number(self, value: float) -> str:
        """Return a value in this unit with four digits, without the name.

        Examples
        --------
        >>> unit_for("time", 0.0042).number(0.01234567)
        '12.35'
        """
        return f"{value / self.size:.4g}"

    def amount(self, value: float) -> str:
        """Return a value in this unit with four digits and the name."""
        return f"{self.number(value)} {self.name}".rstrip()


def unit_for(kind: str, typical: float) -> Unit:
    """Return the unit for values as large as `typical`.

    Examples
    --------
    >>> unit_for("time", 0.0042).name, unit_for("time", 70.0).name, unit_for("payoff", 0.1).name
    ('ms', 's', '')
    """
    if kind != TIME:
        return Unit()
    return next((Unit(*u) for u in _TIME_UNITS if abs(typical) >= u[0]), Unit(*_TIME_UNITS[-1]))
