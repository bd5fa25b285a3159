"""`Bandit`: many arms online with nothing to know in advance."""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from tailproof import storage
from tailproof._compiled import arm_statistics as compiled
from tailproof._util import checks
from tailproof.bandits.arm_set import ArmSet, ParameterSpace, grid_arms
from tailproof.bandits.arm_statistics import ArmStatistics
from tailproof.bandits.bandit_results import ArmTable, BanditRecommendation
from tailproof.bandits.kernel_prior import KernelPrior
from tailproof.kernels import Kernel, Precomputed
from tailproof.means.intervals import Interval
from tailproof.means.one_sample import sample_interval
from tailproof.means.sequences import catoni_sequence

Array = NDArray[np.float64]

LARGEST_PAYOFF = 1e150  # squares of a million of them have a finite sum
DESIGN_ARMS, DESIGN_PAYOFFS = 12, 2  # arms played first, and how often
KERNEL_DESIGN_ARMS = 6  # fewer where arms tell of each other
CROWD, CROWD_POWER = 4.0, 0.4  # exploration shrinks by (competitors / 4)^(-0.4)
REACH = 6.0  # standard deviations beyond which no draw is made
_SINGLE_PRECISION_FROM = 4096  # draws; they cost half in single precision
_FEW_UNPLAYED = 64
LEAST_OWN_PAYOFFS = 10  # from here on an arm's mean and interval are made of its own payoffs


class Bandit:
    """Choose among arms online, for the best mean payoff, with nothing to know in advance.

    Thompson sampling on robust means: each `ask` draws a value for every arm from its posterior
    and returns the arm with the largest one. Means, noise levels, truncation, the prior that arms
    share and, for arms with coordinates, the kernel are estimated from the payoffs
    (docs/bandit.md). There is no guarantee; intervals are practical, except those of
    `confidence_sequence`.

    Parameters
    ----------
    arms
        Labels (text or integers, distinct), for arms that share nothing but a prior; coordinates
        (n, d), for arms whose means vary smoothly; or a `Space`, whose grid is taken.
    similarity
        For labels: a `Precomputed` kernel matrix of the arms, in the order of the labels.
    minimize
        Whether the smallest mean is the best.
    half_life
        Number of payoffs after which a payoff counts half, for payoffs that drift; None: for ever.
    explore
        Factor of the posterior standard deviation in the draws of `ask`: 1 is the default amount
        of exploration, 0 always plays the best estimate, 2 explores more.
    grid
        Number of values of each continuous parameter where `arms` is a `Space`.
    seed
        An int, a SeedSequence, a Generator or None.

    Examples
    --------
    >>> import tailproof as tp
    >>> rng = np.random.default_rng(0)
    >>> bandit = tp.Bandit(["control", "blue", "red"], seed=0)
    >>> for _ in range(300):
    ...     arm = bandit.ask()
    ...     bandit.tell(arm, {"control": 1.0, "blue": 2.0, "red": 1.5}[arm] + rng.standard_t(1.5))
    >>> bandit.recommend().arm, len(bandit)
    ('blue', 300)
    """

    def __init__(
        self,
        arms: ArrayLike | Sequence[Hashable] | ParameterSpace,
        *,
        similarity: Kernel | None = None,
        minimize: bool = False,
        half_life: float | None = None,
        explore: float = 1.0,
        grid: int = 10,
        seed: Any = None,
    ) -> None:
        grid = checks.integer("grid", grid, low=2)
        self.minimize = checks.flag("minimize", minimize)
        self.half_life = None if half_life is None else checks.positive("half_life", half_life)
        self.explore = checks.non_negative("explore", explore)
        self._arms = grid_arms(arms, grid) if isinstance(arms, ParameterSpace) else ArmSet(arms)
        self._similarity = _checked_similarity(similarity, self._arms)
        self._rng = checks.generator(seed)
        n = len(self._arms)
        self._statistics = ArmStatistics(n, self.half_life)
        self._prior: KernelPrior | None = None
        if self._arms.inputs is not None or self._similarity is not None:
            self._prior = KernelPrior(self._arms.inputs, self._similarity)
        self._active = np.ones(n, dtype=bool)
        self._pending = np.zeros(n, dtype=np.int64)
        first = DESIGN_ARMS if self._prior is None else KERNEL_DESIGN_ARMS
        self._design = self._rng.permutation(n)[:first]
        self._factor = self.explore

    # -- asking

    def ask(self, count: int | None = None) -> Any:
        """Return the arm to play next, or a list of `count` arms to play at the same time.

        An arm is a label, a new array of coordinates (d,), or a dict of parameters.
        """
        if count is None:
            return self._arms.point(self.ask_index())
        return [self._arms.point(i) for i in self.ask_index(count).tolist()]

    def ask_index(self, count: int | None = None) -> Any:
        """Return the number of the arm to play next, or `count` numbers as an array."""
        if count is not None:
            count = checks.integer("count", count, low=1)
            return np.array([self.ask_index() for _ in range(count)], dtype=np.int64)
        if not self._active.any():
            raise ValueError("`ask` needs an arm that is not retired, but all are.")
        arm = self._design_arm()
        if arm is None:
            arm = self._draw_arm()
        self._pending[arm] += 1
        return arm

    @property
    def pending(self) -> dict[int, int]:
        """Number of payoffs asked and not told yet, by arm number."""
        return {int(i): int(self._pending[i]) for i in np.flatnonzero(self._pending)}

    def _design_arm(self) -> int | None:
        """Return an arm of the first rounds, or None when these are over."""
        if self._statistics.log.count >= DESIGN_PAYOFFS * len(self._design):
            return None
        design = self._design[self._active[self._design]]
        played = self._statistics.counts[design] + self._pending[design]
        if design.size and played.min() < DESIGN_PAYOFFS:
            return int(design[played.argmin()])
        if self._statistics.log.count:
            return None
        active = np.flatnonzero(self._active)
        return int(active[self._rng.integers(active.size)])

    def _draw_arm(self) -> int:
        """Return the best arm of one draw from the posterior, its spread times the factor."""
        if self._prior is not None:
            scores = self._prior.draw(self._statistics, self._rng, self._factor)
            scores[~self._active] = -np.inf
            return int(scores.argmax())
        s = self._statistics
        unplayed = self._unplayed_arms()
        reach = self._factor * REACH
        if len(unplayed) <= _FEW_UNPLAYED:
            arms = compiled.contenders(s.mean, s.std, self._active, reach)
            return int(
                compiled.best_draw(arms, s.mean, s.std, self._factor, self._normal(arms.size))
            )
        # Arms without payoffs have the same prior: the largest of k draws is one draw.
        played = self._active.copy()
        played[unplayed] = False
        largest = float(ndtri(self._rng.random() ** (1.0 / len(unplayed))))
        best = int(unplayed[self._rng.integers(len(unplayed))])
        score = s.prior_mean + self._factor * math.sqrt(s.prior_variance) * min(largest, REACH)
        if not played.any():
            return best
        arms = compiled.contenders(s.mean, s.std, played, reach)
        draws = self._normal(arms.size)
        arm = int(compiled.best_draw(arms, s.mean, s.std, self._factor, draws))
        drawn = s.mean[arm] + self._factor * s.std[arm] * draws[np.searchsorted(arms, arm)]
        return arm if drawn >= score else best

    def _unplayed_arms(self) -> NDArray[np.int64]:
        s = self._statistics
        if s.log.count >= 4 * len(self._arms):
            return np.zeros(0, dtype=np.int64)
        return np.flatnonzero(self._active & (s.counts == 0.0))

    def _normal(self, count: int) -> Array:
        dtype = np.float32 if count >= _SINGLE_PRECISION_FROM else np.float64
        return np.asarray(self._rng.standard_normal(count, dtype=dtype), dtype=np.float64)

    # -- telling

    def tell(self, arm: Any, payoff: ArrayLike) -> None:
        """Tell the payoff of an arm, or k payoffs of k arms (or of one), in any order.

        The arms need not have been asked, and may be retired. If any payoff or arm is refused,
        nothing is told.
        """
        if type(payoff) is float and self._arms.is_single(arm):
            self.tell_index(self._arms.number(arm), payoff)
            return
        payoffs = _checked_payoffs(payoff)
        if self._arms.is_single(arm):
            numbers = np.full(len(payoffs), self._arms.number(arm))
        else:
            numbers = self._arms.numbers(arm)
        self._tell_many(numbers, payoffs)

    def tell_index(self, index: int | ArrayLike, payoff: float | ArrayLike) -> None:
        """Tell payoffs by arm number: one number and one payoff, or k and k."""
        if type(index) is int and type(payoff) is float:
            # The common case in a loop: checked without making arrays.
            if not 0 <= index < len(self._active):
                checks.index("index", index, len(self._active))
            if not abs(payoff) <= LARGEST_PAYOFF:
                _checked_payoffs(payoff)
            self._tell_one(index, -payoff if self.minimize else payoff)
            return
        payoffs = _checked_payoffs(payoff)
        try:
            raw = np.atleast_1d(np.asarray(index))
        except ValueError as error:
            raise ValueError(f"`index` must hold arm numbers, but got {index!r}.") from error
        if raw.ndim != 1 or (raw.size and raw.dtype.kind not in "iu"):
            raise ValueError(f"`index` must hold arm numbers, but got {index!r}.")
        outside = (raw < 0) | (raw >= len(self._active))
        if outside.any():
            checks.index("index", int(raw[outside][0]), len(self._active))
        if raw.size == 1 and np.ndim(index) == 0:
            raw = np.repeat(raw, len(payoffs))
        self._tell_many(raw.astype(np.int64), payoffs)

    def _tell_many(self, numbers: NDArray[np.int64], payoffs: Array) -> None:
        if len(numbers) != len(payoffs):
            raise ValueError(
                f"`payoff` must hold one payoff an arm, but got {len(payoffs)} payoffs for "
                f"{len(numbers)} arms."
            )
        signed = -payoffs if self.minimize else payoffs
        if len(numbers) < max(8, self._statistics.log.count // 16):
            for number, payoff in zip(numbers.tolist(), signed.tolist(), strict=True):
                self._tell_one(number, payoff)
        elif len(numbers):
            self._statistics.extend(numbers, signed)
            self._pending -= np.minimum(
                self._pending, np.bincount(numbers, minlength=len(self._pending))
            )
            self._refreshed()

    def _tell_one(self, number: int, payoff: float) -> None:
        if self._statistics.add(number, payoff):
            self._refreshed()
        elif self._prior is not None:
            self._prior.update(self._statistics, number)
        if self._pending[number]:
            self._pending[number] -= 1

    def _refreshed(self) -> None:
        """Adapt to shared quantities that were estimated anew."""
        s = self._statistics
        if self._prior is not None:
            self._prior.refresh(s)
        mean, std = (s.mean, s.std) if self._prior is None else self._prior.posterior(s)
        competitors = compiled.count_competitors(mean, std, self._active, 2.0)
        if self._prior is not None:
            competitors *= self._prior.distinct_share
        self._factor = self.explore * min(1.0, (CROWD / max(competitors, 1)) ** CROWD_POWER)

    # -- arms and earlier payoffs

    def add_arms(self, arms: Any) -> None:
        """Add arms while the bandit runs; they start from the prior that all arms share."""
        if self._similarity is not None:
            raise ValueError("`arms` cannot be added beside a `similarity` of the present ones.")
        if self._arms.labels is not None and isinstance(arms, str | int):
            arms = [arms]
        self._arms = self._arms.extended(arms)
        count = len(self._arms) - len(self._active)
        self._statistics.add_arms(count)
        self._active = np.concatenate([self._active, np.ones(count, dtype=bool)])
        self._pending = np.concatenate([self._pending, np.zeros(count, dtype=np.int64)])
        if self._prior is not None:
            self._prior = KernelPrior(self._arms.inputs, None)
            self._refreshed()

    def retire(self, arm: Any) -> None:
        """Never play or recommend an arm again; payoffs still on their way may be told."""
        self._active[self._arms.number(arm)] = False

    def restore(self, arm: Any) -> None:
        """Play a retired arm again."""
        self._active[self._arms.number(arm)] = True

    def add(
        self,
        source: str | os.PathLike[str] | Bandit,
        *,
        by: str | None = None,
        value: str | None = None,
    ) -> int:
        """Add payoffs that were observed elsewhere; return how many.

        `source` is a CSV or Parquet file of payoffs (`by` names the column of arm labels, `value`
        that of payoffs; without them every column of numbers is an arm), a file that `save` wrote,
        or another Bandit. Arms that are not here are added. `merge` describes what happens with
        payoffs of another bandit that are here already.
        """
        if isinstance(source, Bandit):
            return self.merge(source)
        path = Path(source)
        if path.suffix.lower() == ".npz":
            return self.merge(storage.load(path))
        from tailproof.tails.files import read_table

        table = read_table(path, by=by, value=value)
        labels = self._arms.labels
        if labels is None:
            raise ValueError("`source` must be a Bandit or its file where arms have coordinates.")
        names: list[Any] = [series.name for series in table.arms]
        if type(labels[0]) is int:
            try:
                names = [int(name) for name in names]
            except ValueError as error:
                raise ValueError(f"`by` must hold integers like the labels, but: {error}") from None
        payoffs = [_checked_payoffs(series.values) for series in table.arms]
        known = set(labels)
        fresh = [name for name in names if name not in known]
        if fresh:
            self.add_arms(fresh)
        numbers = np.repeat(self._arms.numbers(names), [len(values) for values in payoffs])
        pending = self._pending.copy()  # earlier payoffs answer no ask
        self._tell_many(numbers, np.concatenate(payoffs))
        self._pending = pending
        return len(numbers)

    def merge(self, other: Bandit) -> int:
        """Add the payoffs of another bandit that are not here yet; return how many.

        Payoffs are recognized by the bandit that was told them first and their place among its
        payoffs. So workers that started from one saved state, or were merged before, can be
        merged in any order and any number of times. Arms that are not here are added. With a
        half-life payoffs keep their age.
        """
        if not isinstance(other, Bandit):
            raise ValueError(f"`other` must be a Bandit, but got {other!r}.")
        if other.minimize != self.minimize:
            raise ValueError("`other` must have the same `minimize`, but has not.")
        if other is self:
            return 0
        missing = self._arms.missing(other._arms)
        if missing:
            points = [other._arms.point(i) for i in missing]
            self.add_arms(points if self._arms.labels is not None else np.array(points))
        numbers = np.array(
            [self._arms.number(other._arms.point(i)) for i in range(len(other._arms))]
        )
        added = self._statistics.unite(other._statistics, numbers)
        if added:
            self._refreshed()
        return added

    # -- answers

    def __len__(self) -> int:
        return self._statistics.log.count

    def __repr__(self) -> str:
        return f"<Bandit on {len(self._arms)} arms, {len(self)} payoffs>"

    @property
    def arms(self) -> list[Any]:
        """The arms in the order of their numbers, retired ones too."""
        return [self._arms.point(i) for i in range(len(self._arms))]

    @property
    def active(self) -> NDArray[np.bool_]:
        """Which arms are not retired, (n,), a copy."""
        return self._active.copy()

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of payoffs of each arm, (n,)."""
        return self._statistics.counts.astype(np.int64)

    def payoffs(self, arm: Any) -> Array:
        """Return the payoffs of an arm in the order of telling, as told."""
        return self._sign * self._statistics.arm_payoffs(self._arms.number(arm))

    @property
    def _sign(self) -> float:
        return -1.0 if self.minimize else 1.0

    def _posterior(self) -> tuple[Array, Array]:
        """Posterior mean and standard deviation of all arms (n,), larger is better."""
        s = self._statistics
        if self.half_life is not None:
            s.update_posterior()
        if self._prior is not None:
            return self._prior.posterior(s)
        return s.mean, s.std

    def predict(self, level: float = 0.9) -> ArmTable:
        """Return robust mean, practical interval and probability of being best of every arm.

        Mean and interval of an arm with ten payoffs or more are made of its own payoffs; skewness,
        truncation and a longer tail widen the interval (`tailproof.means.one_sample`;
        docs/bandit.md states its coverage). If fewer than ten of them differ from the most common
        payoff, the mean is the posterior's, and the interval also holds the posterior's. Of an arm
        with fewer payoffs, or if older payoffs count less, both are the posterior's. It takes
        0.3 ms an arm.
        """
        level = checks.in_unit_interval("level", level, closed_above=False)
        self._require_payoffs("predict")
        mean, std = self._posterior()
        mean, q = self._sign * mean, float(ndtri(0.5 + 0.5 * level))
        lower, upper = mean - q * std, mean + q * std
        for arm, payoffs in self._payoffs_by_arm():
            mean[arm], lower[arm], upper[arm] = self._own_interval(
                payoffs, level, float(mean[arm]), float(lower[arm]), float(upper[arm])
            )
        return ArmTable(
            arms=tuple(self.arms),
            mean=mean,
            lower=lower,
            upper=upper,
            probability=self.probabilities(),
            payoffs=self.counts,
            level=level,
        )

    def _payoffs_by_arm(self) -> Iterator[tuple[int, Array]]:
        """Yield the arms that are judged by their own payoffs, and these in the user's units."""
        log = self._statistics.log
        order = np.argsort(log.arms, kind="stable")
        ends = np.cumsum(self.counts)
        for arm in np.flatnonzero(self.counts >= LEAST_OWN_PAYOFFS).tolist():
            own = order[ends[arm] - int(self._statistics.counts[arm]) : ends[arm]]
            yield arm, self._sign * log.payoffs[own]

    def _own_interval(
        self, payoffs: Array, level: float, mean: float, lower: float, upper: float
    ) -> tuple[float, float, float]:
        """Return mean, lower and upper from an arm's payoffs, given those of the posterior."""
        if self.half_life is not None:
            return mean, lower, upper
        own, interval = sample_interval(payoffs, level)
        apart = (self._sign * payoffs != self._statistics.shared[compiled.ATOM]).sum()
        if apart >= LEAST_OWN_PAYOFFS:
            return own, interval.lower, interval.upper
        return mean, min(lower, interval.lower), max(upper, interval.upper)

    def probabilities(self, draws: int = 2_000) -> Array:
        """Return the posterior probability that each arm has the best mean, (n,).

        It is the share of `draws` posterior draws in which the arm is best; retired arms get 0.
        Calling it does not change what `ask` returns next.
        """
        draws = checks.integer("draws", draws, low=1)
        rng = np.random.default_rng(0)
        wins = np.zeros(len(self._active))
        if not self._active.any() or not len(self):
            return self._active / max(int(self._active.sum()), 1)
        if self._prior is not None:
            for _ in range(draws):
                scores = self._prior.draw(self._statistics, rng, 1.0)
                scores[~self._active] = -np.inf
                wins[scores.argmax()] += 1.0
            return wins / draws
        mean, std = self._posterior()
        arms = compiled.contenders(mean, std, self._active, REACH)
        rows = max(1, 2_000_000 // arms.size)
        for start in range(0, draws, rows):
            size = (min(rows, draws - start), arms.size)
            scores = mean[arms] + std[arms] * rng.standard_normal(size)
            np.add.at(wins, arms[scores.argmax(axis=1)], 1.0)
        return wins / draws

    def recommend(self, level: float = 0.9) -> BanditRecommendation:
        """Return the arm with the best posterior mean; mean and interval are those of `predict`."""
        level = checks.in_unit_interval("level", level, closed_above=False)
        self._require_payoffs("recommend")
        mean, std = self._posterior()
        played = self._active & (self._statistics.counts > 0)
        if not played.any():
            raise ValueError("`recommend` needs payoffs of an arm that is not retired.")
        best = int(np.where(played, mean, -np.inf).argmax())
        count = int(self._statistics.counts[best])
        center, q = self._sign * float(mean[best]), float(ndtri(0.5 + 0.5 * level))
        half = q * float(std[best])
        lower, upper = center - half, center + half
        if count >= LEAST_OWN_PAYOFFS:
            own = self._sign * self._statistics.arm_payoffs(best)
            center, lower, upper = self._own_interval(own, level, center, lower, upper)
        return BanditRecommendation(
            arm=self._arms.point(best),
            index=best,
            mean=center,
            lower=lower,
            upper=upper,
            level=level,
            probability=float(self.probabilities()[best]),
            payoffs=count,
            total_payoffs=len(self),
        )

    def confidence_sequence(
        self, arm: Any, moment_bound: float, *, order: float = 2.0, level: float = 0.95
    ) -> Interval:
        """Return Catoni's confidence sequence of an arm's mean at this time.

        Unlike the practical intervals it has a guarantee: if E|y - mean|^order <= `moment_bound`
        (order 2: a variance) holds for the arm's payoffs given the past, the mean lies in the
        intervals of all times at once with probability `level`, however often one looks and
        however the arms were chosen. It is therefore much wider, and `moment_bound` must be known
        without looking at the payoffs. See `tailproof.means.catoni_sequence`.
        """
        if self.half_life is not None:
            raise ValueError("`half_life` must be None: with drift there is no one mean to cover.")
        return catoni_sequence(self.payoffs(arm), moment_bound, order=order, level=level)

    def _require_payoffs(self, what: str) -> None:
        if not len(self):
            raise ValueError(f"`{what}` needs at least one payoff, but none has been told.")

    # -- state

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one npz file of plain arrays; `tailproof.load` continues from it."""
        from tailproof.bandits import bandit_state

        storage.save(path, bandit_state.FORMAT, *bandit_state.to_state(self))


def _checked_similarity(similarity: Kernel | None, arms: ArmSet) -> Precomputed | None:
    if similarity is None:
        return None
    if not isinstance(similarity, Precomputed) or arms.labels is None:
        raise ValueError(
            "`similarity` must be a Precomputed kernel over labels, but got "
            f"similarity={similarity!r}."
        )
    if len(similarity.gram) != len(arms):
        raise ValueError(
            f"`similarity` must have one row an arm, but got {len(similarity.gram)} rows for "
            f"{len(arms)} arms."
        )
    return similarity


def _checked_payoffs(payoff: Any) -> Array:
    payoffs = checks.payoffs("payoff", payoff)
    if payoffs.size and float(np.abs(payoffs).max()) > LARGEST_PAYOFF:
        raise ValueError(
            f"`|payoff| <= {LARGEST_PAYOFF:g}` must hold, but got "
            f"{payoffs[np.abs(payoffs).argmax()]}."
        )
    return payoffs
