"""The peers, optuna and botorch, as their users run them; loaded where a match needs them.

They see the domain's own coordinates. Optuna knows no finite sets of points: there it suggests a
point of the cube and the nearest arm is played and told under that point. BoTorch chooses among
the arms, and rounds integers in its model's inputs.
"""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np

from tailproof.experiments.arena.domains import Arms, Array, Domain, Params

INSTALL = "pip install optuna greenlet botorch torch==2.13.0"
CANDIDATES = 1024  # Sobol points a BoTorch player recommends from, besides those it finds
# Of BoTorch's search for the next point. Its tutorials have 5 to 20 restarts, 512 samples and 200
# iterations: another concession to time that the report states.
RESTARTS, RAW_SAMPLES, SEARCH_ITERATIONS = 2, 128, 50
SAMPLES = 64  # of the posterior, for LogNEI
# BoTorch's hyperparameters are fitted anew when there are so many times as many payoffs as at the
# last fit and at least three more, or when one lies so many predictive standard deviations off; in
# between the model takes in the payoffs with the hyperparameters it has. A fit in every round
# takes up to ten times as long.
REFIT_GROWTH, REFIT_STEP, REFIT_SURPRISE = 1.15, 3, 3.0
UCB_BETA = 4.0  # BoTorch's beta is the square of the width: two standard deviations
# Relevance pursuit fits once for every share of outliers it considers. Its own default, ten shares
# to convergence, takes up to half a minute a round, too long for 200 rounds. This is less than the
# default, a concession to time that the report states: whether it costs the rival regret is open.
OUTLIER_SHARES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5)
OUTLIER_ITERATIONS = 30
POSTERIOR_MEAN = "posterior mean"


def load(module: str) -> Any:
    """Return a peer's module, or say how to get it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        root = module.split(".")[0]
        raise ImportError(f"The arena's peers need {root}: {INSTALL}.") from error


class OptunaPlayer:
    """A study that is asked and told. The recommendation is the trial that paid best."""

    def __init__(self, domain: Domain, seed: int, sampler: str) -> None:
        optuna = load("optuna")
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._domain, self._gp = domain, sampler == "gp"
        self.distributions = _distributions(domain)
        seed %= 2**32  # optuna's samplers take what numpy's RandomState takes
        if self._gp:
            load("torch").set_num_threads(1)
            chosen = optuna.samplers.GPSampler(seed=seed)
        else:
            chosen = optuna.samplers.TPESampler(seed=seed)
        self.study = optuna.create_study(direction="maximize", sampler=chosen)
        self._trial: Any = None

    def ask(self) -> Params:
        """Return the study's next trial; among arms, the one nearest to it."""
        self._trial = self.study.ask(self.distributions)
        return self._played(self._trial.params)

    def tell(self, params: Params, value: float) -> None:
        """Tell the trial's value."""
        self.study.tell(self._trial, value)

    def recommend(self) -> Params:
        """Return the trial that paid best."""
        return self._played(self.study.best_trial.params)

    def alternatives(self) -> dict[str, Params]:
        """Return what GPSampler's own model holds best among the trials, where it has a model."""
        trials = self.study.get_trials(deepcopy=False)
        if not self._gp or len(trials) < 2:
            return {}
        means = _optuna_means(self.distributions, trials)
        return {POSTERIOR_MEAN: self._played(trials[int(np.argmax(means))].params)}

    def _played(self, params: Any) -> Params:
        return self._domain.params(self._domain.point(params))


def _distributions(domain: Domain) -> dict[str, Any]:
    d = load("optuna").distributions
    low, high = domain.bounds
    return {
        name: d.IntDistribution(int(low[i]), int(high[i]))
        if i in domain.integers
        else d.FloatDistribution(float(low[i]), float(high[i]))
        for i, name in enumerate(domain.names)
    }


def _optuna_means(distributions: dict[str, Any], trials: list[Any]) -> Array:
    """Fit the model GPSampler would fit next, with its own code, and return the trials' means."""
    gp, space, prior = (load(f"optuna._gp.{name}") for name in ("gp", "search_space", "prior"))
    torch = load("torch")
    inner = space.SearchSpace(distributions)
    points = inner.get_normalized_params(trials)
    values = np.array([trial.value for trial in trials])
    scaled = (values - values.mean()) / max(float(values.std()), 1e-10)
    model = gp.fit_kernel_params(
        X=points,
        Y=scaled,
        is_categorical=inner.is_categorical,
        log_prior=prior.default_log_prior,
        minimum_noise=prior.DEFAULT_MINIMUM_NOISE_VAR,
        deterministic_objective=False,
    )
    with torch.no_grad():
        mean, _ = model.posterior(torch.from_numpy(points))
    result: Array = mean.numpy()
    return result


class BotorchPlayer:
    """The loop of BoTorch's tutorials, one point at a time, with less effort a round.

    2 (d + 1) Sobol points first; then, in every round, a model of the standardised payoffs and the
    acquisition function's maximum. Its hyperparameters are fitted on a schedule (`REFIT_GROWTH`,
    `REFIT_SURPRISE`). A fit that fails leaves the model's initial ones, and is counted.
    """

    def __init__(self, domain: Domain, seed: int, kind: str) -> None:
        self._torch = load("torch")
        for part in ("models", "optim", "acquisition", "fit", "sampling"):
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
        self._current: tuple[int, Any] = (0, None)  # payoffs, and the model that holds them
        self._next_fit = 0
        self.failed_fits = 0

    def ask(self) -> Params:
        """Return the next initial point, or where the acquisition function is largest."""
        if len(self._points) < len(self._first):
            return self._first[len(self._points)]
        with self._seeded():
            model = self._model()
            return self._domain.params(self._search(self._acquisition(model)))

    def tell(self, params: Params, value: float) -> None:
        """Keep the payoff."""
        self._points.append(self._domain.point(params))
        self._values.append(value)

    def recommend(self) -> Params:
        """Return the best posterior mean found from the points evaluated and the candidates on."""
        with self._seeded():
            model = self._model()
            mean = load("botorch.acquisition").PosteriorMean(model)
            points = np.vstack([np.array(self._points), self._candidates, self._search(mean)])
            with self._torch.no_grad():
                values = mean(self._tensor(points)[:, None, :])
        return self._domain.params(points[int(values.argmax())])

    def _seeded(self) -> Any:
        """Give torch's generator seeds that depend on the round alone, and put it back after."""
        return load("botorch.utils.sampling").manual_seed((self._seed + len(self._values)) % 2**31)

    def _tensor(self, array: Any) -> Any:
        return self._torch.as_tensor(np.array(array), dtype=self._torch.double)

    def _model(self) -> Any:
        """Return the model of all payoffs, made once a round."""
        known, model = self._current
        count = len(self._values)
        if known == count:
            return model
        if model is None or count >= self._next_fit or self._surprised(model, known):
            self._next_fit = max(count + REFIT_STEP, math.ceil(REFIT_GROWTH * count))
            model = self._fitted()
        else:
            model = self._extended(model)
        model.eval()
        self._current = (count, model)
        return model

    def _surprised(self, model: Any, known: int) -> bool:
        """Tell whether a payoff the model does not hold yet lies far from what it predicts."""
        with self._torch.no_grad():
            ahead = model.posterior(self._tensor(self._points[known:]), observation_noise=True)
            away = self._tensor(self._values[known:]) - ahead.mean.squeeze(-1)
            return bool((away.abs() > REFIT_SURPRISE * ahead.variance.squeeze(-1).sqrt()).any())

    def _made(self) -> Any:
        x, y = self._tensor(self._points), self._tensor(self._values)[:, None]
        how: dict[str, Any] = {"input_transform": self._input_transform()}
        if self._kind != "rrp":
            return load("botorch.models").SingleTaskGP(x, y, **how)
        # Its default, a fifth of the payoffs rounded down, fails for fewer than five.
        how["prior_mean_of_support"] = max(int(0.2 * len(y)), 1)
        robust = load("botorch.models.robust_relevance_pursuit_model")
        return robust.RobustRelevancePursuitSingleTaskGP(x, y, **how)

    def _fitted(self) -> Any:
        fit, errors = load("botorch.fit"), load("botorch.exceptions")
        model, how = self._made(), dict[str, Any]()
        if self._kind == "rrp":
            how["fractions_of_outliers"] = list(OUTLIER_SHARES)
            how["optimizer_kwargs"] = {"options": {"maxiter": OUTLIER_ITERATIONS}}
        mll = load("gpytorch.mlls").ExactMarginalLogLikelihood(model.likelihood, model)
        try:
            fit.fit_gpytorch_mll(mll, **how)
        except errors.ModelFittingError:
            self.failed_fits += 1
        return model

    def _extended(self, known: Any) -> Any:
        """Return a model of all payoffs with the hyperparameters, and outliers, of `known`."""
        model = self._made()
        model.mean_module.load_state_dict(known.mean_module.state_dict())
        model.covar_module.load_state_dict(known.covar_module.state_dict())
        if self._kind == "rrp":
            sparse = load("botorch.models.likelihoods.sparse_outlier_noise")
            before = known.likelihood.noise_covar
            model.likelihood = sparse.SparseOutlierGaussianLikelihood(
                base_noise=before.base_noise,
                dim=len(self._values),
                outlier_indices=list(before.support),
            )
            model.likelihood.noise_covar.set_sparse_parameter(before.sparse_parameter)
        else:
            model.likelihood.load_state_dict(known.likelihood.state_dict())
        return model

    def _input_transform(self) -> Any:
        inputs = load("botorch.models.transforms.input")
        scale = inputs.Normalize(self._domain.dimension, bounds=self._tensor(self._domain.bounds))
        if not self._domain.integers:
            return scale
        rounding = inputs.Round(integer_indices=list(self._domain.integers))
        return inputs.ChainedInputTransform(rounding=rounding, scale=scale)

    def _acquisition(self, model: Any) -> Any:
        acquisition = load("botorch.acquisition")
        if self._kind == "ucb":
            return acquisition.UpperConfidenceBound(model, beta=UCB_BETA)
        sampler = load("botorch.sampling").SobolQMCNormalSampler(
            self._torch.Size([SAMPLES]), seed=len(self._values)
        )
        log_nei = load("botorch.acquisition.logei").qLogNoisyExpectedImprovement
        return log_nei(model, self._tensor(self._points), sampler=sampler, prune_baseline=True)

    def _search(self, acquisition: Any) -> Array:
        optim = load("botorch.optim")
        if isinstance(self._domain, Arms):
            choices = self._tensor(self._domain.points)
            found, _ = optim.optimize_acqf_discrete(acquisition, q=1, choices=choices)
        else:
            found, _ = optim.optimize_acqf(
                acquisition,
                bounds=self._tensor(self._domain.bounds),
                q=1,
                num_restarts=RESTARTS,
                raw_samples=RAW_SAMPLES,
                options={"maxiter": SEARCH_ITERATIONS},
            )
        result: Array = found.detach().numpy()[0]
        return result
