"""Sets of arms: finite ones, given by coordinates or by labels, and boxes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailproof._util import checks

if TYPE_CHECKING:  # in quotes below, which ruff does not read
    from tailproof.bandits.arm_optimizer import ArmOptimizer  # noqa: F401
    from tailproof.bandits.box_optimizer import BoxOptimizer  # noqa: F401

Array = NDArray[np.float64]
OptimizerOf = TypeVar("OptimizerOf", covariant=True)


class PolicyArms(Generic[OptimizerOf]):
    """A set of arms, with the type of the optimizer that a policy on it is."""

    inputs: Array  # (k, d), the points at which kernels are checked: all arms, if finitely many


class Finite(PolicyArms["ArmOptimizer"]):
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
        """Return the number of arms of a finite set."""
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
        """Return rows as coordinates of arms, (k, d), or raise an error that names them."""
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
        """Return the number of the arm with a label."""
        try:
            return self._index[label.item() if isinstance(label, np.generic) else label]
        except (KeyError, TypeError):
            shown = ", ".join(map(repr, list(self._index)[:5])) + (", .." if len(self) > 5 else "")
            message = f"`{name}` must be one of the labels {shown}, but got {label!r}."
            raise ValueError(message) from None

    def _arm_of_point(self, point: Array) -> int:
        """Return the number of the arm at a point (d,)."""
        index = self._index.get(point.tobytes())
        if index is None:
            nearest = int(np.linalg.norm(self.inputs - point, axis=1).argmin())
            raise ValueError(
                f"`x` must be one of the space's arms, but got {point.tolist()}; the nearest is "
                f"arm {nearest} at {self.inputs[nearest].tolist()}."
            )
        return index


class Box(PolicyArms["BoxOptimizer"]):
    """All points x of R^d with lower <= x <= upper: the continuous domain of the paper.

    Parameters
    ----------
    lower, upper
        Corners, d numbers each, with lower < upper; plain numbers for an interval.

    Attributes
    ----------
    lower, upper : (d,) arrays, read-only
    inputs : (5, d) array, read-only
        Points at which k(x, x) of every stationary or linear kernel, and of their sums and
        products, takes its extremes: both corners, the center, the points farthest from and nearest
        to the origin.

    Examples
    --------
    >>> box = Box([0.0, -1.0], [1.0, 1.0])
    >>> box.dimension, box.center
    (2, array([0.5, 0. ]))
    """

    def __init__(self, lower: ArrayLike, upper: ArrayLike) -> None:
        low, high = _corner("lower", lower), _corner("upper", upper)
        if low.shape != high.shape:
            raise ValueError(
                f"`lower` and `upper` must have equally many entries, but got {len(low)} and "
                f"{len(high)}."
            )
        with np.errstate(over="ignore"):
            if not (np.isfinite(high - low).all() and (low < high).all()):
                raise ValueError(
                    f"`lower < upper` must hold, with a finite difference, but got "
                    f"lower={low.tolist()}, upper={high.tolist()}."
                )
        farthest = np.where(np.abs(high) > np.abs(low), high, low)
        self.lower, self.upper, self.center = low, high, low + (high - low) / 2.0
        nearest = np.clip(np.zeros_like(low), low, high)
        self.inputs = np.stack([low, high, self.center, farthest, nearest])
        for array in (self.lower, self.upper, self.center, self.inputs):
            array.flags.writeable = False

    def __repr__(self) -> str:
        return f"Box({self.lower.tolist()}, {self.upper.tolist()})"

    @property
    def dimension(self) -> int:
        """Number d of coordinates."""
        return len(self.lower)

    def points(self, x: Any, name: str = "x", *, inside: bool = True) -> Array:
        """Return one point (d,) or k points (k, d) as an array (k, d), in the box if `inside`."""
        single = np.ndim(x) < 2
        raw = ([[x]] if np.ndim(x) == 0 else [x]) if single else x
        points = checks.finite_array(name, raw, ndim=2) + 0.0
        if points.shape[1] != self.dimension:
            raise ValueError(
                f"`{name}` must have {self.dimension} coordinate(s), but got {points.shape[1]}."
            )
        outside = ((points < self.lower) | (points > self.upper)).any(axis=1)
        if inside and outside.any():
            raise ValueError(
                f"`{name}` must be in {self!r}, but got {points[outside][0].tolist()}."
            )
        return points


def _corner(name: str, value: ArrayLike) -> Array:
    """Return a corner of a box of arms as an array (d,)."""
    corner = checks.finite_array(name, np.atleast_1d(np.asarray(value)), ndim=1) + 0.0
    if len(corner) == 0:
        raise ValueError(f"`{name}` must hold at least one number, but got an empty sequence.")
    return corner


def _checked_labels(labels: Any) -> tuple[str | int, ...]:
    """Return labels of a finite set of arms, all text or all integers, and distinct."""
    result = tuple(x.item() if isinstance(x, np.generic) else x for x in labels)
    if {type(label) for label in result} not in ({str}, {int}):
        raise ValueError(f"`arms` as labels must be all text or all integers, but got {labels!r}.")
    label, count = Counter(result).most_common(1)[0]
    if count > 1:
        raise ValueError(f"`arms` as labels must be distinct, but got {label!r} twice.")
    return result
