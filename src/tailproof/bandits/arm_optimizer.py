"""Ask, tell, predict, recommend over a finite set of arms."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailproof._compiled.ridge import ucb_argmax
from tailproof._util import checks
from tailproof.bandits.arms import Finite
from tailproof.bandits.guarantees import Guarantee
from tailproof.bandits.policy_run import PolicyConfig, PolicyRun
from tailproof.bandits.posterior.base import Posterior
from tailproof.bandits.schedules import Schedule

Array = NDArray[np.float64]

# Scores that differ by less than this share of their scale differ by rounding: the first is taken.
TIE = 1e-9


@dataclass(frozen=True, eq=False)
class Prediction:
    """Mean and confidence band at k points.

    `std` depends on which arms payoffs were told for, not on their values.
    """

    mean: Array  # (k,), as lower and upper in units of the payoff
    std: Array  # (k,), the posterior standard deviation sigma, in units of k(x, x)^(1/2)
    lower: Array  # (k,), mean - beta std
    upper: Array  # (k,), mean + beta std
    beta: float  # beta_{t+1} of the schedule times the multiplier, in units of the payoff


@dataclass(frozen=True, eq=False)
class Recommendation:
    """The arm with the best robust mean.

    `mean`, `lower` and `upper` are its posterior mean and confidence interval, in units of the
    payoff.
    """

    point: Any  # the arm's coordinates, (d,), or its label
    index: int  # the arm's number
    mean: float
    lower: float
    upper: float
    payoffs: int  # how many were told for this arm


@dataclass(frozen=True, eq=False)
class History:
    """The payoffs told so far, in order, as arrays of length t."""

    indices: NDArray[np.int64]  # numbers of the arms, (t,)
    payoffs: Array  # as told, before any truncation, (t,)
    points: NDArray[Any]  # the arms' coordinates, (t, d), or labels, (t,)

    def __len__(self) -> int:
        """Return the number of payoffs that a policy was told."""
        return len(self.payoffs)


class ArmOptimizer(PolicyRun):
    """A running policy, made by `gp_ucb`, `tgp_ucb`, `ata_gp_ucb`, `moma_gp_ucb` or `rcgp_ucb`.

    `ask` returns the next arm, `tell` takes its payoff; payoffs are maximized. `ask` may be called
    again before `tell`: arms that were asked and not yet told reduce the variance, not the mean.

    Attributes
    ----------
    config, space
        The arguments the policy was made with, and the arms among them.
    posterior, schedule
        Posterior over the arms and schedule of the policy, for reading only.

    Examples
    --------
    >>> import tailproof as tp
    >>> arms = tp.Finite(["ash", "birch", "cedar"])
    >>> kernel = tp.Precomputed([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    >>> opt = tp.gp_ucb(arms, kernel, tp.CustomSchedule(beta=2.0))
    >>> opt.ask(), opt.ask()  # a batch of two: the second takes the first into account
    ('ash', 'birch')
    >>> opt.tell("birch", [3.0, 4.0]); opt.tell("ash", 1.0); opt.tell("cedar", 0.5)
    >>> opt.recommend().point, opt.recommend().payoffs, len(opt)
    ('birch', 2, 4)
    >>> opt.predict(["birch"]).mean.round(3)
    array([2.333])
    >>> opt.history.points.tolist()
    ['birch', 'birch', 'ash', 'cedar']
    """

    def __init__(
        self,
        config: PolicyConfig,
        posterior: Posterior,
        schedule: Schedule,
        guarantee: Guarantee,
        rng: np.random.Generator,
        start: Mapping[str, Any],
    ) -> None:
        super().__init__(config, posterior, schedule, guarantee, rng, start)
        assert isinstance(config.space, Finite)
        self.space, self.posterior = config.space, posterior
        self._told_arms = array("q")
        self._told_payoffs = array("d")
        self._counts = np.zeros(len(self.space), dtype=np.int64)
        self._pending: list[int] = []
        self._pending_columns: list[Array] = []
        self._pending_variance: Array | None = None

    # -- asking

    def ask(self) -> Any:
        """Return the arm to play next: coordinates, a new (d,) array, or its label."""
        return self.space.point(self.ask_index())

    def ask_index(self) -> int:
        """Return the number of the arm to play next: argmax of mean + beta std."""
        if self._random_first and self.posterior.count == 0:
            arm = int(self._rng.integers(len(self.space)))
        else:
            arm = ucb_argmax(self.posterior.mean(), self.pending_variance(), self.beta, TIE)
        self._pending.append(arm)
        return arm

    @property
    def pending(self) -> NDArray[np.int64]:
        """Numbers of the arms asked and neither told nor withdrawn, in order of asking."""
        return np.array(self._pending, dtype=np.int64)

    def withdraw(self, x: Any) -> None:
        """Remove one ask of arm `x`, whose payoff will never be told, from the pending ones."""
        arm = self.space.index(x)
        if arm not in self._pending:
            raise ValueError(f"`x` must be an arm that was asked and not told, but got {x!r}.")
        self._remove_pending_arm(arm)

    # -- telling

    def tell(self, x: Any, y: ArrayLike) -> None:
        """Tell payoffs `y`, one or k, of an arm `x` (coordinates (d,) or a label) or of k arms.

        The arms need not have been asked. Many payoffs at once are the same as one after the other;
        if any of them is refused, none is told.
        """
        single = self.space.is_single(x)
        arms = np.array([self.space.index(x)]) if single else self.space.indices(x)
        payoffs = checks.payoffs("y", y)
        self._add_payoffs(np.repeat(arms, len(payoffs)) if single else arms, payoffs)

    def tell_index(self, index: int | ArrayLike, y: float | ArrayLike) -> None:
        """Tell payoffs by arm number: one number and one payoff, or k and k."""
        if type(index) is int and type(y) is float:
            # The common case in a loop: checked without making arrays.
            if not 0 <= index < len(self.space):
                checks.index("index", index, len(self.space))
            if not abs(y) <= checks.LARGEST_PAYOFF:
                checks.payoffs("y", y)
            self._check_schedule(1)
            self.posterior.add(index, y)
            self._record_payoff(index, y)
            return
        message = f"`index` must be one or a row of integers, but got {index!r}."
        try:
            arms = np.atleast_1d(np.asarray(index))
        except ValueError as error:
            raise ValueError(message) from error
        if arms.ndim != 1 or (arms.size and arms.dtype.kind not in "iu"):
            raise ValueError(message)
        outside = (arms < 0) | (arms >= len(self.space))
        if outside.any():
            checks.index("index", int(arms[outside][0]), len(self.space))
        payoffs = checks.payoffs("y", y)
        if arms.size == 1 and np.ndim(index) == 0:
            arms = np.repeat(arms, len(payoffs))
        self._add_payoffs(arms.astype(np.int64), payoffs)

    def _add_payoffs(self, arms: NDArray[np.int64], payoffs: Array) -> None:
        """Add payoffs of arms to the posterior: all of them, or none if one is refused."""
        if len(arms) != len(payoffs):
            raise ValueError(
                f"`y` must hold one payoff an arm, but got {len(payoffs)} payoffs for "
                f"{len(arms)} arms."
            )
        self._check_schedule(len(arms))
        told = list(zip(arms.tolist(), payoffs.tolist(), strict=True))
        before = self.posterior.count
        try:
            for arm, payoff in told:
                self.posterior.add(arm, payoff)
        finally:
            # If it was interrupted, exactly the payoffs that were added count as told.
            for arm, payoff in told[: self.posterior.count - before]:
                self._record_payoff(arm, payoff)

    def _record_payoff(self, arm: int, payoff: float) -> None:
        """Write down a payoff that the posterior has added."""
        self._told_arms.append(arm)
        self._told_payoffs.append(payoff)
        self._counts[arm] += 1
        self._remove_pending_arm(arm)

    def _remove_pending_arm(self, arm: int) -> None:
        """Remove one ask of an arm, and forget what follows from pending arms."""
        if self._pending:
            if arm in self._pending:
                self._pending.remove(arm)
            self._pending_columns = []
            self._pending_variance = None

    # -- predicting

    def predict(self, points: ArrayLike | None = None) -> Prediction:
        """Predict mean payoffs with a confidence band.

        `points` are (k, d) coordinates, arms or not, or labels; None stands for all arms.
        """
        beta = self.beta
        if points is None:
            mean, variance = self.posterior.mean().copy(), self.posterior.variance()
        else:
            mean, variance = self.posterior.query(self.space.query_inputs(points))
        std = np.sqrt(variance)
        return Prediction(mean, std, mean - beta * std, mean + beta * std, beta)

    def recommend(self, among: str = "played") -> Recommendation:
        """Return the arm with the best robust mean `among` the "played" arms, or among "all".

        The prior mean is zero: where all payoffs are negative, the best of all arms is one that
        was never played.
        """
        checks.choice("among", among, ("all", "played"))
        if len(self) == 0:
            raise ValueError("`recommend` needs at least one payoff, but none has been told.")
        prediction = self.predict()
        mean = prediction.mean.copy()
        if among == "played":
            mean[self._counts == 0] = -np.inf
        slack = TIE * float(np.abs(prediction.mean).max())
        best = int(np.argmax(mean >= mean.max() - slack))
        return Recommendation(
            point=self.space.point(best),
            index=best,
            mean=float(prediction.mean[best]),
            lower=float(prediction.lower[best]),
            upper=float(prediction.upper[best]),
            payoffs=int(self._counts[best]),
        )

    @property
    def history(self) -> History:
        """Everything told so far, in order, as arrays that are copies."""
        indices, labels = np.array(self._told_arms, dtype=np.int64), self.space.labels
        points = self.space.inputs[indices] if labels is None else np.array(labels)[indices]
        return History(indices, np.array(self._told_payoffs, dtype=np.float64), points)

    def restore(
        self,
        indices: NDArray[np.int64],
        payoffs: Array,
        posterior: dict[str, Any],
        pending: list[int],
        random: Mapping[str, Any],
    ) -> None:
        """Continue a saved optimizer of the same config, of which nothing has been told here."""
        payoffs = checks.payoffs("payoffs", payoffs)
        for arm in (*pending, *([int(indices.min()), int(indices.max())] if len(indices) else ())):
            checks.index("index", arm, len(self.space))
        self._told_arms = array("q", indices.tolist())
        self._told_payoffs = array("d", payoffs.tolist())
        self._counts = np.bincount(indices, minlength=len(self.space))
        self.posterior.restore(posterior, indices, payoffs)
        self._pending = list(pending)
        self._rng.bit_generator.state = random

    def pending_variance(self) -> Array:
        """Variance of the arms, (n,), as if the pending ones had been told; not to be changed."""
        if not self._pending:
            return self.posterior.variance()
        if self._pending_variance is None:
            self._pending_variance = self.posterior.variance().copy()
        ridge = float(self.config.options["ridge"])
        for arm in self._pending[len(self._pending_columns) :]:
            column = self.posterior.covariance(arm)
            for earlier in self._pending_columns:
                column = column - earlier * earlier[arm]
            # The column's own entry, not the variance, so that the step stays a projection.
            scaled = column / np.sqrt(ridge + max(float(column[arm]), 0.0))
            self._pending_columns.append(scaled)
            self._pending_variance -= scaled * scaled
        return np.maximum(self._pending_variance, 0.0)
