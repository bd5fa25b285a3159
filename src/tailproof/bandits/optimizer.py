"""Ask, tell, predict, recommend over a finite set of arms."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailproof import storage
from tailproof._compiled import ridge as engine
from tailproof._util import checks
from tailproof.bandits.arms import Finite
from tailproof.bandits.guarantees import Guarantee
from tailproof.bandits.history import History, HistoryView
from tailproof.bandits.posterior.ridge import Posterior
from tailproof.bandits.schedules import CustomSchedule, Schedule
from tailproof.kernels import Kernel

Array = NDArray[np.float64]

# Scores that differ by less than this share of their scale differ by rounding: the first wins.
TIE = 1e-9


@dataclass(frozen=True, eq=False)
class Prediction:
    """Mean and confidence band at k points.

    Attributes
    ----------
    mean, lower, upper : (k,)
        In units of the payoff; lower and upper are mean -+ beta std.
    std : (k,)
        Posterior standard deviation sigma, in units of k(x, x)^(1/2): it knows where payoffs were
        told, not how large they were.
    beta
        The width: beta_{t+1} of the schedule times the width multiplier, in units of the payoff.
    """

    mean: Array
    std: Array
    lower: Array
    upper: Array
    beta: float


@dataclass(frozen=True, eq=False)
class Recommendation:
    """The arm with the best robust mean.

    Attributes
    ----------
    point
        The arm's coordinates, (d,), or its label.
    index
        The arm's number.
    mean, lower, upper
        Its posterior mean and confidence interval, in units of the payoff.
    payoffs
        How many payoffs were told for this very arm.
    """

    point: Any
    index: int
    mean: float
    lower: float
    upper: float
    payoffs: int


@dataclass(frozen=True, eq=False)
class PolicyConfig:
    """What an optimizer was made from: calling `policy` with it again makes the same one."""

    policy: str
    space: Finite
    kernel: Kernel
    options: dict[str, Any]


class ArmOptimizer:
    """A policy at work: made by `gp_ucb`, `tgp_ucb`, `ata_gp_ucb` or `moma_gp_ucb`.

    `ask` names the next arm, `tell` takes its payoff; payoffs are maximized. Asking again before
    telling is fine: arms that were asked and not yet told shrink the variance, not the mean.

    Examples
    --------
    >>> import tailproof as tp
    >>> arms = tp.Finite(["ash", "birch", "cedar"])
    >>> opt = tp.gp_ucb(arms, tp.Precomputed([[1, 0, 0], [0, 1, 0], [0, 0, 1]]), tp.CustomSchedule(2.0))
    >>> opt.ask(), opt.ask()  # two at once: the second knows of the first
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
        self.space = config.space
        self.config = config
        self._guarantee = guarantee
        self._posterior = posterior
        self._schedule = schedule
        self._rng = rng
        self._start = start  # of the random generator, before anything was drawn
        self._multiplier: float = config.options["width_multiplier"]
        self._random_first = config.options["schedule"] == "authors"
        self._history = History()
        self._counts = np.zeros(len(self.space), dtype=np.int64)
        self._pending: list[int] = []
        self._pending_columns: list[Array] = []
        self._pending_variance: Array | None = None

    @property
    def guarantee(self) -> Guarantee:
        """What is promised after the payoffs told so far, and why not where nothing is."""
        return self._guarantee.after(len(self._history))

    def __repr__(self) -> str:
        return f"<{self.config.policy} on {self.space!r}, {len(self._history)} payoffs>"

    def __len__(self) -> int:
        return len(self._history)

    # -- asking

    def ask(self) -> Any:
        """Return the arm to play next: coordinates, a new (d,) array, or its label."""
        return self.space.point(self.ask_index())

    def ask_index(self) -> int:
        """Return the number of the arm to play next: argmax of mean + beta std."""
        if self._random_first and len(self._history) == 0:
            arm = int(self._rng.integers(len(self.space)))
        else:
            arm = engine.first_best(self._posterior.mean(), self._variance(), self.beta, TIE)
        self._pending.append(arm)
        return arm

    @property
    def pending(self) -> NDArray[np.int64]:
        """Numbers of the arms asked and neither told nor withdrawn, in order of asking."""
        return np.array(self._pending, dtype=np.int64)

    def withdraw(self, x: Any) -> None:
        """Take back one ask of arm `x` whose payoff will never be told."""
        arm = self.space.index(x)
        if arm not in self._pending:
            raise ValueError(f"`x` must be an arm that was asked and not told, but got {x!r}.")
        self._settle(arm)

    # -- telling

    def tell(self, x: Any, y: ArrayLike) -> None:
        """Tell one or many payoffs.

        Parameters
        ----------
        x
            One arm (coordinates of shape (d,) or a label), asked or not; or k arms.
        y
            Payoffs: a number, or k of them; with one arm and k payoffs all are the arm's.

        Many payoffs at once are the same as one after the other. If anything is wrong with any
        of them, an error says so and nothing is told.
        """
        if self.space.is_single(x):
            payoffs = checks.payoffs("y", y)
            arms = np.full(len(payoffs), self.space.index(x), dtype=np.int64)
        else:
            arms = self.space.indices(x)
            payoffs = checks.payoffs("y", y)
        self._tell(arms, payoffs)

    def tell_index(self, index: int | ArrayLike, y: float | ArrayLike) -> None:
        """Tell payoffs by arm number: one number and one payoff, or k and k."""
        if type(index) is int and type(y) is float:
            # The tight loop: checked without making arrays.
            if not 0 <= index < len(self.space):
                raise _unknown_index(index, len(self.space))
            if not abs(y) <= checks.LARGEST_PAYOFF:
                checks.payoffs("y", y)
            if isinstance(self._schedule, CustomSchedule):
                self._schedule.truncation(len(self._history) + 1, self._posterior.directions)
            self._posterior.add_one(index, y)
            self._history.append(index, y)
            self._counts[index] += 1
            if self._pending:
                self._settle(index)
            return
        wrong = f"`index` must be one or a row of integers, but got {index!r}."
        try:
            arms = np.atleast_1d(np.asarray(index))
        except ValueError as error:
            raise ValueError(wrong) from error
        if arms.ndim != 1 or (arms.size and arms.dtype.kind not in "iu"):
            raise ValueError(wrong)
        outside = (arms < 0) | (arms >= len(self.space))
        if outside.any():
            raise _unknown_index(int(arms[outside][0]), len(self.space))
        payoffs = checks.payoffs("y", y)
        if arms.size == 1 and np.ndim(index) == 0:
            arms = np.repeat(arms, len(payoffs))
        self._tell(arms.astype(np.int64), payoffs)

    def _tell(self, arms: NDArray[np.int64], payoffs: Array) -> None:
        if len(arms) != len(payoffs):
            raise ValueError(
                f"`y` must hold one payoff an arm, but got {len(payoffs)} payoffs for "
                f"{len(arms)} arms."
            )
        self._add(arms.tolist(), payoffs.tolist())

    def _add(self, arms: Sequence[int], payoffs: Sequence[float]) -> None:
        """Take in payoffs that were checked."""
        schedule, told = self._schedule, len(self._history)
        if isinstance(schedule, CustomSchedule):
            # Functions of one's own may fail: all levels are asked before anything changes.
            for i in range(len(arms)):
                schedule.truncation(told + 1 + i, self._posterior.directions)
        try:
            self._posterior.add(arms, payoffs)
        finally:
            # Stopped half-way (Ctrl-C, say), what was taken in has been told, the rest has not.
            for arm, payoff in islice(
                zip(arms, payoffs, strict=True), self._posterior.count - told
            ):
                self._history.append(arm, payoff)
                self._counts[arm] += 1
                self._settle(arm)

    def _settle(self, arm: int) -> None:
        if self._pending:
            if arm in self._pending:
                self._pending.remove(arm)
            self._pending_columns = []
            self._pending_variance = None

    # -- answering

    @property
    def beta(self) -> float:
        """The width the next ask uses, beta_{t+1}, with the multiplier."""
        t, posterior = len(self._history), self._posterior
        return self._multiplier * self._schedule.width(t, posterior.directions, posterior.log_det)

    def predict(self, points: ArrayLike | None = None) -> Prediction:
        """Predict mean payoffs with a confidence band.

        Parameters
        ----------
        points
            (k, d) coordinates, arms or not, or labels; all arms if None.
        """
        beta = self.beta
        if points is None:
            mean, variance = self._posterior.mean().copy(), self._posterior.variance()
        else:
            mean, variance = self._posterior.query(self.space.query_inputs(points))
        std = np.sqrt(variance)
        return Prediction(mean, std, mean - beta * std, mean + beta * std, beta)

    def recommend(self, among: str = "played") -> Recommendation:
        """Return the arm with the best robust mean, that mean, and its interval.

        Parameters
        ----------
        among
            "played" arms, or "all". The prior mean is zero: among all arms, one never played looks
            best where all payoffs are negative.
        """
        checks.choice("among", among, ("all", "played"))
        if len(self._history) == 0:
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
    def history(self) -> HistoryView:
        """Everything told so far, in order, as arrays that are copies."""
        indices = self._history.indices
        if self.space.labels is not None:
            points: NDArray[Any] = np.array(self.space.labels)[indices]
        else:
            points = self.space.inputs[indices]
        return HistoryView(indices, self._history.payoffs, points)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one npz file of plain arrays; `tailproof.load` continues from it."""
        from tailproof.bandits import state

        storage.save(path, state.FORMAT, *state.to_state(self))

    def _restore(
        self,
        indices: NDArray[np.int64],
        payoffs: Array,
        posterior: dict[str, Array],
        pending: list[int],
        random: Mapping[str, Any],
    ) -> None:
        """Take up where a saved optimizer of the same config stopped."""
        payoffs = checks.payoffs("payoffs", payoffs)
        if indices.dtype != np.int64 or indices.shape != payoffs.shape:
            raise ValueError("`indices` must be integers, one a payoff, but are not.")
        for arm in (*pending, *([int(indices.min()), int(indices.max())] if len(indices) else ())):
            checks.index("index", arm, len(self.space))
        self._history.extend(indices, payoffs)
        self._counts = np.bincount(indices, minlength=len(self.space))
        self._posterior.restore(posterior, indices, payoffs)
        self._pending = list(pending)
        self._rng.bit_generator.state = random

    def _variance(self) -> Array:
        """Variance as if every pending arm had been told: it does not depend on the payoffs."""
        if not self._pending:
            return self._posterior.variance()
        if self._pending_variance is None:
            self._pending_variance = self._posterior.variance().copy()
        ridge = float(self.config.options["ridge"])
        for arm in self._pending[len(self._pending_columns) :]:
            column = self._posterior.covariance(arm)
            for earlier in self._pending_columns:
                column = column - earlier * earlier[arm]
            # The column's own entry, not the variance, so that the step stays a projection.
            scaled = column / np.sqrt(ridge + max(float(column[arm]), 0.0))
            self._pending_columns.append(scaled)
            self._pending_variance -= scaled * scaled
        return np.maximum(self._pending_variance, 0.0)


def _unknown_index(index: int, arms: int) -> ValueError:
    return ValueError(f"`0 <= index < {arms}` must hold, but got index={index!r}.")
