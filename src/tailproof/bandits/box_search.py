"""Maximize a function over a box: a grid, then a compass search from its best points.

Deterministic: of points within rounding of each other the first in the grid's order is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tailproof.bandits.arms import Box

Array = NDArray[np.float64]
Score = Callable[[Array], Array]

GRID_POINTS = 2048  # at most, or 2^d where that is more and d <= GRID_DIMENSIONS
GRID_DIMENSIONS = 10
STARTS = 8
STEPS = 60  # of the compass search; each moves or halves its steps
TIE = 1e-9


@dataclass(frozen=True, eq=False)
class Candidates:
    """Points of a box, the center first, such that every point is within `reach` of one.

    `reach` (d,) is a bound on |x - candidate| in every coordinate.
    """

    points: Array  # (k, d)
    reach: Array  # (d,)
    spacing: Array  # (d,), the first step of the search from a candidate


def candidates(box: Box) -> Candidates:
    """Return where the search over a box begins: a grid with the faces, above ten dimensions Sobol.

    Examples
    --------
    >>> found = candidates(Box(0.0, 1.0))
    >>> found.points.shape, found.reach * 2047
    ((2049, 1), array([0.5]))
    """
    d, side = box.dimension, box.upper - box.lower
    if d > GRID_DIMENSIONS:
        from scipy.stats import qmc  # loading scipy.stats is slow

        unit = qmc.Sobol(d, scramble=False).random(GRID_POINTS)
        points = np.concatenate([box.inputs[:2], box.lower + unit * side])
        return Candidates(np.concatenate([box.center[None], points]), side / 2.0, side / 4.0)
    nodes = max(2, math.floor(GRID_POINTS ** (1.0 / d) + 1e-9))
    axes = [np.linspace(low, high, nodes) for low, high in zip(box.lower, box.upper, strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, d)
    reach = side / (2.0 * (nodes - 1))
    return Candidates(np.concatenate([box.center[None], grid]), reach, reach)


@dataclass(frozen=True, eq=False)
class Maximum:
    """The best point found, its score, and the best score among the candidates."""

    point: Array  # (d,)
    score: float
    best_candidate: float


def maximize(score: Score, box: Box, start: Candidates) -> Maximum:
    """Return the largest `score`, a function of points (k, d), that the search finds in the box.

    From each of the STARTS best candidates that are apart from each other, steps of both signs in
    every coordinate are tried; if none is better, they are halved.
    """
    scores = score(start.points)
    best = float(scores.max())
    slack = TIE * max(float(np.abs(scores).max()), 1e-300)
    # Ties in the order of the candidates, so that every machine starts from the same points.
    rank = np.where(scores >= best - slack, best, scores)
    chosen = _apart(start, np.argsort(-rank, kind="stable"))
    points, values = start.points[chosen], scores[chosen]
    steps = np.tile(start.spacing, (len(points), 1))
    d = box.dimension
    offsets = np.concatenate([np.eye(d), -np.eye(d)])  # (2 d, d)
    for _ in range(STEPS):
        trial = points[:, None, :] + offsets * steps[:, None, :]
        trial = np.clip(trial, box.lower, box.upper)
        tried = score(trial.reshape(-1, d)).reshape(len(points), 2 * d)
        better = tried.argmax(axis=1)
        top = tried[np.arange(len(points)), better]
        moves = top > values + slack * 1e-3
        points = np.where(moves[:, None], trial[np.arange(len(points)), better], points)
        values = np.where(moves, top, values)
        steps = np.where(moves[:, None], steps, steps / 2.0)
    winner = int(np.argmax(values >= values.max() - slack))
    return Maximum(points[winner], float(values[winner]), best)


def _apart(start: Candidates, order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first STARTS candidates of a search over a box that are no neighbors."""
    chosen = [int(order[0])]
    left = order[1:]
    while len(chosen) < STARTS:
        offsets = np.abs(start.points[left] - start.points[chosen[-1]])
        left = left[(offsets > 3.0 * start.reach).any(axis=1)]
        if len(left) == 0:
            break
        chosen.append(int(left[0]))
    return np.array(chosen, dtype=np.int64)
