"""The model of the mean payoff that an optimizer asks: refits when due, and predicts.

What is kept in between saves time only: parameters and posterior follow from the trials told, in
their order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailproof.search.model.fit import next_refit
from tailproof.search.model.parameters import ModelConfig, ModelParameters, Observations
from tailproof.search.model.posterior import Posterior, keep_sign
from tailproof.search.model.two_part import (
    TwoPartParameters,
    TwoPartPosterior,
    condition,
    fit_model,
    interval,
)
from tailproof.search.results import Prediction
from tailproof.search.space.encodings import EncodedSpace
from tailproof.search.trials import TrialLog, any_by_trial, observations

Array = NDArray[np.float64]
# Of all payoffs by one process, or of sparse ones by two.
AnyParameters = ModelParameters | TwoPartParameters
AnyPosterior = Posterior | TwoPartPosterior

# Two models: the one that recommends, and one of truncated payoffs that proposes now and then.
ROBUST, DIRECT = "robust", "direct"
# Every fourth fit does not start from the one before: a bad start is overcome, and a rebuilt
# optimizer has at most four fits to repeat.
_FRESH = 4
# Fewest payoffs whose tails are diagnosed, and the variance below which noise is none: a hundredth
# of the payoffs' deviation.
_FEWEST_FOR_TAILS, _LEAST_NOISE = 20, 1e-4
# Ranges of the payoffs by which that of a failed trial may be worse than all others.
_WORSE_BY = 1.0


class PayoffModel:
    """The mean payoff at places U (k, d) of the search cube, given the trials of a log.

    Parameters
    ----------
    space
        Whose places it models.
    log
        The trials; read at every call.
    config
        How the model is fitted.
    first_fit
        Number of payoffs at which the first fit is due.
    minimize
        Whether payoffs are costs.
    """

    def __init__(
        self,
        space: EncodedSpace,
        log: TrialLog,
        config: ModelConfig,
        *,
        first_fit: int,
        minimize: bool,
    ) -> None:
        self.space, self.minimize, self.first_fit = space, minimize, first_fit
        self._log = log
        self._configs = {ROBUST: config, DIRECT: config.direct()}
        self._fitted: dict[str, AnyParameters] = {}
        self._posterior: tuple[Any, AnyPosterior] | None = None

    def posterior(self, pending: Sequence[Array] = ()) -> AnyPosterior:
        """Return the posterior given all payoffs and pending places; the last one is kept."""
        return self._condition(pending, ROBUST)

    def posterior_of_truncated_payoffs(self, pending: Sequence[Array] = ()) -> AnyPosterior:
        """Return that of a Gaussian process which takes outliers at their value, truncated."""
        return self._condition(pending, DIRECT)

    def _condition(self, pending: Sequence[Array], kind: str) -> AnyPosterior:
        """Return the posterior of one of the two models; the last one is kept."""
        key = (kind, len(self._log.completed), len(pending), np.array(pending).tobytes())
        if self._posterior is None or self._posterior[0] != key:
            waiting = self.space.encode(self.space.stack(pending))
            model = self._fit_when_due(kind)
            told = self._observations()
            self._posterior = (key, condition(told, waiting, model, self._configs[kind]))
        return self._posterior[1]

    def _fit_when_due(self, kind: str) -> AnyParameters:
        """Return the parameters of the last fit that was due, with those before it if needed."""
        count = sum(len(done.payoffs) for done in self._log.completed.values())
        config = self._configs[kind]
        if count < self.first_fit:
            return fit_model(self._observations(), None, config)
        due = [self.first_fit]
        while next_refit(due[-1]) <= count:
            due.append(next_refit(due[-1]))
        model = self._fitted.get(kind)
        if model is not None and model.count == due[-1]:
            return model
        begin = (len(due) - 1) // _FRESH * _FRESH
        if kind == DIRECT:  # its fit does not start from the one before
            begin = len(due) - 1
        if model is not None and model.count not in due[begin:]:
            model = None
        for index in range(begin, len(due)):
            if model is None or model.count < due[index]:
                start = None if index == begin else model
                model = fit_model(self._observations(due[index]), start, config)
        assert model is not None
        self._fitted[kind] = model
        return model

    def predict(self, U: Array, level: float) -> Prediction:
        """Return robust means with intervals at places U (k, d), in the user's units."""
        posterior, X = self.posterior(), self.space.encode(U)
        told, config = self._observations(), self._configs[ROBUST]
        mean, lower, upper = interval(posterior, told, config, X, level)
        if self.minimize:
            mean, lower, upper = -mean, -upper, -lower
        payoffs = [done.value for done in self._log.completed.values()]
        mean, lower, upper = keep_sign(np.array([mean, lower, upper]), min(payoffs), max(payoffs))
        return Prediction(mean, lower, upper, level)

    def draw_means(self, U: Array, count: int, rng: np.random.Generator) -> Array:
        """Return joint draws (count, k) of the mean payoff at places U (k, d), larger is better."""
        return self.posterior().sample_means(self.space.encode(U), count, rng)

    def best_of(self, U: Array, level: float) -> Array:
        """Return which of the places U (k, d) has the best robust mean, (d,)."""
        mean = self.predict(U, level).mean
        return U[int(np.argmin(mean) if self.minimize else np.argmax(mean))]

    def clipped(self) -> NDArray[np.bool_]:
        """Return which completed trials have a residual that the robust loss limits, (n,)."""
        completed = list(self._log.completed.values())
        if not completed:
            return np.zeros(0, dtype=np.bool_)
        return any_by_trial(completed, self.posterior().clipped)

    def refuted(self) -> NDArray[np.bool_]:
        """Return which completed trials told nothing but outliers on the bad side, (n,)."""
        completed = list(self._log.completed.values())
        return ~any_by_trial(completed, ~self.posterior().bad_outliers)

    def tails_in_words(self) -> str:
        """Say how heavy the tails of the noise look, apart from effects of the parameters."""
        posterior = self.posterior()
        residuals = self._noise_residuals(posterior)
        if posterior.n_residuals < _FEWEST_FOR_TAILS:
            return f"tails not judged from fewer than {_FEWEST_FOR_TAILS} single payoffs"
        if posterior.noise_var <= _LEAST_NOISE:
            return "no noise seen"
        if len(residuals) < _FEWEST_FOR_TAILS or float(np.ptp(residuals)) == 0.0:
            return "tails not judged: the noise is not known apart from effects of the parameters"
        from tailproof.tails import diagnose  # loads scipy.stats, which is slow

        return f"{diagnose(np.clip(residuals, -1e60, 1e60)).pooled.verdict}"

    def _noise_residuals(self, posterior: AnyPosterior) -> Array:
        """Return the residuals that tell of the noise, (k,): what failed trials are given does not.

        Sparse payoffs have no residuals to tell apart.
        """
        if not self._log.failed or not isinstance(posterior, Posterior):
            return posterior.noise_residuals
        around = posterior.residuals
        noise_share = around.weights(math.sqrt(around.noise_var))
        failed = self._failed_rows()[self._observations().single]
        return around.values[(noise_share >= 0.5) & ~failed]

    def limited_values(self) -> Array:
        """Return what each trial was told, (n,), limited as the model takes that of failed ones."""
        completed, sign = list(self._log.completed.values()), -1.0 if self.minimize else 1.0
        failed = np.array([done.trial.number in self._log.failed for done in completed], dtype=bool)
        return sign * limited_failures(sign * np.array([done.value for done in completed]), failed)

    def _failed_rows(self) -> NDArray[np.bool_]:
        """Return which payoffs are those that failed trials are given, (n,)."""
        log = self._log
        rows = [k in log.failed for k, done in log.completed.items() for _ in done.payoffs]
        return np.array(rows, dtype=np.bool_)

    def _observations(self, count: int | None = None) -> Observations:
        """Return the first `count` payoffs, or all, larger is better, and their places.

        A failed trial has the payoff that failed trials are given, limited (`limited_failures`).
        """
        completed = list(self._log.completed.values())
        points = self.space.encode(self.space.stack(self._log.places))
        told = observations(completed, points, -1.0 if self.minimize else 1.0)
        told = told if count is None else told.take(slice(count))
        if not self._log.failed:
            return told
        payoffs = limited_failures(told.payoffs, self._failed_rows()[: len(told)])
        return replace(told, payoffs=payoffs)


def limited_failures(payoffs: Array, failed: NDArray[np.bool_]) -> Array:
    """Return the payoff model's payoffs (n,), larger is better; those of failed trials are limited.

    They are at least the smallest of the others less the others' range: further away they would
    say of no configuration that it is worse, and widen the intervals of all.

    Examples
    --------
    >>> limited_failures(np.array([2.0, -1e6, 3.0]), np.array([False, True, False])).tolist()
    [2.0, 1.0, 3.0]
    """
    others = payoffs[~failed]
    if others.size < 2 or np.ptp(others) == 0.0:
        return payoffs
    least = float(others.min()) - _WORSE_BY * float(np.ptp(others))
    return np.where(failed, np.maximum(payoffs, least), payoffs)
