"""Finite sets of arms, given by coordinates or by labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailproof._util import checks

Array = NDArray[np.float64]


class Finite:
    """A finite set of arms.

    Parameters
    ----------
    arms
        Coordinates, shape (n, d); or n distinct labels (strings or integers) for arms that
        have none and whose similarity a `Precomputed` kernel gives.

    Attributes
    ----------
    inputs : (n, d) array, read-only
        The inputs of kernels and feature maps: coordinates, or the arm numbers in one column.
    labels : tuple or None
        The labels, or None where the arms have coordinates.

    Examples
    --------
    >>> space = Finite([[0.0], [0.5], [1.0]])
    >>> len(space), space.index([0.5]), space.point(2)
    (3, 1, array([1.]))
    >>> Finite(["AAPL", "IBM"]).index("IBM")
    1
    """

    def __init__(self, arms: ArrayLike | Sequence[Hashable]) -> None:
        try:
            raw = np.asarray(arms)
        except ValueError as error:
            raise ValueError(f"`arms` must be coordinates or labels, but got {arms!r}.") from error
        if raw.size == 0:
            raise ValueError(f"`arms` must hold at least one arm, but got shape {raw.shape}.")
        self.labels: tuple[str | int, ...] | None = None
        self._index: dict[Any, int]
        texts = raw.dtype.kind == "O" and all(isinstance(arm, str | int) for arm in raw.flat)
        if raw.ndim == 1 and (raw.dtype.kind in "iuU" or texts):
            # From the arms as given: numpy would convert 1 to "1" beside text.
            self.labels = _checked_labels(arms.tolist() if isinstance(arms, np.ndarray) else arms)
            self._index = {label: i for i, label in enumerate(self.labels)}
            self.inputs = np.arange(len(self.labels), dtype=np.float64)[:, None]
        elif raw.ndim == 2:
            # Adding 0.0 turns -0.0 into 0.0, so that equal coordinates have equal bytes.
            self.inputs = checks.finite_array("arms", raw, ndim=2) + 0.0
            # Of arms that coincide the first stands for all: reversed, so that it wins.
            self._index = {self.inputs[i].tobytes(): i for i in range(len(self.inputs) - 1, -1, -1)}
        else:
            raise ValueError(
                "`arms` must be coordinates of shape (n, d) or a sequence of string or integer "
                f"labels, but got shape {raw.shape} of {raw.dtype}; for n points on a line pass "
                "arms.reshape(-1, 1)."
            )
        self.inputs.flags.writeable = False

    def __len__(self) -> int:
        return len(self.inputs)

    def __repr__(self) -> str:
        kind = "labeled arms" if self.labels is not None else "arms"
        return f"Finite({len(self)} {kind}, dimension {self.dimension})"

    @property
    def dimension(self) -> int:
        """Number of coordinates; 1 for labeled arms."""
        return int(self.inputs.shape[1])

    def point(self, index: int) -> Array | str | int:
        """Return the arm's coordinates, as a new (d,) array, or its label."""
        if type(index) is not int or not 0 <= index < len(self):
            index = checks.index("index", index, len(self))
        if self.labels is not None:
            return self.labels[index]
        return np.array(self.inputs[index])

    def index(self, arm: Any) -> int:
        """Return the number of one arm given by its coordinates or label."""
        if not self.is_single(arm):
            raise ValueError(f"`x` must be one arm, but got {len(arm)}.")
        return int(self.indices(self._arm_row(arm))[0])

    def indices(self, arms: Any, name: str = "x") -> NDArray[np.int64]:
        """Return the numbers of several arms: labels, or coordinates of shape (k, d)."""
        if self.labels is not None:
            return np.array([self._arm_of_label(label, name) for label in arms], dtype=np.int64)
        points = self._arm_points(name, arms) + 0.0
        return np.array([self._arm_of_point(point) for point in points], dtype=np.int64)

    def is_single(self, arm: Any) -> bool:
        """Tell whether `arm` names one arm (a label, or coordinates of shape (d,)) or several."""
        if self.labels is not None:
            return isinstance(arm, str | bytes) or not isinstance(arm, Sequence | np.ndarray)
        try:
            return np.ndim(arm) < 2
        except ValueError:  # ragged: `indices` raises an error that names the argument
            return False

    def query_inputs(self, points: Any) -> Array:
        """Return points to predict at as kernel inputs, shape (k, d); they need not be arms."""
        rows = self._arm_row(points) if self.is_single(points) else points
        if self.labels is not None:
            return self.inputs[self.indices(rows, "points")]
        return self._arm_points("points", rows)

    def _arm_points(self, name: str, rows: Any) -> Array:
        points = checks.finite_array(name, rows, ndim=2)
        if points.shape[1] != self.dimension:
            raise ValueError(
                f"`{name}` must have {self.dimension} coordinate(s), but got {points.shape[1]}."
            )
        return points

    def _arm_row(self, arm: Any) -> list[Any]:
        """Return one arm as a list of one row; in one dimension it may be a plain number."""
        return [[arm]] if self.labels is None and np.ndim(arm) == 0 else [arm]

    def _arm_of_label(self, label: Any, name: str) -> int:
        try:
            return self._index[label.item() if isinstance(label, np.generic) else label]
        except (KeyError, TypeError):
            shown = ", ".join(map(repr, list(self._index)[:5])) + (", .." if len(self) > 5 else "")
            message = f"`{name}` must be one of the labels {shown}, but got {label!r}."
            raise ValueError(message) from None

    def _arm_of_point(self, point: Array) -> int:
        index = self._index.get(point.tobytes())
        if index is None:
            nearest = int(np.linalg.norm(self.inputs - point, axis=1).argmin())
            raise ValueError(
                f"`x` must be one of the space's arms, but got {point.tolist()}; the nearest is "
                f"arm {nearest} at {self.inputs[nearest].tolist()}."
            )
        return index


def _checked_labels(labels: Any) -> tuple[str | int, ...]:
    """Return labels that are all text or all integers, and distinct."""
    result = tuple(x.item() if isinstance(x, np.generic) else x for x in labels)
    if {type(label) for label in result} not in ({str}, {int}):
        raise ValueError(f"`arms` as labels must be all text or all integers, but got {labels!r}.")
    label, count = Counter(result).most_common(1)[0]
    if count > 1:
        raise ValueError(f"`arms` as labels must be distinct, but got {label!r} twice.")
    return result
