"""All constants of the practical model, chosen on the choosing split of benchmarks/practical."""

from __future__ import annotations

import math
from dataclasses import dataclass

# Prior variance of the process's constant, in units of the payoffs' robust variance.
CONSTANT_VAR = 1.0


@dataclass(frozen=True)
class StandardizeConstants:
    """Of `tailproof.search.model.parameters.ModelParameters.standardize`."""

    grains: float = 2.0**26  # steps in one robust standard deviation
    largest: float = 200.0  # times the number of payoffs


@dataclass(frozen=True)
class SparseConstants:
    """Of `tailproof.search.model.gp`."""

    features: int = 224  # a process is exact up to that many distinct points
    inducing: int = 160  # beyond, inducing points chosen at a fit,
    latest: int = 32  # and the latest points
    jitter: float = 1e-8  # so that points which nearly coincide do not break a Cholesky factor
    least_residual_share: float = 1e-6  # of 1 - leverage


@dataclass(frozen=True)
class KernelConstants:
    """Of `tailproof.search.model.hyperparameters`, in standardized units."""

    lengthscale_bounds: tuple[float, float] = (0.03, 20.0)
    signal_bounds: tuple[float, float] = (1e-8, 1e6)
    noise_bounds: tuple[float, float] = (1e-8, 1e3)
    nugget: tuple[float, float] = (math.log(0.01), 1.5)  # prior of a space of discrete parameters
    nugget_bounds: tuple[float, float] = (1e-6, 0.5)
    dof_per_point: int = 4  # of repeated payoffs, that tell the noise variance
    rows: int = 256  # distinct points that a likelihood is computed from


@dataclass(frozen=True)
class WarpConstants:
    """Of `tailproof.search.model.warp`."""

    units: tuple[float, ...] = (3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003)
    noise_ratios: tuple[float, ...] = (1e-6, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0)
    fewest_for_spread: int = 4  # payoffs whose quartiles are a scale
    fewest_distinct: int = 5  # distinct payoffs, for anything but the identity
    payoffs_per_extreme: int = 20  # one of so many lies beyond the edge
    largest_gain: float = 8.0  # difference of log densities of one payoff
    identity_bonus: float = 2.0
    largest_exponent: float = 500.0
    least_ratio: float = 1e-3  # of a mean to its location, under a logarithm


@dataclass(frozen=True)
class NoiseConstants:
    """Of `tailproof.search.model.noise`: normal priors on logarithms, (mean, deviation)."""

    dof: tuple[float, float] = (math.log(5.0), 1.0)
    scale: tuple[float, float] = (0.0, 1.5)  # in units of the residuals' robust scale
    asymmetry: float = 1.0  # deviation of ln(scale_upper / scale_lower)


@dataclass(frozen=True)
class TailConstants:
    """Of `tailproof.search.model.mean_correction`."""

    exceedances: float = math.log(10.0)  # residuals that may reach the bound: ln(1 / 0.1)
    index: float = 3.0  # of the tails beyond the bound, as if seen
    prior_values: float = 3.0  # in so many residuals,
    least_index: float = 1.5  # and at least that
    outlier: float = 6.0  # robust standard deviations beyond which residuals are outliers
    least_events: float = 1.0  # outliers, by their weights, that tell of a rate
    least_probability: float = 0.02  # of a rate that varies, below which it is left out
    large_shift: float = 0.5  # from the location to the mean, in robust standard deviations


@dataclass(frozen=True)
class OutlierConstants:
    """Of `tailproof.search.model.outlier_rate`."""

    signals: tuple[float, ...] = (4.0, 10.0)  # variances of the log odds over the space
    prior_log_odds: float = 0.0  # of a rate that varies
    rows: int = 256  # payoffs that its evidence is computed from
    features: int = 96  # of its process: it is known roughly only
    newton_steps: int = 12
    steps_between: int = 3  # of Newton's method between fits
    tolerance: float = 1e-3  # of the log likelihood
    least_curvature: float = 0.01  # of the log likelihood of one payoff, for Newton's method


@dataclass(frozen=True)
class TwoPartConstants:
    """Of `tailproof.search.model.two_part` and `occurrence`."""

    same: float = 2.0**-26  # difference of payoffs that rounding may make, in their deviations
    signal: tuple[float, float] = (math.log(0.25), 1.5)  # prior of the variance of the logit
    noise_deviation: float = 0.05  # so narrow a prior holds the binomial noise at its variance
    rows: int = 256  # places that a likelihood is computed from
    rounds: int = 3  # of kernel parameters and mode
    steps: int = 12  # of L-BFGS in a round
    newton_steps: int = 25
    largest_step: float = 2.0  # of the logit
    tolerance: float = 1e-6  # of the logit
    least_precision: float = 1e-6  # of a place's counts
    largest_exponent: float = 690.0


@dataclass(frozen=True)
class FitConstants:
    """Of `tailproof.search.model.fit`."""

    rounds_at_first: int = 3  # of kernel parameters and noise law, for a fit from scratch
    rounds: int = 2  # and for one that starts from another
    first_steps: int = 25  # of L-BFGS for kernel parameters, from the prior's median
    next_steps: int = 12  # and from parameters that were fitted before
    alternations: int = 2  # of precisions and noise law for one set of kernel parameters
    steps: int = 2  # of expectation maximization in an alternation
    steps_between: int = 1  # and between fits
    payoffs: int = 1000  # that kernel parameters and noise law are fitted to
    payoffs_per_extreme: int = 20  # one of so many is limited to near the others
    beyond: float = 0.5  # robust standard deviations that it may lie beyond them
    least_noise: float = 1e-8
    no_noise: float = 1e-6  # noise variance up to which payoffs are taken as exact
    largest_noise: float = 1e3


@dataclass(frozen=True)
class IntervalConstants:
    """Of `tailproof.search.model.posterior.interval`."""

    clipped: float = 0.01  # residuals smaller than that, in warped units, are not called clipped
    per_lengthscale: float = 0.2  # added to the variance, in shares of it: they are estimates


FIT, INTERVAL = FitConstants(), IntervalConstants()
STANDARDIZE, SPARSE, KERNEL = StandardizeConstants(), SparseConstants(), KernelConstants()
WARP, NOISE, TAIL = WarpConstants(), NoiseConstants(), TailConstants()
OUTLIER, TWO_PART = OutlierConstants(), TwoPartConstants()
