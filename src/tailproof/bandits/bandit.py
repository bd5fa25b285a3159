"""`Bandit`: many arms online with nothing to know in advance."""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailproof import storage
from tailproof._util import checks
from tailproof.bandits import bandit_answers as answers
from tailproof.bandits import exploration
from tailproof.bandits.arm_set import ArmSet, ParameterSpace, grid_arms
from tailproof.bandits.arm_statistics import ArmStatistics
from tailproof.bandits.bandit_inputs import (
    LARGEST_PAYOFF,
    checked_numbers,
    checked_payoffs,
    checked_similarity,
    read_payoffs,
)
from tailproof.bandits.bandit_results import ArmTable, BanditRecommendation
from tailproof.bandits.kernel_prior import KernelPrior
from tailproof.kernels import Kernel
from tailproof.means.intervals import Interval
from tailproof.means.sequences import catoni_sequence

Array = NDArray[np.float64]


class Bandit:
    """Choose among arms online, for the best mean payoff, with nothing to know in advance.

    Upper confidence bounds on robust means: each `ask` returns the arm with the largest posterior
    mean plus a multiple of its posterior standard deviation. Means, noise levels, truncation, the
    prior that arms share and the kernel of arms with coordinates are estimated from the payoffs
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
        Factor of the posterior standard deviation in the bounds of `ask`: 1 is the
        default amount of exploration, 0 always plays the best estimate, 2 explores more.
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
        self._similarity = checked_similarity(similarity, self._arms)
        self._rng = checks.generator(seed)
        n = len(self._arms)
        self._prior: KernelPrior | None = None
        related = self._arms.inputs is not None or self._similarity is not None
        self._statistics = ArmStatistics(n, self.half_life, splits=not related)
        if related:
            self._prior = KernelPrior(self._arms.inputs, self._similarity)
        self._active = np.ones(n, dtype=bool)
        self._pending = np.zeros(n, dtype=np.int64)
        kernel = self._prior is not None
        first = exploration.KERNEL_DESIGN_ARMS if kernel else exploration.DESIGN_ARMS
        self._design = self._rng.permutation(n)[:first]

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
            s, active = self._statistics, self._active
            if self._prior is None:
                arm = exploration.best_bound(s, active, self._pending, self.explore)
            else:
                arm = exploration.best_bound_of_curve(
                    s, self._prior, active, self._pending, self.explore
                )
        self._pending[arm] += 1
        return arm

    @property
    def pending(self) -> dict[int, int]:
        """Number of payoffs asked and not told yet, by arm number."""
        return {int(i): int(self._pending[i]) for i in np.flatnonzero(self._pending)}

    def _design_arm(self) -> int | None:
        """Return an arm of the first rounds, or None when these are over."""
        least = exploration.DESIGN_PAYOFFS
        if self._statistics.log.count >= least * len(self._design):
            return None
        design = self._design[self._active[self._design]]
        played = self._statistics.counts[design] + self._pending[design]
        if design.size and played.min() < least:
            return int(design[played.argmin()])
        if self._statistics.log.count:
            return None
        active = np.flatnonzero(self._active)
        return int(active[self._rng.integers(active.size)])

    # -- telling

    def tell(self, arm: Any, payoff: ArrayLike) -> None:
        """Tell the payoff of an arm, or k payoffs of k arms (or of one), in any order.

        The arms need not have been asked, and may be retired. If any payoff or arm is refused,
        nothing is told.
        """
        if type(payoff) is float and self._arms.is_single(arm):
            self.tell_index(self._arms.number(arm), payoff)
            return
        payoffs = checked_payoffs(payoff)
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
                checked_payoffs(payoff)
            self._tell_one(index, -payoff if self.minimize else payoff)
            return
        payoffs = checked_payoffs(payoff)
        numbers = checked_numbers(index, len(self._active), len(payoffs))
        self._tell_many(numbers, payoffs)

    def _tell_many(self, numbers: NDArray[np.int64], payoffs: Array) -> None:
        """Tell a `Bandit` checked payoffs of checked arms; many at once are estimated once."""
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
        """Tell a `Bandit` one checked payoff, larger is better."""
        if self._statistics.add(number, payoff):
            self._refreshed()
        elif self._prior is not None:
            self._prior.update(self._statistics, number)
        if self._pending[number]:
            self._pending[number] -= 1

    def _refreshed(self) -> None:
        """Adapt to shared quantities that were estimated anew."""
        if self._prior is not None:
            s = self._statistics
            if s.log.restarted == s.log.count:  # from the log alone; so is the kernel
                self._prior = KernelPrior(self._arms.inputs, self._similarity)
            self._prior.refresh(s)

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
        self._statistics.log.events.append((len(self), "arms", count))
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
        names, payoffs = read_payoffs(path, by, value, self._arms)
        known = set(self._arms.labels or ())
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
        """-1 if the payoffs told to a `Bandit` are minimized, else 1."""
        return -1.0 if self.minimize else 1.0

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
        mean, lower, upper = answers.estimates(self._statistics, self._prior, self._sign, level)
        return ArmTable(
            arms=tuple(self.arms),
            mean=mean,
            lower=lower,
            upper=upper,
            probability=self.probabilities(),
            payoffs=self.counts,
            level=level,
        )

    def probabilities(self, draws: int = 2_000) -> Array:
        """Return the posterior probability that each arm has the best mean, (n,).

        It is the share of `draws` posterior draws in which the arm is best; retired arms get 0.
        Calling it does not change what `ask` returns next.
        """
        draws = checks.integer("draws", draws, low=1)
        return answers.best_probabilities(self._statistics, self._prior, self._active, draws)

    def recommend(self, level: float = 0.9) -> BanditRecommendation:
        """Return the arm with the best posterior mean; mean and interval are those of `predict`."""
        level = checks.in_unit_interval("level", level, closed_above=False)
        self._require_payoffs("recommend")
        s = self._statistics
        played = self._active & (s.counts > 0)
        if not played.any():
            raise ValueError("`recommend` needs payoffs of an arm that is not retired.")
        best = int(np.where(played, answers.posterior(s, self._prior)[0], -np.inf).argmax())
        mean, lower, upper = answers.estimate(s, self._prior, self._sign, level, best)
        return BanditRecommendation(
            arm=self._arms.point(best),
            index=best,
            mean=mean,
            lower=lower,
            upper=upper,
            level=level,
            probability=float(self.probabilities()[best]),
            payoffs=int(s.counts[best]),
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
        """Raise an error if a `Bandit` has no payoff to answer from."""
        if not len(self):
            raise ValueError(f"`{what}` needs at least one payoff, but none has been told.")

    # -- state

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one npz file of plain arrays; `tailproof.load` continues from it."""
        from tailproof.bandits import bandit_state

        storage.save(path, bandit_state.FORMAT, *bandit_state.to_state(self))
