"""How often payoffs differ from a tied value: a Gaussian process on the logit of the probability.

Of n payoffs at a place x, k differ from the tied value:

    k ~ Binomial(n, p(x)),    logit p(x) = offset + eta(x),    eta ~ GP.

The posterior of eta is approximated by a normal one at its mode (Rasmussen and Williams, 2006, ch.
3), found by weighted least squares in turns: with w = n p (1 - p), an observation

    eta + (k - n p) / w    of variance    1 / w.

Lengthscales and signal variance maximize the marginal likelihood of these observations (penalized
quasi-likelihood: Breslow and Clayton, 1993). Payoffs enter as counts, so their number costs
nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from tailproof.search.model.constants import TWO_PART
from tailproof.search.model.correlation import KernelLayout, KernelParameters
from tailproof.search.model.gp import (
    Design,
    GPPosterior,
    WeightedFit,
    inducing_points_for,
    make_design,
)
from tailproof.search.model.hyperparameters import (
    Prior,
    Sample,
    evenly_spaced,
    maximize_posterior,
    prior_median,
)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Counts:
    """Payoffs counted by place, and what is known of eta from elsewhere."""

    places: Array  # distinct, in the order in which they came, (k, p)
    trials: Array  # payoffs at each, (k,)
    hits: Array  # of which differ from the tied value, (k,)
    values: Array  # observations of eta besides, (k,); any number where the precision is 0
    precision: Array  # of these, (k,)


def count_by_place(points: Array, hits: NDArray[np.bool_]) -> Counts:
    """Count occurrences by place: of single payoffs at points (n, p), `hits` (n,) differ.

    Examples
    --------
    >>> counts = count_by_place(np.array([[0.5], [0.1], [0.5]]), np.array([True, False, False]))
    >>> counts.places.ravel(), counts.trials, counts.hits
    (array([0.5, 0.1]), array([2., 1.]), array([1., 0.]))
    """
    places, first, which = np.unique(points, axis=0, return_index=True, return_inverse=True)
    order, which = np.argsort(first, kind="stable"), which.reshape(-1)
    trials = np.bincount(which, minlength=len(places)).astype(np.float64)[order]
    found = np.bincount(which, weights=hits.astype(np.float64), minlength=len(places))[order]
    zeros = np.zeros(len(places))
    return Counts(np.ascontiguousarray(places[order]), trials, np.asarray(found), zeros, zeros)


@dataclass(frozen=True)
class OccurrenceParameters:
    """All that a fit learns."""

    offset: float  # logit of the share of payoffs that differ
    kernel: KernelParameters  # of eta; its noise variance is 1, in units of the binomial's
    inducing_points: Array | None = None


@dataclass(frozen=True)
class Occurrence:
    """Posterior of the logit of the probability that a payoff differs from the tied value."""

    offset: float
    process: GPPosterior  # of eta

    def predict(self, X: Array) -> tuple[Array, Array]:
        """Return mean and variance of an occurrence's logit p at the rows of X (n, p)."""
        mean, variance = self.process.predict(X)
        return self.offset + mean, variance

    def sample(self, X: Array, count: int, rng: np.random.Generator) -> Array:
        """Return joint draws (count, k) of an occurrence's logit p at the rows of X (k, p)."""
        mean, covariance = self.process.joint(X)
        values, vectors = np.linalg.eigh(covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        draws: Array = rng.standard_normal((count, len(mean))) @ root.T
        return self.offset + mean + draws


def fit_occurrence(
    counts: Counts, layout: KernelLayout, prior: Prior, previous: OccurrenceParameters | None
) -> OccurrenceParameters:
    """Fit the occurrence's offset and kernel parameters, starting from those of `previous`."""
    share = (float(counts.hits.sum()) + 0.5) / (float(counts.trials.sum()) + 1.0)
    offset = math.log(share / (1.0 - share))
    # The noise is binomial: its variance is known, so its prior leaves no choice.
    noise = (0.0, TWO_PART.noise_deviation)
    prior = replace(prior, signal=TWO_PART.signal, noise=noise, nugget=None)
    kernel = prior_median(prior, layout.n_lengthscales)
    if previous is not None:
        kernel = previous.kernel
    rows = evenly_spaced(len(counts.places), TWO_PART.rows)
    points = counts.places[rows]
    eta = np.zeros(len(counts.places))
    for _ in range(TWO_PART.rounds):
        z, w = _working_response(counts, offset, eta)
        sample = Sample(points, z[rows], 1.0 / w[rows])
        kernel = maximize_posterior(layout, sample, prior, kernel, TWO_PART.steps)
        kernel = replace(kernel, noise_var=1.0)
        inducing = inducing_points_for(layout, kernel.lengthscales, counts.places)
        design = make_design(layout, kernel, counts.places, points[:0], inducing)
        eta = _find_mode(design, counts, offset, eta).fitted
    return OccurrenceParameters(offset, kernel, inducing)


def condition_occurrence(
    counts: Counts, layout: KernelLayout, parameters: OccurrenceParameters, pending: Array
) -> Occurrence:
    """Return the posterior of the occurrence given all counts; `pending` (k, p) only narrow it."""
    offset = parameters.offset
    design = make_design(
        layout, parameters.kernel, counts.places, pending, parameters.inducing_points
    )
    mode = _find_mode(design, counts, offset, np.zeros(len(counts.places)))
    p = expit(offset + mode.fitted)
    # A pending trial is worth one payoff, not all of those at a place.
    return Occurrence(offset, replace(mode, precision=p * (1.0 - p)).posterior())


def _working_response(counts: Counts, offset: float, eta: Array) -> tuple[Array, Array]:
    """Return observations, and precisions, that are as informative on the occurrence near eta."""
    p = expit(offset + eta)
    w = np.maximum(counts.trials * p * (1.0 - p), TWO_PART.least_precision)
    z = eta + (counts.hits - counts.trials * p) / w
    total = w + counts.precision
    return (w * z + counts.precision * counts.values) / total, total


def _find_mode(design: Design, counts: Counts, offset: float, eta: Array) -> WeightedFit:
    """Return the occurrence's normal approximation at the mode, by Newton's method from eta."""
    for _ in range(TWO_PART.newton_steps):
        z, w = _working_response(counts, offset, eta)
        mode = design.fit(w, z)
        change = mode.fitted - eta
        largest = float(np.abs(change).max())
        if largest < TWO_PART.tolerance:
            break
        # Far from the mode the quadratic approximation is poor: one step moves every logit by at
        # most so much.
        eta = eta + change * min(1.0, TWO_PART.largest_step / largest)
    return mode
