r"""A Gaussian process prior over the arms of a `Bandit`, its kernel learnt from the payoffs.

The means of the arms are f = mu + Phi w + d, with w ~ N(0, s^2 I), Phi Phi^T close to the kernel
matrix K of the arms (pivoted Cholesky, rank r), and independent d_i ~ N(0, t_i), where
t_i = tau^2 + s^2 (K_ii - |phi_i|^2): a nugget, and the part of the kernel that Phi leaves out. An
arm with robust mean m_i and squared standard error e_i then contributes

    D_i = 1 / (e_i + t_i),   A = I / s^2 + Phi^T D Phi,   w | m ~ N(A^-1 Phi^T D (m - mu), A^-1),

and d given w as usual. A payoff changes D at one arm: a rank-one change of the factor of A. K is
the Matern kernel with nu = 5/2 over coordinates scaled to [0, 1], one lengthscale a dimension, or
a given similarity. Lengthscales, s^2 and tau^2 maximize the marginal likelihood of the m_i, times a
weak prior, over a coarse grid, each time the payoffs have grown by half.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from tailproof._compiled import arm_statistics as compiled
from tailproof._compiled import cholesky as factor_loops
from tailproof._util.linalg import pivoted_cholesky
from tailproof.bandits.arm_statistics import ArmStatistics
from tailproof.kernels import Matern, Precomputed

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

MAX_RANK = 128
MOST_ARMS_FITTED = 300
FIT_GROWTH = 1.5
LENGTHSCALES = (0.03, 0.06, 0.12, 0.25, 0.5, 1.0, 2.0)  # of [0, 1]
SMOOTH_SHARES = (0.1, 0.5, 0.9, 0.99)  # s^2 / (s^2 + tau^2)
VARIANCE_STEPS = (0.25, 0.5, 2.0, 4.0)
LENGTHSCALE_STEPS = (0.5, 2.0, 4.0)
_ROUNDING = 1e-10


@dataclass(frozen=True)
class KernelParameters:
    """What is learnt: lengthscales in the scaled coordinates, and the two variances.

    The variances are in units of the variance between arms, `ArmStatistics.prior_variance`.
    """

    lengthscale: tuple[float, ...]
    smooth_variance: float
    nugget: float


class KernelPrior:
    """The posterior of arms under a kernel prior, for `ArmStatistics` of the same arms."""

    def __init__(self, inputs: Array | None, similarity: Precomputed | None) -> None:
        self._gram: Array | None = None
        if similarity is not None:
            diagonal = np.sqrt(np.maximum(np.diag(similarity.gram), _ROUNDING))
            self._gram = similarity.gram / np.outer(diagonal, diagonal)
            self._inputs = np.arange(len(similarity.gram), dtype=np.float64)[:, None]
        else:
            assert inputs is not None
            low, high = inputs.min(axis=0), inputs.max(axis=0)
            self._inputs = (inputs - low) / np.where(high > low, high - low, 1.0)
        dimensions = 1 if similarity is not None else self._inputs.shape[1]
        self.parameters = KernelParameters((0.25,) * dimensions, 1.0, 0.01)
        self.next_fit = 0
        self.mean, self.unit = 0.0, 1.0  # all quantities below are in this unit, from this mean
        self._set_features()
        self.factor = np.eye(self._features.shape[1])
        self.right = np.zeros(self._features.shape[1])
        self.precision = np.zeros(len(self._inputs))  # D of each arm
        self.told = np.zeros(len(self._inputs))  # the robust means taken in
        self._weights: Array | None = None  # posterior mean of w

    @property
    def rank(self) -> int:
        """Number of feature directions of the kernel prior."""
        return int(self._features.shape[1])

    @property
    def distinct_share(self) -> float:
        """Effective number of different arms, (tr K)^2 / tr K^2, over their number."""
        p = self.parameters
        share = p.nugget / (p.nugget + p.smooth_variance)
        return share + (1.0 - share) * self._distinct

    # -- kernel

    def _kernel_matrix(
        self, rows: Indices, columns: Indices, lengthscale: tuple[float, ...]
    ) -> Array:
        """Return the prior correlations of some arms with others."""
        if self._gram is not None:
            return self._gram[np.ix_(rows, columns)]
        return Matern(2.5, lengthscale).matrix(self._inputs[rows], self._inputs[columns])

    def _set_features(self) -> None:
        """Set the low-rank features of the arms under the present lengthscale."""
        everything = np.arange(len(self._inputs))
        scale = self.parameters.lengthscale

        def column(i: int) -> Array:
            return self._kernel_matrix(everything, np.array([i]), scale)[:, 0]

        self._features, _ = pivoted_cholesky(np.ones(len(everything)), column, 1e-6, MAX_RANK)
        inner = self._features.T @ self._features
        self._distinct = float(np.trace(inner) ** 2 / np.square(inner).sum()) / len(everything)
        self._left_out = np.maximum(1.0 - np.square(self._features).sum(axis=1), 0.0)

    def set_parameters(self, parameters: KernelParameters) -> None:
        """Use these parameters; the posterior has to be conditioned or restored afterwards."""
        same = parameters.lengthscale == self.parameters.lengthscale
        self.parameters = parameters
        if not same:
            self._set_features()

    # -- updates

    def refresh(self, statistics: ArmStatistics) -> None:
        """Adapt to statistics whose shared quantities changed; learn the kernel if it is due."""
        if statistics.log.count >= self.next_fit:
            self.next_fit = math.ceil(FIT_GROWTH * statistics.log.count)
            self.set_parameters(self._learnt_parameters(statistics))
        self.condition(statistics)
        self.share_prior(statistics)

    def condition(self, statistics: ArmStatistics) -> None:
        """Compute the posterior of the weights w of the kernel prior from all arms."""
        self.mean, self.unit = statistics.prior_mean, math.sqrt(statistics.prior_variance)
        means, error, played = self._scaled(statistics)
        self.precision = np.zeros(len(self._inputs))
        self.precision[played] = 1.0 / (error[played] + self.independent[played])
        weighted = self._features[played] * self.precision[played, None]
        matrix = self._features[played].T @ weighted
        matrix[np.diag_indices_from(matrix)] += 1.0 / self.parameters.smooth_variance
        self.factor = np.ascontiguousarray(cholesky(matrix, lower=True))
        self.right = weighted.T @ means[played]
        self.told = np.where(played, means, 0.0)
        self._weights = None

    def update(self, statistics: ArmStatistics, arm: int) -> None:
        """Take in the statistics of one arm that changed: O(r^2)."""
        row = statistics.stats[arm]
        error = row[compiled.NOISE] / row[compiled.WEIGHT] + row[compiled.SYSTEMATIC]
        error /= self.unit**2
        mean = (row[compiled.MEAN] - self.mean) / self.unit
        p = self.parameters
        own = p.nugget + p.smooth_variance * self._left_out[arm]
        precision = 1.0 / (error + own)
        change = precision - self.precision[arm]
        phi = self._features[arm]
        step = math.sqrt(abs(change)) * phi
        if not factor_loops.add_rank_one(self.factor, step, 1.0 if change >= 0.0 else -1.0):
            self.condition(statistics)
            return
        self.right += phi * (precision * mean - self.precision[arm] * self.told[arm])
        self.precision[arm], self.told[arm] = precision, mean
        self._weights = None

    @property
    def independent(self) -> Array:
        """t_i, the variance of an arm's mean beside the features, (n,)."""
        p = self.parameters
        return np.asarray(p.nugget + p.smooth_variance * self._left_out)

    def _mean_weights(self) -> Array:
        """Return the weights of the posterior mean in the features; kept until an update."""
        if self._weights is None:
            w = self.right.copy()
            factor_loops.solve_lower(self.factor, w)
            factor_loops.solve_transposed(self.factor, w)
            self._weights = w
        return self._weights

    # -- answers

    def draw(self, statistics: ArmStatistics, rng: np.random.Generator, factor: float) -> Array:
        """Return one draw of the arms' means, (n,), its deviation from the mean times `factor`."""
        deviation = rng.standard_normal(self.rank)
        factor_loops.solve_transposed(self.factor, deviation)
        both = self._features @ np.stack([self._mean_weights(), deviation], axis=1)
        means, error, played = self._scaled(statistics)
        share, std = self._independent_posterior(error, played)
        center = both[:, 0] + share * (means - both[:, 0])
        noise = std * rng.standard_normal(len(center))
        drawn = center + factor * ((1.0 - share) * both[:, 1] + noise)
        return np.asarray(self.mean + self.unit * drawn)

    def posterior(self, statistics: ArmStatistics) -> tuple[Array, Array]:
        """Return posterior mean and standard deviation of all arms, (n,) each."""
        means, error, played = self._scaled(statistics)
        share, std = self._independent_posterior(error, played)
        smooth = self._features @ self._mean_weights()
        center = smooth + share * (means - smooth)
        variance = (1.0 - share) ** 2 * self._smooth_variances() + std**2
        return self.mean + self.unit * center, self.unit * np.sqrt(variance)

    def _scaled(self, statistics: ArmStatistics) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Return robust means and squared standard errors in our unit, and which arms have any."""
        weight = statistics.effective
        played = weight > 0.0
        noise = statistics.stats[:, compiled.NOISE] / np.where(played, weight, 1.0)
        error = (noise + statistics.stats[:, compiled.SYSTEMATIC]) / self.unit**2
        means = (statistics.stats[:, compiled.MEAN] - self.mean) / self.unit
        return means, np.where(played, error, 0.0), played

    def _independent_posterior(
        self, error: Array, played: NDArray[np.bool_]
    ) -> tuple[Array, Array]:
        """Return the shrinkage of d given w, 0 where nothing was told, and its deviation, (n,)."""
        t = self.independent
        share = np.where(played, t / (t + np.where(played, error, 1.0)), 0.0)
        return share, np.sqrt(np.where(played, share * error, t))

    def _smooth_variances(self) -> Array:
        """Return the posterior variance of the smooth part of every arm, (n,)."""
        half = solve_triangular(self.factor, self._features.T, lower=True, check_finite=False)
        return np.square(half).sum(axis=0)

    def share_prior(self, statistics: ArmStatistics) -> None:
        """Set the centers from which the robust means and the pooled residuals are computed."""
        smooth = self.mean + self.unit * (self._features @ self._mean_weights())
        variance = self.unit**2 * (self._smooth_variances() + self.independent)
        statistics.stats[:, compiled.PRIOR_MEAN] = smooth
        statistics.stats[:, compiled.PRIOR_VARIANCE] = variance
        center, std = self.posterior(statistics)
        noise = statistics.stats[:, compiled.NOISE]
        leverage = np.where(noise > 0.0, std**2 / np.where(noise > 0.0, noise, 1.0), 1.0)
        statistics.residual_center, statistics.residual_leverage = center, np.minimum(leverage, 0.9)

    # -- learning

    def _learnt_parameters(self, statistics: ArmStatistics) -> KernelParameters:
        """Return the kernel parameters that maximize the likelihood of the arms' means."""
        self.mean, self.unit = statistics.prior_mean, math.sqrt(statistics.prior_variance)
        means, error, played = self._scaled(statistics)
        arms = np.flatnonzero(played)
        if len(arms) < 3:
            return self.parameters
        arms = arms[:: math.ceil(len(arms) / MOST_ARMS_FITTED)]
        dimensions = len(self.parameters.lengthscale)
        start = KernelParameters((0.25,) * dimensions, 0.9, 0.1)
        search = _Search(self, arms, means[arms], error[arms], start)
        if self._gram is None:
            search.try_all([replace(start, lengthscale=(s,) * dimensions) for s in LENGTHSCALES])
        for _ in range(2):
            now = search.best
            total = now.smooth_variance + now.nugget
            search.try_all(
                [
                    replace(now, smooth_variance=a * total, nugget=(1.0 - a) * total)
                    for a in SMOOTH_SHARES
                ]
            )
            now = search.best
            search.try_all(
                [
                    replace(now, smooth_variance=c * now.smooth_variance, nugget=c * now.nugget)
                    for c in VARIANCE_STEPS
                ]
            )
            if self._gram is None:
                for j in range(dimensions):
                    scales = search.best.lengthscale
                    search.try_all(
                        [
                            replace(
                                search.best,
                                lengthscale=(*scales[:j], c * scales[j], *scales[j + 1 :]),
                            )
                            for c in LENGTHSCALE_STEPS
                        ]
                    )
        return search.best


class _Search:
    """The best parameters so far, by the marginal likelihood of the arms' robust means."""

    def __init__(
        self, prior: KernelPrior, arms: Indices, means: Array, error: Array, start: KernelParameters
    ) -> None:
        """Start the search for the parameters of a kernel prior."""
        self._prior, self._arms, self._means, self._error = prior, arms, means, error
        self._matrices: dict[tuple[float, ...], Array] = {}
        self.best, self._value = start, self._likelihood(start)

    def try_all(self, candidates: list[KernelParameters]) -> None:
        """Keep the best candidate for the parameters of the kernel prior, if better than before."""
        for candidate in candidates:
            value = self._likelihood(candidate)
            if value > self._value:
                self.best, self._value = candidate, value

    def _likelihood(self, p: KernelParameters) -> float:
        """Return the log likelihood of the arms' means under parameters of the kernel prior."""
        if p.lengthscale not in self._matrices:
            self._matrices[p.lengthscale] = self._prior._kernel_matrix(
                self._arms, self._arms, p.lengthscale
            )
        covariance = p.smooth_variance * self._matrices[p.lengthscale]
        covariance[np.diag_indices_from(covariance)] += p.nugget + self._error
        try:
            L = cholesky(covariance, lower=True, check_finite=False, overwrite_a=True)
        except LinAlgError:
            return -math.inf
        ones = np.ones(len(self._means))
        half = solve_triangular(
            L, np.stack([self._means, ones], axis=1), lower=True, check_finite=False
        )
        # The constant mean is profiled out.
        offset = float(half[:, 0] @ half[:, 1]) / float(half[:, 1] @ half[:, 1])
        rest = half[:, 0] - offset * half[:, 1]
        log_likelihood = -0.5 * float(rest @ rest) - float(np.log(np.diag(L)).sum())
        return log_likelihood + _log_prior(p)


def _log_prior(p: KernelParameters) -> float:
    """Return the log prior of the kernel's parameters, which prefers smooth means, but a constant.

    ln(lengthscale / 0.3) and ln(variance) / 1.5 are standard normal, the share of the nugget is
    exponential with mean 0.4; it decides while few arms have payoffs.
    """
    total = p.smooth_variance + p.nugget
    scales = sum(math.log(scale / 0.3) ** 2 for scale in p.lengthscale)
    return -0.5 * (scales + (math.log(total) / 1.5) ** 2) - 2.5 * p.nugget / total
