"""BoTorch as its tutorials run it, one point at a time, with somewhat less effort a round.

It sees the domain's own coordinates, chooses among the arms where there are finitely many points,
and rounds integers in its model's inputs. BoTorch makes and fits the models and searches for the
next point; likelihoods, relevance pursuit and acquisition functions are computed by `botorch_fit`,
`botorch_pursuit` and `botorch_posterior`: the same functions, LogNEI's for the same draws. These
are not BoTorch's: one Sobol sequence for the baseline and the candidate together, and independent
ones for pruning, kept from round to round.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rivals import botorch_fit
from rivals.botorch_posterior import (
    LogNEI,
    Posterior,
    Shape,
    UpperBound,
    candidates_for_best,
)
from rivals.botorch_pursuit import pursue
from rivals.domains import Arms, Array, Domain, Params
from rivals.peers import load

CANDIDATES = 1024  # Sobol points a BoTorch player recommends from, besides those it finds
RESTARTS, RAW_SAMPLES, SEARCH_ITERATIONS = 4, 256, 200  # of the search for the next point
SAMPLES = 128  # of the posterior, for LogNEI
PRUNING_SAMPLES = 2048  # of the posterior, to tell which points may be the best: its default
# BoTorch's hyperparameters are fitted anew when there are so many times as many payoffs as at the
# last fit and at least three more, or when one lies so many predictive standard deviations off; in
# between the model takes in the payoffs with the hyperparameters it has. A fit in every round
# takes up to ten times as long.
REFIT_GROWTH, REFIT_STEP, REFIT_SURPRISE = 1.15, 3, 3.0
UCB_WIDTH = 2.0  # standard deviations; BoTorch's beta is their square
# Relevance pursuit fits once for every share of outliers it considers. Its own default, ten shares
# to convergence, takes ten times as long: a concession to time that the report states. On payoffs
# under Student-t noise it moves the posterior mean by up to a third of f's standard deviation in
# nine cases of ten; whether it costs the rival regret is open.
OUTLIER_SHARES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5)
OUTLIER_ITERATIONS = 30


class BotorchPlayer:
    """The loop of BoTorch's tutorials, with fits on a schedule.

    2 (d + 1) Sobol points first; then, in every round, a model of the standardized payoffs and the
    acquisition function's maximum. The model's hyperparameters are fitted on a schedule
    (`REFIT_GROWTH`, `REFIT_SURPRISE`). A fit that fails leaves the model's initial ones, and is
    counted; relevance pursuit takes what the optimizer has reached.

    Parameters
    ----------
    domain, seed
        Where it plays, and what its randomness follows from.
    kind
        "ucb", "lognei", or "rrp": LogNEI with the model of relevance pursuit.
    """

    def __init__(self, domain: Domain, seed: int, kind: str) -> None:
        self._torch = load("torch")
        for part in ("models", "optim.batched_lbfgs_b", "optim.initializers", "fit", "sampling"):
            load(f"botorch.{part}")  # before the first round, whose time is taken
        self._torch.set_num_threads(1)
        self._domain, self._kind = domain, kind
        self._seed = seed
        number = 2 * (domain.dimension + 1)
        rng = np.random.default_rng(seed)
        # A cover of arms is all of them: there the first points are drawn.
        first = (domain.draw if isinstance(domain, Arms) else domain.cover)(number, rng)
        self._first = [domain.params(point) for point in first]
        self._candidates = domain.cover(CANDIDATES, rng)
        self._points: list[Array] = []
        self._values: list[float] = []
        self._shape: Shape | None = None
        self._current: tuple[int, Posterior | None] = (0, None)  # payoffs, and what they say
        self._next_fit = 0
        self._normal = np.empty((PRUNING_SAMPLES, 0))
        self.failed_fits = 0

    def ask(self) -> Params:
        """Return the next initial point, or where the acquisition function is largest."""
        if len(self._points) < len(self._first):
            return self._first[len(self._points)]
        with self._seeded():
            return self._domain.params(self._search(self._acquisition(self._posterior())))

    def tell(self, params: Params, value: float) -> None:
        """Keep the payoff."""
        self._points.append(self._domain.point(params))
        self._values.append(value)

    def recommend(self) -> Params:
        """Return the best posterior mean found from the points evaluated and the candidates on."""
        with self._seeded():
            mean = UpperBound(self._posterior(), 0.0)
            points = np.vstack([np.array(self._points), self._candidates, self._search(mean)])
        return self._domain.params(points[int(mean(self._scaled(points))[0].argmax())])

    def _seeded(self) -> Any:
        """Give torch's generator seeds that depend on the round alone, and put it back after."""
        return load("botorch.utils.sampling").manual_seed((self._seed + len(self._values)) % 2**31)

    def _tensor(self, array: Any) -> Any:
        return self._torch.as_tensor(np.array(array), dtype=self._torch.double)

    def _scaled(self, points: Any) -> Array:
        """Return points (m, d) in the unit cube, whole numbers rounded, as the model sees them."""
        points = np.array(points)
        low, high = self._domain.bounds
        whole = list(self._domain.integers)
        points[:, whole] = np.round(points[:, whole])
        return np.asarray((points - low) / (high - low))

    def _posterior(self) -> Posterior:
        """Return what all payoffs say, worked out once a round."""
        known, posterior = self._current
        count = len(self._values)
        if posterior is not None and known == count:
            return posterior
        points, values = self._scaled(self._points), np.array(self._values)
        if (
            posterior is None
            or count >= self._next_fit
            or self._surprised(posterior, points[known:], values[known:])
        ):
            self._next_fit = max(count + REFIT_STEP, math.ceil(REFIT_GROWTH * count))
            self._shape = self._fitted()
        assert self._shape is not None
        posterior = Posterior(points, values, _extended(self._shape, count))
        self._current = (count, posterior)
        return posterior

    def _surprised(self, posterior: Posterior, points: Array, values: Array) -> bool:
        """Tell whether a payoff the model does not hold yet lies far from what it predicts."""
        mean, variance = posterior.moments(points)
        # What is noise at new points is what the least noisy payoff has.
        noise = posterior.scale**2 * posterior.shape.noise.min()
        return bool((np.abs(values - mean) > REFIT_SURPRISE * np.sqrt(variance + noise)).any())

    def _fitted(self) -> Shape:
        fit, errors = load("botorch.fit"), load("botorch.exceptions")
        model = load("botorch.models").SingleTaskGP(
            self._tensor(self._points),
            self._tensor(self._values)[:, None],
            input_transform=self._input_transform(),
        )
        if self._kind == "rrp":
            return pursue(model, OUTLIER_SHARES, OUTLIER_ITERATIONS)
        mll = load("gpytorch.mlls").ExactMarginalLogLikelihood(model.likelihood, model)
        try:
            fit.fit_gpytorch_mll(mll, closure=botorch_fit.closure(mll))
        except errors.ModelFittingError:
            self.failed_fits += 1
        return botorch_fit.shape(model)

    def _input_transform(self) -> Any:
        inputs = load("botorch.models.transforms.input")
        scale = inputs.Normalize(self._domain.dimension, bounds=self._tensor(self._domain.bounds))
        if not self._domain.integers:
            return scale
        rounding = inputs.Round(integer_indices=list(self._domain.integers))
        return inputs.ChainedInputTransform(rounding=rounding, scale=scale)

    def _acquisition(self, posterior: Posterior) -> UpperBound | LogNEI:
        if self._kind == "ucb":
            return UpperBound(posterior, UCB_WIDTH)
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

    def _search(self, acquisition: UpperBound | LogNEI) -> Array:
        if isinstance(self._domain, Arms):
            values, _ = acquisition(self._scaled(self._domain.points))
            return self._domain.points[int(values.argmax())]
        low, high = bounds = self._domain.bounds
        steps = 1.0 / (high - low)
        steps[list(self._domain.integers)] = 0.0  # rounding has no slope

        def loss(points: Array) -> tuple[Array, Array]:
            values, gradients = acquisition(self._scaled(points))
            return -values, -gradients * steps

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


def _extended(shape: Shape, count: int) -> Shape:
    """Return a shape for more payoffs than it was fitted to: the new ones are no outliers."""
    if len(shape.noise) in (1, count):
        return shape
    more = np.full(count - len(shape.noise), shape.noise.min())
    return Shape(shape.lengthscales, shape.constant, np.concatenate([shape.noise, more]))
