"""Sparse payoffs: most are equal to one value, as where most users buy nothing.

A payoff is the tied value a with probability 1 - p(x), and follows a law with mean m(x) else:

    f(x) = a + p(x) (m(x) - a).

p is a logistic Gaussian process (`occurrence`), m the usual model of the other payoffs alone: a
two-part model (Cragg, 1971). `link` says on which scale the parts combine. Their uncertainties are
added by the delta method; given single payoffs the parts are independent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tailproof.search.model import fit, posterior
from tailproof.search.model.link import Link
from tailproof.search.model.occurrence import (
    Counts,
    Occurrence,
    OccurrenceParameters,
    condition_occurrence,
    count_by_place,
    fit_occurrence,
)
from tailproof.search.model.parameters import ModelConfig, ModelParameters, Observations
from tailproof.search.model.posterior import Posterior
from tailproof.search.model.ties import tied_means_as_payoffs, tied_value

Array = NDArray[np.float64]


@dataclass(frozen=True)
class TwoPartParameters:
    """All that a fit learns."""

    count: int  # number of payoffs it was fitted to
    link: Link
    occurrence: OccurrenceParameters
    amounts: ModelParameters


@dataclass(frozen=True)
class TwoPartPosterior:
    """Posterior of the mean payoff: the same methods as `posterior.Posterior`."""

    link: Link
    occurrence: Occurrence  # of p
    amounts: Posterior  # of m
    observations: Observations  # of the amounts
    config: ModelConfig  # of the amounts
    differs: NDArray[np.bool_]  # which payoffs are single ones that differ from the tie, (n,)
    n_residuals: int  # number of single payoffs
    noise_var: float = math.inf  # whether a payoff is tied is noise
    signal_var: float = 0.0  # no mean is known so well that another payoff teaches nothing
    rests_on_tails: bool = False  # so no second opinion is needed

    @property
    def clipped(self) -> NDArray[np.bool_]:
        """Which payoffs count for less than half of a usual one, (n,)."""
        flags = np.zeros(len(self.differs), dtype=np.bool_)
        flags[self.differs] = self.amounts.clipped[-int(self.differs.sum()) :]
        return flags

    @property
    def bad_outliers(self) -> NDArray[np.bool_]:
        """None of the payoffs, (n,): a tied payoff says nothing against its configuration."""
        return np.zeros(len(self.differs), dtype=np.bool_)

    @property
    def noise_residuals(self) -> Array:
        """Relative sizes of the amounts where they are known, and 0 for each tied payoff, (k,)."""
        residuals = self.amounts.noise_residuals
        if self.link.side:
            residuals = 1.0 + self.link.side * self.amounts.parameters.scale * residuals
        return np.append(np.zeros(self.n_residuals - int(self.differs.sum())), residuals)

    def predict(self, X: Array) -> tuple[Array, Array]:
        """Return mean and standard deviation of the link's value at the rows of X (n, p)."""
        eta, variance = self.occurrence.predict(X)
        z, deviation = self.amounts.predict(X)
        v, unit = self.amounts.payoff(z), self.amounts.parameters.scale
        by_eta, by_v = self.link.slopes(eta, v)
        spread = np.hypot(by_eta * np.sqrt(variance), by_v * unit * deviation)
        return self.link.value(eta, v), spread

    def payoff(self, value: Array) -> Array:
        """Return payoffs in the user's units, larger is better, from values of the link."""
        return self.link.payoff(value)

    def ucb(self, X: Array, kappa: float) -> Array:
        """Return the upper confidence bound that the search maximizes at the rows of X (n, p).

        The excess of the amounts' bound over their mean counts as `kappa` deviations of them.
        """
        eta, variance = self.occurrence.predict(X)
        unit = self.amounts.parameters.scale
        v = self.amounts.payoff(self.amounts.predict(X)[0])
        by_eta, by_v = self.link.slopes(eta, v)
        excess = self.amounts.ucb(X, kappa) - self.amounts.ucb(X, 0.0)
        doubt = np.hypot(by_eta * kappa * np.sqrt(variance), by_v * unit * np.maximum(excess, 0.0))
        return self.link.value(eta, v) + doubt

    def ucb_gradient(self, X: Array, kappa: float) -> tuple[Array, Array]:
        """Return `ucb` at few rows of X (n, p), (n,), and its gradients, (n, p)."""
        link, unit = self.link, self.amounts.parameters.scale
        eta, variance, d_eta, d_variance = self.occurrence.process.predict_gradient(X)
        eta = eta + self.occurrence.offset
        v = self.amounts.payoff(self.amounts.predict(X)[0])
        low, d_low = self.amounts.ucb_gradient(X, 0.0)
        high, d_high = self.amounts.ucb_gradient(X, kappa)
        d_v = unit * d_low
        by_eta, by_v = (slope[:, None] for slope in link.slopes(eta, v))
        twice, mixed = (curvature[:, None] for curvature in link.curvatures(eta, v))
        value, gradient = link.value(eta, v), by_eta * d_eta + by_v * d_v
        deviation = np.sqrt(np.maximum(variance, 1e-300))[:, None]
        excess = unit * np.maximum(high - low, 0.0)[:, None]
        a, b = by_eta * kappa * deviation, by_v * excess
        doubt = np.hypot(a, b)
        d_a = kappa * (
            deviation * (twice * d_eta + mixed * d_v) + by_eta * d_variance / (2.0 * deviation)
        )
        d_b = mixed * d_eta * excess + by_v * unit * (d_high - d_low) * (high > low)[:, None]
        unit_doubt = np.where(doubt > 0.0, doubt, 1.0)
        slope = a / unit_doubt * d_a + b / unit_doubt * d_b
        return value + doubt[:, 0], gradient + slope

    def suppose(self, draw: float) -> TwoPartPosterior:
        """Return the posterior that supposes of the amounts what `Posterior.suppose` does."""
        return replace(self, amounts=self.amounts.suppose(draw))

    def sample_means(self, X: Array, count: int, rng: np.random.Generator) -> Array:
        """Return joint draws (count, k) of the mean payoff at the rows of X (k, p)."""
        eta = self.occurrence.sample(X, count, rng)
        v = self.amounts.sample_means(X, count, rng)
        return self.link.payoff(self.link.value(eta, v))

    def interval(self, X: Array, level: float) -> tuple[Array, Array, Array]:
        """Return means, lower and upper ends of intervals for the mean payoff at X, (k,) each.

        Added in squares to the uncertainties of both parts is what the amounts' truncation may
        hide, and how far their mean moves without the most extreme one.
        """
        amounts, unit = self.amounts, self.amounts.parameters.scale
        eta, variance = self.occurrence.predict(X)
        z, deviation = amounts.predict(X)
        v = amounts.payoff(z)
        by_eta, by_v = self.link.slopes(eta, v)
        c, warp = amounts.correction, amounts.parameters.warp
        slope = float(warp.shift_slope(np.array(c.mean)))
        sway = posterior.influence_of_most_extreme(amounts, self.observations, self.config, X)
        factor = -float(ndtri((1.0 - level) / 2.0))
        of_eta, value = by_eta * factor * np.sqrt(variance), self.link.value(eta, v)
        below, above = (
            np.hypot(of_eta, by_v * unit * np.hypot(factor * deviation, slope * hidden + sway))
            for hidden in c.hidden
        )
        return self.payoff(value), self.payoff(value - below), self.payoff(value + above)


def interval(
    given_all: Posterior | TwoPartPosterior,
    observations: Observations,
    config: ModelConfig,
    X: Array,
    level: float,
) -> tuple[Array, Array, Array]:
    """Return means, lower and upper ends of intervals for mean payoffs at X, by one part or two.

    In units of the payoff, larger is better. The posterior `given_all` has no pending trials and
    was made from `observations` and `config`.
    """
    if isinstance(given_all, TwoPartPosterior):
        return given_all.interval(X, level)
    sway = posterior.influence_of_most_extreme(given_all, observations, config, X)
    return posterior.interval(given_all, X, level, sway)


def fit_model(
    observations: Observations,
    previous: ModelParameters | TwoPartParameters | None,
    config: ModelConfig,
) -> ModelParameters | TwoPartParameters:
    """Fit one part or two, as suits the payoffs; start from `previous` if that is of its kind."""
    tie = None if config.truncates else tied_value(observations)
    if tie is None:
        start = previous if isinstance(previous, ModelParameters) else None
        return fit.fit_model(observations, start, config)
    before = previous if isinstance(previous, TwoPartParameters) else None
    observations = tied_means_as_payoffs(observations, tie)
    single = observations.take(np.flatnonzero(observations.single))
    differs = single.payoffs != tie
    above = single.payoffs[differs] > tie
    side = 0.0
    if config.warp == "learnt" and (above.all() or not above.any()):
        side = 1.0 if above.all() else -1.0
    link = Link(tie, side)
    counts = count_by_place(single.points, differs)
    occurrence = fit_occurrence(
        counts, config.layout, config.prior, before.occurrence if before else None
    )
    amounts = single.take(np.flatnonzero(differs))
    amounts = replace(amounts, payoffs=link.amounts(amounts.payoffs))
    start = before.amounts if before and before.link.side == side else None
    fitted = fit.fit_model(amounts, start, _amounts_config(config, link))
    return TwoPartParameters(len(observations), link, occurrence, fitted)


def condition(
    observations: Observations,
    pending: Array,
    parameters: ModelParameters | TwoPartParameters,
    config: ModelConfig,
) -> Posterior | TwoPartPosterior:
    """Return the posterior given all payoffs told, of one part or of two, under fitted parameters.

    `pending` (k, p) are encoded configurations of running trials: they lower the variance alone.
    """
    if isinstance(parameters, ModelParameters):
        return posterior.condition(observations, pending, parameters, config)
    link, layout, config = parameters.link, config.layout, _amounts_config(config, parameters.link)
    observations = tied_means_as_payoffs(observations, link.tie)
    single = observations.single
    differs = single & (observations.payoffs != link.tie)
    counts = count_by_place(observations.points[single], differs[single])
    amounts = observations.take(np.flatnonzero(differs))
    amounts = replace(amounts, payoffs=link.amounts(amounts.payoffs))
    fitted = parameters.amounts
    if not single.all():
        nothing = pending[:0]
        p = condition_occurrence(counts, layout, parameters.occurrence, nothing)
        m = posterior.condition(amounts, nothing, fitted, config)
        told = observations.take(np.flatnonzero(~single))
        counts, more = _parts_of_means(told, link, counts, p, m)
        amounts = Observations(
            np.vstack([more.points, amounts.points]),
            np.append(more.payoffs, amounts.payoffs),
            np.append(more.sem, amounts.sem),
        )
        fitted = replace(fitted, precision=np.append(np.ones(len(more)), fitted.precision))
    return TwoPartPosterior(
        link,
        condition_occurrence(counts, layout, parameters.occurrence, pending),
        posterior.condition(amounts, pending, fitted, config),
        amounts,
        config,
        differs,
        int(single.sum()),
    )


def _amounts_config(config: ModelConfig, link: Link) -> ModelConfig:
    """Return the configuration of the amounts' model: its target is their mean in any case."""
    warp = {1.0: "logarithms", -1.0: "minus logarithms", 0.0: "identity"}[link.side]
    return replace(config, warp=warp, corrects_mean=True)


def _parts_of_means(
    told: Observations, link: Link, counts: Counts, p: Occurrence, m: Posterior
) -> tuple[Counts, Observations]:
    """Return what means with standard errors say of the two parts: counts and amounts.

    A mean is an observation of f. To first order its distance from the expected one is a sum of
    both parts' and its error, so each part gets it with the variance of the other one added: the
    marginal posteriors are exact then, and as if independent, which makes intervals no shorter.
    """
    eta, variance = p.predict(told.points)
    z, deviation = m.predict(told.points)
    v, unit = m.payoff(z), m.parameters.scale
    by_eta, by_v = link.slopes(eta, v)
    step, error = link.step(told.payoffs, told.sem, link.value(eta, v))
    of_eta, of_v = by_eta**2 * variance, (by_v * unit * deviation) ** 2
    amounts = Observations(told.points, v + step / by_v, np.sqrt(error**2 + of_eta) / np.abs(by_v))
    precision = by_eta**2 / np.maximum(error**2 + of_v, 1e-300)
    usable = precision > 0.0
    values = eta - p.offset + np.divide(step, by_eta, out=np.zeros_like(eta), where=usable)
    places, which = np.unique(np.vstack([counts.places, told.points]), axis=0, return_inverse=True)
    which, size, old = which.reshape(-1), len(places), len(counts.places)
    precision = np.where(usable, precision, 0.0)
    total = np.bincount(which[old:], weights=precision, minlength=size).astype(np.float64)
    sums = np.bincount(which[old:], weights=precision * values, minlength=size)
    mean = np.divide(sums, total, out=np.zeros(size), where=total > 0.0)
    trials, hits = np.zeros(size), np.zeros(size)
    trials[which[:old]], hits[which[:old]] = counts.trials, counts.hits
    return Counts(places, trials, hits, mean, total), amounts
