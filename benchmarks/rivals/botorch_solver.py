"""BoTorch as its tutorials run it, one point at a time, with somewhat less effort a round.

It gets the domain's own coordinates, chooses among the arms where there are finitely many points,
and rounds integers in its model's inputs. BoTorch makes and fits the models and maximizes the
acquisition function. Likelihoods, relevance pursuit and acquisition functions are computed by our
re-implementations in `botorch_fit`, `botorch_pursuit` and `botorch_posterior`: the same functions,
LogNEI for the same draws, in less than a tenth of the time. The draws are not
BoTorch's: one Sobol sequence for the baseline and the candidate together, and independent draws for
pruning, kept from round to round. `botorch_reference` has the loop with BoTorch's code alone.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from rivals import botorch_fit
from rivals.botorch_posterior import (
    Hyperparameters,
    LogNEI,
    Posterior,
    UpperConfidenceBound,
    candidates_for_best,
)
from rivals.botorch_pursuit import pursue
from rivals.domains import Arms, Array, Domain, Params
from rivals.peers import load

CANDIDATES = 1024  # Sobol points to recommend from, besides evaluated points and the maximizer
RESTARTS, RAW_SAMPLES, SEARCH_ITERATIONS = (
    4,
    256,
    200,
)  # of the maximization of the acquisition function
SAMPLES = 128  # of the posterior, for LogNEI
PRUNING_SAMPLES = 2048  # of the posterior, to find the points that may be the best: its default
# Hyperparameters are fitted again when the payoffs have grown by this factor and by at least this
# step since the last fit, or when one is off by this many predictive standard deviations; otherwise
# the model is conditioned on new payoffs with the hyperparameters it has. A fit in every round
# takes up to ten times as long.
REFIT_GROWTH, REFIT_STEP, REFIT_SURPRISE = 1.15, 3, 3.0
UCB_DEVIATIONS = 2.0  # posterior standard deviations; BoTorch's beta is their square
# Relevance pursuit fits once for every fraction of outliers it considers. Its own default, ten
# fractions to convergence, takes ten times as long: a concession to time that the report states. On
# payoffs under Student-t noise it moves the posterior mean by up to a third of f's standard
# deviation in nine cases of ten; whether it costs the rival regret is unknown.
OUTLIER_FRACTIONS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5)
OUTLIER_ITERATIONS = 30


class BotorchSolver:
    """The loop of BoTorch's tutorials, with fits on a schedule.

    Sobol points first; then, in every round, a model of the standardized payoffs and the
    acquisition function's maximum. The model's hyperparameters are fitted on a schedule
    (`REFIT_GROWTH`, `REFIT_SURPRISE`). A fit that fails leaves the initial ones, and is counted;
    relevance pursuit uses what its optimizer has reached.

    Parameters
    ----------
    domain, seed
        Of the problem, and of the solver's own randomness.
    kind
        "ucb", "lognei", or "rrp": LogNEI with the model of relevance pursuit.
    n_initial
        Number of initial points; None for 2 (d + 1).
    """

    def __init__(self, domain: Domain, seed: int, kind: str, n_initial: int | None = None) -> None:
        self._torch = load("torch")
        for part in ("models", "optim.batched_lbfgs_b", "optim.initializers", "fit", "sampling"):
            load(f"botorch.{part}")  # before the first round, which is timed
        self._torch.set_num_threads(1)
        self._domain, self._kind = domain, kind
        self._seed = seed
        number = n_initial or 2 * (domain.dimension + 1)
        rng = np.random.default_rng(seed)
        # A cover of arms contains all of them: there the initial points are drawn at random.
        initial = (domain.draw if isinstance(domain, Arms) else domain.cover)(number, rng)
        self._initial = [domain.params(point) for point in initial]
        self._candidates = domain.cover(CANDIDATES, rng)
        self._points: list[Array] = []
        self._values: list[float] = []
        self._parameters: Hyperparameters | None = None
        self._current: tuple[int, Posterior | None] = (0, None)  # payoffs, and f given them
        self._next_fit = 0
        self._normal = np.empty((PRUNING_SAMPLES, 0))
        self.failed_fits = 0

    def ask(self) -> Params:
        """Return the next initial point, or the maximizer of the acquisition function."""
        if len(self._points) < len(self._initial):
            return self._initial[len(self._points)]
        with self._seeded():
            return self._domain.params(self._maximizer(self._acquisition(self._posterior())))

    def tell(self, params: Params, value: float) -> None:
        """Keep the payoff."""
        self._points.append(self._domain.point(params))
        self._values.append(value)

    def recommend(self) -> Params:
        """Return the best posterior mean among evaluated points, candidates and its maximizer."""
        with self._seeded():
            mean = UpperConfidenceBound(self._posterior(), 0.0)
            points = np.vstack([np.array(self._points), self._candidates, self._maximizer(mean)])
        return self._domain.params(points[int(mean(self._scaled(points))[0].argmax())])

    def _seeded(self) -> Any:
        """Seed torch's generator by the round alone, within a context that restores it."""
        return load("botorch.utils.sampling").manual_seed((self._seed + len(self._values)) % 2**31)

    def _tensor(self, array: Any) -> Any:
        return self._torch.as_tensor(np.array(array), dtype=self._torch.double)

    def _scaled(self, points: Any) -> Array:
        """Return points (m, d) in the unit cube, integers rounded, as the model sees them."""
        points = np.array(points)
        low, high = self._domain.bounds
        integers = list(self._domain.integers)
        points[:, integers] = np.round(points[:, integers])
        return np.asarray((points - low) / (high - low))

    def _posterior(self) -> Posterior:
        """Return the posterior given all payoffs, computed once a round."""
        included, posterior = self._current
        count = len(self._values)
        if posterior is not None and included == count:
            return posterior
        points, values = self._scaled(self._points), np.array(self._values)
        if (
            posterior is None
            or count >= self._next_fit
            or self._surprised(posterior, points[included:], values[included:])
        ):
            self._next_fit = max(count + REFIT_STEP, math.ceil(REFIT_GROWTH * count))
            self._parameters = self._fitted()
        assert self._parameters is not None
        posterior = Posterior(points, values, _extended(self._parameters, count))
        self._current = (count, posterior)
        return posterior

    def _surprised(self, posterior: Posterior, points: Array, values: Array) -> bool:
        """Tell whether one of the new payoffs is far from its prediction."""
        mean, variance = posterior.moments(points)
        # The noise at new points is that of a payoff that is no outlier.
        noise = posterior.scale**2 * posterior.parameters.noise.min()
        return bool((np.abs(values - mean) > REFIT_SURPRISE * np.sqrt(variance + noise)).any())

    def _fitted(self) -> Hyperparameters:
        fit, errors = load("botorch.fit"), load("botorch.exceptions")
        model = load("botorch.models").SingleTaskGP(
            self._tensor(self._points),
            self._tensor(self._values)[:, None],
            input_transform=self._input_transform(),
        )
        if self._kind == "rrp":
            return pursue(model, OUTLIER_FRACTIONS, OUTLIER_ITERATIONS)
        mll = load("gpytorch.mlls").ExactMarginalLogLikelihood(model.likelihood, model)
        try:
            fit.fit_gpytorch_mll(mll, closure=botorch_fit.closure(mll))
        except errors.ModelFittingError:
            self.failed_fits += 1
        return botorch_fit.hyperparameters(model)

    def _input_transform(self) -> Any:
        inputs = load("botorch.models.transforms.input")
        scale = inputs.Normalize(self._domain.dimension, bounds=self._tensor(self._domain.bounds))
        if not self._domain.integers:
            return scale
        rounding = inputs.Round(integer_indices=list(self._domain.integers))
        return inputs.ChainedInputTransform(rounding=rounding, scale=scale)

    def _acquisition(self, posterior: Posterior) -> UpperConfidenceBound | LogNEI:
        if self._kind == "ucb":
            return UpperConfidenceBound(posterior, UCB_DEVIATIONS)
        baseline = candidates_for_best(posterior, self._pruning(len(self._values)))
        normal = load("botorch.utils.sampling").draw_sobol_normal_samples(
            len(baseline) + 1, SAMPLES, seed=len(self._values), dtype=self._torch.double
        )
        return LogNEI(posterior, baseline, normal.numpy())

    def _pruning(self, columns: int) -> Array:
        """Return normal draws of at least so many columns, the same in every round."""
        if self._normal.shape[1] < columns:
            rng = np.random.default_rng((self._seed, 1))
            self._normal = rng.standard_normal((2 * columns, PRUNING_SAMPLES)).T
        return self._normal

    def _maximizer(self, acquisition: UpperConfidenceBound | LogNEI) -> Array:
        if isinstance(self._domain, Arms):
            values, _ = acquisition(self._scaled(self._domain.points))
            return self._domain.points[int(values.argmax())]
        low, high = bounds = self._domain.bounds
        scale = 1.0 / (high - low)
        scale[list(self._domain.integers)] = 0.0  # the gradient through rounding is zero

        def loss(points: Array) -> tuple[Array, Array]:
            values, gradients = acquisition(self._scaled(points))
            return -values, -gradients * scale

        drawn = load("botorch.utils.sampling").draw_sobol_samples(
            self._tensor(bounds), n=RAW_SAMPLES, q=1
        )
        values = -loss(drawn[:, 0].numpy())[0]
        starts, _ = load("botorch.optim.initializers").initialize_q_batch(
            drawn, self._tensor(values), RESTARTS
        )
        found, losses, _ = load("botorch.optim.batched_lbfgs_b").fmin_l_bfgs_b_batched(
            loss,
            starts[:, 0].numpy(),
            bounds=list(zip(low, high, strict=True)),
            maxiter=SEARCH_ITERATIONS,
        )
        result: Array = found[int(np.argmin(losses))]
        return result


def _extended(fitted: Hyperparameters, count: int) -> Hyperparameters:
    """Return hyperparameters for more payoffs than fitted to: the new ones are no outliers."""
    if len(fitted.noise) in (1, count):
        return fitted
    added = np.full(count - len(fitted.noise), fitted.noise.min())
    return replace(fitted, noise=np.concatenate([fitted.noise, added]))
