"""Ask, tell, predict, recommend over a box."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailproof._util import checks
from tailproof.bandits.arm_optimizer import TIE, History, Prediction
from tailproof.bandits.arms import Box
from tailproof.bandits.box_search import Maximum, candidates, maximize
from tailproof.bandits.guarantees import Guarantee
from tailproof.bandits.policy_run import PolicyConfig, PolicyRun
from tailproof.bandits.posterior.box import BoxPosterior
from tailproof.bandits.schedules import Schedule

Array = NDArray[np.float64]
# Bounds the features' distance of points that differ by an offset (d,) at most; None if unknown.
Distance = Callable[[Array], float | None]


@dataclass(frozen=True, eq=False)
class PointRecommendation:
    """The point with the best robust mean, its interval in units of the payoff."""

    point: Array  # (d,)
    mean: float
    lower: float
    upper: float
    payoffs: int  # how many were told at exactly this point


class BoxOptimizer(PolicyRun):
    """A running policy on a `Box`, made by `gp_ucb`, `tgp_ucb` or `ata_gp_ucb`.

    `ask` returns the point with the largest mean + beta std that a search over the box finds: the
    best of a grid (2,048 points at most up to ten dimensions, Sobol points beyond), improved by a
    compass search from the best eight. With t payoffs at p <= t distinct points and r features (for
    ridge regression and Nystrom the rank of the kernel over the told points, at most p), a round
    costs O(r^3 + r^2 c) for c about 2,000 + 1,000 d points scored, and in `ata_gp_ucb` O(m t) for
    the truncated sums in m directions: it grows with t, linearly for a fixed number of features.

    Attributes
    ----------
    config, space
        The arguments the policy was made with, and the box among them.
    posterior, schedule
        Posterior over the box and schedule of the policy, for reading only.
    maximization_error : float or None
        How much larger mean + beta std may be, at most, than at the point last asked for: from the
        grid, and from mean and std being Lipschitz in the kernel's distance. It adds at most that
        to the regret of the round. None before the first search, and for ridge regression and
        Nystrom features of a kernel that is not stationary.

    Examples
    --------
    >>> import tailproof as tp
    >>> opt = tp.gp_ucb(tp.Box(0.0, 1.0), tp.SquaredExponential(0.2), tp.CustomSchedule(beta=2.0))
    >>> opt.ask()  # without payoffs all points are alike: the center
    array([0.5])
    >>> opt.tell([0.5], [1.0, 2.0]); opt.tell([0.8], 3.0)
    >>> opt.ask().round(3)
    array([0.742])
    >>> opt.recommend().point, len(opt)
    (array([0.8]), 3)
    """

    def __init__(
        self,
        config: PolicyConfig,
        posterior: BoxPosterior,
        schedule: Schedule,
        guarantee: Guarantee,
        rng: np.random.Generator,
        start: Mapping[str, Any],
        distance: Distance,
    ) -> None:
        super().__init__(config, posterior, schedule, guarantee, rng, start)
        assert isinstance(config.space, Box)
        self.space, self.posterior = config.space, posterior
        self.maximization_error: float | None = None
        self._candidates = candidates(self.space)
        self._reach = distance(self._candidates.reach)
        self._pending: list[Array] = []

    # -- asking

    def ask(self) -> Array:
        """Return the point to play next, a new (d,) array; it counts as pending until told."""
        if self._random_first and self.posterior.count == 0:
            point = self._rng.uniform(self.space.lower, self.space.upper)
        else:
            point = self._maximize_ucb().point
        self._pending.append(point)
        return point.copy()

    def _maximize_ucb(self) -> Maximum:
        """Return the point of the box with the highest UCB, given the pending points."""
        beta, pending = self.beta, self._pending_columns()

        def ucb(points: Array) -> Array:
            mean, variance = self.posterior.query(points)
            if pending is not None:
                asked, root = pending
                column = self.posterior.covariance(points, asked) @ root
                variance = variance - np.einsum("ij,ij->i", column, column)
            scores: Array = mean + beta * np.sqrt(np.maximum(variance, 0.0))
            return scores

        found = maximize(ucb, self.space, self._candidates)
        if self._reach is not None:
            # |mean(x) - mean(z)| <= |w| d(x, z), |std(x) - std(z)| <= d(x, z) (docs/proofs.md).
            gap = (self.posterior.weight_norm + beta) * self._reach
            self.maximization_error = max(found.best_candidate + gap - found.score, 0.0)
        return found

    def _pending_columns(self) -> tuple[Array, Array] | None:
        """Return the pending points (l, d), and R with R R^T the inverse of their noisy covariance.

        Told payoffs there would reduce the variance by cov(x, .) R R^T cov(., x).
        """
        if not self._pending:
            return None
        asked = np.stack(self._pending)
        noisy = self.posterior.covariance(asked, asked)
        values, vectors = np.linalg.eigh((noisy + noisy.T) / 2.0)
        values = np.maximum(values, 0.0) + float(self.config.options["ridge"])
        return asked, vectors / np.sqrt(values)

    @property
    def pending(self) -> Array:
        """Points asked and neither told nor withdrawn, (k, d), in order of asking."""
        return np.array(self._pending).reshape(len(self._pending), self.space.dimension)

    def withdraw(self, x: ArrayLike) -> None:
        """Remove one ask of the point `x` (d,), whose payoff will never be told."""
        point = self._single_point(x)
        if not self._remove_pending_point(point):
            raise ValueError(f"`x` must be a point that was asked and not told, but got {x!r}.")

    def _remove_pending_point(self, point: Array) -> bool:
        """Remove one ask of a point of the box; return whether it was pending."""
        for number, asked in enumerate(self._pending):
            if np.array_equal(asked, point):
                del self._pending[number]
                return True
        return False

    def _single_point(self, x: ArrayLike) -> Array:
        """Return the one point of the box (d,) that `x` holds."""
        points = self.space.points(x)
        if len(points) != 1:
            raise ValueError(f"`x` must be one point, but got {len(points)}.")
        return points[0]

    # -- telling

    def tell(self, x: ArrayLike, y: ArrayLike) -> None:
        """Tell payoffs `y`, one or k, of a point `x` (d,) of the box, or of k points (k, d).

        The points need not have been asked. If any payoff is refused, none is told.
        """
        points, payoffs = self.space.points(x), checks.payoffs("y", y)
        if np.ndim(x) < 2:
            points = np.repeat(points, len(payoffs), axis=0)
        if len(points) != len(payoffs):
            raise ValueError(
                f"`y` must hold one payoff a point, but got {len(payoffs)} payoffs for "
                f"{len(points)} points."
            )
        self._check_schedule(len(payoffs))
        for point, payoff in zip(points, payoffs.tolist(), strict=True):
            self.posterior.add(point, payoff)
            self._remove_pending_point(point)

    # -- predicting

    def predict(self, points: ArrayLike | None = None) -> Prediction:
        """Predict mean payoffs with a confidence band at `points` (k, d), in the box or not.

        None stands for the distinct points told so far, in order of their first payoffs.
        """
        beta = self.beta
        wanted = self.posterior.points
        if points is not None:
            wanted = self.space.points(points, "points", inside=False)
        mean, variance = self.posterior.query(wanted)
        std = np.sqrt(variance)
        return Prediction(mean, std, mean - beta * std, mean + beta * std, beta)

    def recommend(self, among: str = "played") -> PointRecommendation:
        """Return the point with the best robust mean `among` the "played" points, or among "all".

        "all" searches the box as `ask` does. The prior mean is zero: where all payoffs are
        negative, the best of all points is one far from every point played.
        """
        checks.choice("among", among, ("all", "played"))
        if len(self) == 0:
            raise ValueError("`recommend` needs at least one payoff, but none has been told.")
        if among == "all":
            mean_at = self.posterior.query
            point = maximize(lambda x: mean_at(x)[0], self.space, self._candidates).point
        else:
            mean = self.predict().mean
            slack = TIE * float(np.abs(mean).max())
            point = self.posterior.points[int(np.argmax(mean >= mean.max() - slack))]
        prediction, number = self.predict(point[None]), self.posterior.number_of(point)
        return PointRecommendation(
            point=point.copy(),
            mean=float(prediction.mean[0]),
            lower=float(prediction.lower[0]),
            upper=float(prediction.upper[0]),
            payoffs=0 if number is None else int(self.posterior.counts[number]),
        )

    @property
    def history(self) -> History:
        """Everything told so far, in order; `indices` number the distinct points."""
        told = self.posterior.told
        return History(told, self.posterior.payoffs, self.posterior.points[told])

    # -- state

    def restore(
        self,
        points: Array,
        payoffs: Array,
        posterior: dict[str, Any],
        pending: Array,
        random: Mapping[str, Any],
    ) -> None:
        """Continue a saved optimizer of the same config, of which nothing has been told here."""
        payoffs = checks.payoffs("payoffs", payoffs)
        told = self.space.points(points) if len(payoffs) else points
        self.posterior.restore(posterior, told, payoffs)
        self._pending = list(self.space.points(pending)) if len(pending) else []
        self._rng.bit_generator.state = random
